#pragma once

#include <optional>

#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// B of a gated product as two matrices of its columns g and u, as tensor copies read them in
/// place.
struct CudaGateHalves {
  cuda::Major major = cuda::Major::K;
  std::int64_t ld = 0;      ///< elements between rows of the contiguous extent
  std::int64_t stride = 0;  ///< elements from the first of g to the first of u
};
/// Where a row can join them in its epilogue: a 16-bit C that boxes can write, no factors or
/// residual, operands that lie as tensor copies read them, one B for the batch, and a tile that
/// holds both halves.
std::optional<CudaGateHalves> cuda_gate_halves(const GemmProblem& problem,
                                               const KernelInfo& kernel) noexcept;

/// How other gated products, and those whose C is of 8 bits, run on cuda: A.B of a piece of C's
/// rows into f32 sums in the workspace, then a kernel that does all that follows. Pieces are of
/// whole rows, one after the other in one workspace.
struct CudaFinishParts {
  std::int64_t batch = 1, m = 0;  ///< of a piece; the last ones may have less
  std::int64_t sums_ld = 0;
  std::int64_t sums_bytes = 0;  ///< at the workspace's start, a multiple of 256
  std::int64_t bytes = 0;       ///< sums, and behind them the workspace of the product
};
inline bool cuda_has_finish(const GemmProblem& problem) noexcept {
  return problem.gate || is_quantised(problem.c.dtype);
}
/// `splits` as for `cuda_gemm_layout`, of the row `kernel`.
CudaFinishParts cuda_finish_parts(const GemmProblem& problem, const KernelInfo& kernel,
                                  int splits) noexcept;
/// A.B alone, of the first `m` rows of the first `batch` products.
GemmProblem cuda_finish_product(const GemmProblem& problem, std::int64_t batch,
                                std::int64_t m) noexcept;

}  // namespace girih::inline v0
