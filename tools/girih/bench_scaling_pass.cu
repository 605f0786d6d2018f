#include <algorithm>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>

#include "girih/bench_scaling_pass.hpp"

namespace girih::cli {
namespace {

constexpr int kThreads = 256;

template <class Out>
__device__ __forceinline__ Out rounded(float x) {
  if constexpr (std::is_same_v<Out, float>) {
    return x;
  } else if constexpr (std::is_same_v<Out, __half>) {
    return __float2half_rn(x);
  } else {
    return __float2bfloat16_rn(x);
  }
}

template <class Out, int kWidth>
struct alignas(kWidth * sizeof(Out)) Pieces {
  Out of[kWidth];
};

/// A thread takes kWidth columns of every gridDim.y-th row.
template <class Out, int kWidth>
__global__ void __launch_bounds__(kThreads) scale_integers(const ScalingPass p) {
  const std::int64_t n = (blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x) * kWidth;
  if (n >= p.n) return;
  float by_column[kWidth];
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    by_column[i] = p.column_scale != nullptr ? __ldg(p.column_scale + n + i) : 1.0f;
  }
  for (std::int64_t m = blockIdx.y; m < p.m; m += gridDim.y) {
    const float by_row = p.row_scale != nullptr ? __ldg(p.row_scale + m) : 1.0f;
    const auto sums = *reinterpret_cast<const Pieces<std::int32_t, kWidth>*>(p.sums + m * p.n + n);
    Pieces<Out, kWidth> result;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      const float x = static_cast<float>(sums.of[i]);
      result.of[i] = rounded<Out>(__fmul_rn(__fmul_rn(x, by_column[i]), by_row));
    }
    *reinterpret_cast<Pieces<Out, kWidth>*>(static_cast<Out*>(p.output) + m * p.n + n) = result;
  }
}

template <class Out, int kWidth>
cudaError_t queue(const ScalingPass& pass, cudaStream_t stream) {
  constexpr std::int64_t kColumns = std::int64_t{kThreads} * kWidth;
  const dim3 grid(static_cast<unsigned>((pass.n + kColumns - 1) / kColumns),
                  static_cast<unsigned>(std::min<std::int64_t>(pass.m, 65535)));
  scale_integers<Out, kWidth><<<grid, kThreads, 0, stream>>>(pass);
  return cudaGetLastError();
}

template <class Out>
cudaError_t queue(const ScalingPass& pass, cudaStream_t stream) {
  return pass.n % 4 == 0 ? queue<Out, 4>(pass, stream) : queue<Out, 1>(pass, stream);
}

}  // namespace

cudaError_t queue_scaling_pass(const ScalingPass& pass, cudaStream_t stream) {
  switch (pass.output_type) {
    case DType::BF16:
      return queue<__nv_bfloat16>(pass, stream);
    case DType::F16:
      return queue<__half>(pass, stream);
    case DType::F32:
      return queue<float>(pass, stream);
    default:
      return cudaErrorNotSupported;
  }
}

}  // namespace girih::cli
