#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

#include <girih/dtype.hpp>

namespace girih::cli {

/// output[m, n] = sums[m, n] * column_scale[n] * row_scale[m], row-major and contiguous, rounded to
/// nearest even to bf16, f16 or f32. A null factor is 1.
struct ScalingPass {
  const std::int32_t* sums = nullptr;
  void* output = nullptr;
  DType output_type = DType::F32;
  std::int64_t m = 0, n = 0;
  const float* row_scale = nullptr;
  const float* column_scale = nullptr;
};

/// Queues the pass that a user of an integer product without scales needs behind it, at the speed
/// of memory. It is the peer's part of a benchmark, none of the library's.
cudaError_t queue_scaling_pass(const ScalingPass& pass, cudaStream_t stream);

}  // namespace girih::cli
