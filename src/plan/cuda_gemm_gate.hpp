#pragma once

#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// How a gated product runs on cuda: A.B of a piece of C's rows into f32 sums in the workspace,
/// then a kernel that joins them. Pieces are of whole rows, one after the other in one workspace.
struct CudaGateParts {
  std::int64_t batch = 1, m = 0;  ///< of a piece; the last ones may have less
  std::int64_t sums_ld = 0;
  std::int64_t sums_bytes = 0;  ///< at the workspace's start, a multiple of 256
  std::int64_t bytes = 0;       ///< sums, and behind them the workspace of the product
};
/// `splits` as for `cuda_gemm_layout`, of the row `kernel`.
CudaGateParts cuda_gate_parts(const GemmProblem& problem, const KernelInfo& kernel,
                              int splits) noexcept;
/// A.B alone, of the first `m` rows of the first `batch` products.
GemmProblem cuda_gate_product(const GemmProblem& problem, std::int64_t batch,
                              std::int64_t m) noexcept;

}  // namespace girih::inline v0
