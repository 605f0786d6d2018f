#include "reference/elementwise.hpp"

#include <cstring>

#include "reference/element.hpp"

namespace girih::inline v0 {
namespace {

void copy_element(const std::byte* source, std::int64_t from, std::byte* destination,
                  std::int64_t to, DType dtype) noexcept {
  if (dtype == DType::I4)
    return store_element(destination, dtype, to, load_element(source, dtype, from));
  const std::int64_t bytes = bit_width(dtype) / 8;
  std::memcpy(destination + to * bytes, source + from * bytes, static_cast<std::size_t>(bytes));
}

/// One element, `from` and `to` elements past the operands' first ones.
void apply(const ElementwiseProblem& problem, const ElementwiseOperands& operands,
           std::int64_t from, std::int64_t to) noexcept {
  switch (problem.op) {
    case Op::Fill:
      return store_element(operands.destination, problem.destination_type, to, problem.value);
    case Op::Cast:
      return store_element(operands.destination, problem.destination_type, to,
                           load_element(operands.source, problem.source_type, from));
    default:
      return copy_element(operands.source, from, operands.destination, to, problem.source_type);
  }
}

void visit(const ElementwiseProblem& problem, const ElementwiseOperands& operands, int dimension,
           std::int64_t from, std::int64_t to) noexcept {
  if (dimension == problem.rank) return apply(problem, operands, from, to);
  const auto d = static_cast<std::size_t>(dimension);
  for (std::int64_t i = 0; i < problem.extents[d]; ++i) {
    visit(problem, operands, dimension + 1, from + i * problem.source_strides[d],
          to + i * problem.destination_strides[d]);
  }
}

}  // namespace

void reference_elementwise(const ElementwiseProblem& problem,
                           const ElementwiseOperands& operands) noexcept {
  visit(problem, operands, 0, 0, 0);
}

}  // namespace girih::inline v0
