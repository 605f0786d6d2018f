#include "reference/grouped.hpp"

#include <algorithm>

namespace girih::inline v0 {

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
    const GroupRows rows = rows_of_group(problem, operands.offsets, g);
    const GroupProduct group = product_of_group(problem, operands.product, g, rows);
    const GemmReference own = reference_gemm(group.problem, group.operands, backend);
    const std::int64_t at = (by_rows ? rows.begin : g * product.m) * columns;
    std::copy(own.value.begin(), own.value.end(), result.value.begin() + at);
    std::copy(own.bound.begin(), own.bound.end(), result.bound.begin() + at);
    std::fill_n(result.is_written.begin() + at, own.value.size(), true);
  }
  return result;
}

}  // namespace girih::inline v0
