#include "reference/grouped.hpp"

#include <algorithm>

namespace girih::inline v0 {

namespace {

/// Address of element (row, column) of group `group`'s matrix.
template <class Byte>
Byte* element(Byte* data, const MatrixLayout& x, std::int64_t group, std::int64_t row,
              std::int64_t column) {
  return data + (group * x.batch_stride + row * x.row_stride + column * x.column_stride) *
                    (bit_width(x.dtype) / 8);
}
/// Address of element `at` of group `group`'s factors.
const float* factor(const float* data, const VectorLayout& x, std::int64_t group, std::int64_t at) {
  return data + group * x.batch_stride + at * x.stride;
}

/// A product of the group alone, addressed apart from the library's own way to do that, so that
/// one checks the other.
GemmReference reference_group(const GroupedGemmProblem& problem, const GemmOperands& all,
                              std::int64_t group, std::int64_t begin, std::int64_t end,
                              Backend backend) {
  const bool by_rows = problem.extent == GroupedExtent::Rows;
  const std::int64_t m = by_rows ? begin : 0, k = by_rows ? 0 : begin;
  GemmProblem own = problem.product;
  own.batch = 1;
  (by_rows ? own.m : own.k) = end - begin;
  GemmOperands at = all;
  at.a = element(all.a, own.a, group, m, k);
  at.b = element(all.b, own.b, group, k, 0);
  at.c = element(all.c, own.c, group, m, 0);
  if (own.residual) at.residual = element(all.residual, *own.residual, group, m, 0);
  if (own.bias) {
    at.bias = all.bias + group * own.bias->batch_stride * (bit_width(own.bias->dtype) / 8);
  }
  if (own.a_scale) at.a_scale = factor(all.a_scale, *own.a_scale, group, m);
  if (own.b_scale) at.b_scale = factor(all.b_scale, *own.b_scale, group, 0);
  return reference_gemm(own, at, backend);
}

}  // namespace

GroupedGemmReference reference_grouped_gemm(const GroupedGemmProblem& problem,
                                            const GroupedGemmOperands& operands, Backend backend) {
  const GemmProblem& product = problem.product;
  const std::int64_t columns = product.c_columns();
  const bool by_rows = problem.extent == GroupedExtent::Rows;
  const auto size =
      static_cast<std::size_t>((by_rows ? 1 : problem.groups()) * product.m * columns);
  GroupedGemmReference result{std::vector<double>(size), std::vector<double>(size),
                              std::vector<bool>(size)};
  for (std::int64_t g = 0; g < problem.groups(); ++g) {
    const std::int64_t begin = operands.offsets[g * problem.offset_stride],
                       end = operands.offsets[(g + 1) * problem.offset_stride];
    const GemmReference own = reference_group(problem, operands.product, g, begin, end, backend);
    const std::int64_t at = (by_rows ? begin : g * product.m) * columns;
    std::copy(own.value.begin(), own.value.end(), result.value.begin() + at);
    std::copy(own.bound.begin(), own.bound.end(), result.bound.begin() + at);
    std::fill_n(result.is_written.begin() + at, own.value.size(), true);
  }
  return result;
}

}  // namespace girih::inline v0
