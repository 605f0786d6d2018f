#include "backends/cuda/gemm_pieces.hpp"

#include <algorithm>

namespace girih::inline v0::cuda {
namespace {

/// Moves a matrix to element (row, column) of product `batch`.
template <class Byte>
void move(Byte*& data, MatrixLayout& layout, std::int64_t batch, std::int64_t row,
          std::int64_t column) noexcept {
  const std::int64_t elements =
      batch * layout.batch_stride + row * layout.row_stride + column * layout.column_stride;
  const std::int64_t bytes = elements * bit_width(layout.dtype) / 8;
  data += bytes;
  if (bytes != 0) layout.alignment = std::min(layout.alignment, bytes & -bytes);
}

const float* moved(const float* data, const std::optional<VectorLayout>& layout, std::int64_t batch,
                   std::int64_t at) noexcept {
  return layout ? data + batch * layout->batch_stride + at / layout->extent * layout->stride : data;
}

}  // namespace

GemmCall cut(const GemmCall& call, const PieceOfC& piece) noexcept {
  GemmCall part = call;
  GemmProblem& problem = part.problem;
  GemmOperands& operands = part.operands;
  problem.batch = piece.batches;
  problem.m = piece.rows;
  problem.n = piece.columns;
  move(operands.a, problem.a, piece.batch, piece.m, 0);
  move(operands.b, problem.b, piece.batch, 0, piece.n);
  move(operands.c, problem.c, piece.batch, piece.m, piece.n);
  if (problem.residual) {
    move(operands.residual, *problem.residual, piece.batch, piece.m, piece.n);
  }
  if (problem.bias) {
    const VectorLayout& bias = *problem.bias;
    operands.bias +=
        (piece.batch * bias.batch_stride + piece.n * bias.stride) * bit_width(bias.dtype) / 8;
  }
  operands.a_scale = moved(operands.a_scale, problem.a_scale, piece.batch, piece.m);
  operands.b_scale = moved(operands.b_scale, problem.b_scale, piece.batch, piece.n);
  return part;
}

}  // namespace girih::inline v0::cuda
