#pragma once

#include "backends/cuda/kernels/gemm_params.hpp"
#include "backends/cuda/kernels/simt_params.hpp"

// What the kernels of gemm_mma.cuh are given, by value. Plain C++.

namespace girih::inline v0::cuda {

/// How an operand gets into shared memory.
enum class MmaEntry : std::uint8_t {
  Copied,    ///< as it lies: 16 bytes at a time, which base and strides are multiples of
  Gathered,  ///< element by element, to K-major; 8-bit floats become f16 on the way
};

struct MmaParams {
  SimtParams terms;
  /// The same terms where C is written four elements of a row at a time, as it is if C, the
  /// residual and the bias are contiguous along n.
  EpilogueParams epilogue;
  bool has_rows = false;
  MmaEntry a = MmaEntry::Gathered, b = MmaEntry::Gathered;
  std::int64_t rows = 0, columns = 0;  ///< of tiles
  std::int64_t units = 0;              ///< tiles of all products
};

}  // namespace girih::inline v0::cuda
