#pragma once

#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// How a wgmma row gets at one operand: where it lies, or packed into the workspace first.
struct CudaOperand {
  cuda::Major major = cuda::Major::K;
  std::int64_t extent = 0;        ///< M or N
  std::int64_t ld = 0;            ///< elements between rows of the contiguous extent
  std::int64_t batch_stride = 0;  ///< 0: one matrix for the whole batch
  bool packed = false;
};

/// Everything that a product on a wgmma row keeps in its workspace: byte offsets, multiples of 256.
///
/// 16-bit operands are read with either extent contiguous, others with K. A tensor copy needs a
/// contiguous extent, a base and strides that are multiples of 16 bytes; an operand that breaks
/// this is copied to one that does not. C is written row by row: another layout is written to `c`
/// first, then copied, and a residual or bias likewise is copied to contiguous memory. Which of
/// these happen depends on layouts, not on the choice of a tile; the bits of the result never
/// depend on them.
struct CudaGemmLayout {
  CudaOperand a, b;
  bool stages_c = false, packs_residual = false, packs_bias = false;
  std::int64_t c_ld = 0, c_batch_stride = 0;  ///< of C as the kernel writes it
  std::int64_t partial_ld = 0;                ///< of f32 partials, one matrix a slice and product
  std::int64_t a_at = 0, b_at = 0, c_at = 0, residual_at = 0, bias_at = 0, partials_at = 0;
  std::int64_t bytes = 0;
};

/// What packed operands, a C in another layout and the partial sums of a split K may take together.
inline constexpr std::int64_t kCudaWorkspaceLimit = std::int64_t{256} << 20;

/// Extents of the pieces of C that a product on a wgmma row is computed in, one after the other in
/// one workspace: the whole, or as much of it as the limit leaves room for. Every piece sums over
/// the whole of K in the same slices, so that cutting changes no bit of the result.
struct CudaGemmPieces {
  std::int64_t batch = 1, m = 0, n = 0;
  /// Of the largest one's workspace. Beyond the limit only where 64 x 64 elements of C need more.
  std::int64_t bytes = 0;
};
/// A piece of this size, wherever it begins: products of a batch are no better aligned than their
/// distance is.
GemmProblem cuda_piece(const GemmProblem& problem, std::int64_t batch, std::int64_t m,
                       std::int64_t n) noexcept;
/// `splits` as for `cuda_gemm_layout`.
CudaGemmPieces cuda_gemm_pieces(const GemmProblem& problem, int splits) noexcept;

CudaOperand cuda_operand_a(const GemmProblem& problem) noexcept;
CudaOperand cuda_operand_b(const GemmProblem& problem) noexcept;
/// `splits`: slices of K whose partials go through the workspace; 1 for none.
CudaGemmLayout cuda_gemm_layout(const GemmProblem& problem, int splits) noexcept;

}  // namespace girih::inline v0
