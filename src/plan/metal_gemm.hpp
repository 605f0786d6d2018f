#pragma once

#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// What becomes of f32 operands before the matrix unit multiplies them as tf32 (10 fraction bits).
enum class MetalParts : std::uint8_t {
  None,     ///< of other types: as they are
  Rounded,  ///< Tf32: rounded to nearest even while they are packed
  Split,    ///< Fast: x = high + low, both tf32; A B = [low high high] [high; low; high]
};
MetalParts metal_parts(const GemmProblem& problem, const KernelInfo& kernel) noexcept;
/// K of the product that the kernel runs: three times the problem's for split operands.
std::int64_t metal_depth(const GemmProblem& problem, const KernelInfo& kernel) noexcept;

/// How matmul2d sees one operand: with one stride of 1, and rows that start at multiples of 16
/// bytes. Any other layout is packed row-major into the workspace first, and so is what is rounded
/// or split.
struct MetalOperand {
  bool packed = false;
  bool column_major = false;    ///< neighbours along the rows' index
  std::int64_t row_stride = 0;  ///< elements, after packing
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;
};
MetalOperand metal_operand(const MatrixLayout& layout, MetalParts parts) noexcept;
/// The same for an operand that takes `rows` x `columns` once it is split, with the strides of its
/// packed form filled in.
MetalOperand metal_operand(const MatrixLayout& layout, MetalParts parts, std::int64_t rows,
                           std::int64_t columns) noexcept;

/// How matmul2d sees B: as one matrix, or with a gate as two, of the columns g and of the columns
/// u. A tile has half of its columns of each. Packed ones lie [batch][half][rows][columns].
struct MetalColumns {
  std::int64_t halves = 1;
  std::int64_t count = 0;       ///< of each half, and of C
  std::int64_t step = 1;        ///< columns of B from one of a half to the next
  std::int64_t partner = 0;     ///< columns of B from a g to its u
  MatrixLayout layout{};        ///< of a half, as the caller has it
  MetalOperand operand{};       ///< of a half, after packing
  std::int64_t operand_up = 0;  ///< elements from a g to its u, after packing
};
MetalColumns metal_columns(const GemmProblem& problem, const KernelInfo& kernel) noexcept;

/// Parts of the workspace, in this order, each a multiple of 64 bytes.
struct MetalWorkspace {
  std::int64_t a_bytes = 0, b_bytes = 0;  ///< packed operands
  std::int64_t partial_bytes = 0;         ///< [split_k][batch][m][n] sums of 4 bytes
  [[nodiscard]] std::int64_t bytes() const noexcept { return a_bytes + b_bytes + partial_bytes; }
};
MetalWorkspace metal_workspace(const GemmProblem& problem, const KernelInfo& kernel,
                               int split_k) noexcept;
/// Depth of K that one matmul2d multiplies at most, of operands whose neighbours along K are as far
/// apart: a multiple of 64, so that no offset inside one reaches 2^31 elements.
std::int64_t metal_run(std::int64_t a_stride, std::int64_t b_stride) noexcept;
/// Depth of every slice of K but the last: a multiple of 64.
std::int64_t metal_slice(std::int64_t k, int split_k) noexcept;

/// How to launch a product on one row of the metal backend, in closed form: split of K, order of
/// tiles, workspace and time. `kernel` is null if the row cannot serve the product: matmul2d counts
/// in 32 bits.
///
///   time  = max(rounds of tiles x flops / rate, bytes / bandwidth) + launches
///
/// No row splits K under RowInvariant.
GemmSelection metal_gemm_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                   const SelectionContext& context) noexcept;
/// What products of rows that none of the others' rules excludes may be too large for.
const char* metal_gemm_limits() noexcept;

}  // namespace girih::inline v0
