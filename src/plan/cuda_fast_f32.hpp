#pragma once

#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// Fast products of f32 on Hopper's bf16 matrix unit. An operand x is hi + mid + lo, each bf16 and
/// each the nearest to what the ones before it leave, so that nothing is lost: 3 x 8 bits are all
/// that a 24-bit significand has. Of the nine products of parts six are taken, lo hi, hi lo, mid
/// mid, mid hi, hi mid and hi hi; the others are short of 2^-23 of the product. Sums of 64 of K
/// leave the unit, which cuts where it should round, and are added in f32.
///
/// An operand with an element that has no such parts (NaN, an infinity, one that bf16 rounds to an
/// infinity, or one short of 2^-100 and not 0) raises a word in the workspace: then the kernel on
/// the matrix unit does nothing, and one of the exact rows, which else does nothing, computes all.
constexpr int kFastParts = 3;
constexpr int kFastDepth = 64;  ///< of K a stage, and a sum on the unit

/// One operand's parts in the workspace: matrices `part`, `kFastParts` of them for each of the
/// batch's, of `extent` rows of `ld` bf16 along K, zero from K on.
struct CudaFastParts {
  std::int64_t extent = 0, ld = 0;
  std::int64_t matrices = 1;  ///< 1 if the batch shares the operand
  std::int64_t at = 0;        ///< byte offset in the workspace, a multiple of 256
  [[nodiscard]] std::int64_t bytes() const noexcept;
};
struct CudaFastLayout {
  CudaFastParts a, b;      ///< behind two words, one an operand, at the workspace's start
  std::int64_t bytes = 0;  ///< in all
};
CudaFastLayout cuda_fast_layout(const GemmProblem& problem) noexcept;

/// Extents of the pieces of C that it is computed in, one after the other in one workspace.
struct CudaFastPieces {
  std::int64_t batch = 1, m = 0, n = 0;
  std::int64_t bytes = 0;  ///< of the largest one's workspace
};
CudaFastPieces cuda_fast_pieces(const GemmProblem& problem) noexcept;

/// The launch of a Fast product on a row that splits f32. No kernel where C, the residual or the
/// bias are not row-major, under RowInvariant, because one row's NaN changes the others' bits, and
/// unless such a row alone is asked for, where an exact row is faster.
GemmSelection cuda_fast_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                  const SelectionContext& context) noexcept;

/// The exact row of the table that computes what has no parts; null if the table has none.
const KernelInfo* cuda_fast_fallback(std::span<const KernelInfo> kernels) noexcept;

}  // namespace girih::inline v0
