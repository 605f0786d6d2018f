#include "verify/elementwise_case.hpp"

#include <algorithm>
#include <cmath>

#include "core/format.hpp"
#include "verify/random.hpp"

namespace girih::inline v0::verify {
namespace {

constexpr auto kFloats =
    std::to_array<DType>({DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2});
constexpr auto kTypes = std::to_array<DType>({DType::F32, DType::BF16, DType::F16, DType::F8E4M3,
                                              DType::F8E5M2, DType::I8, DType::U8, DType::I32});
constexpr std::int64_t kMaxElements = 6'000;

Shape pick_shape(Random& random) {
  static constexpr auto kExtents = std::to_array<std::int64_t>(
      {1, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257});
  std::array<std::int64_t, kMaxRank> extents{};
  const auto rank = static_cast<std::size_t>(random.integer(0, kMaxRank));
  std::int64_t size = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    extents[d] = random.one_in(60) ? 0 : random.pick(kExtents);
    extents[d] = std::min(extents[d], kMaxElements / std::max<std::int64_t>(size, 1));
    size *= extents[d];
  }
  return Shape::of(std::span(extents).first(rank));
}

StridedCase pick_layout(Random& random, int rank, bool may_repeat) {
  StridedCase layout;
  for (int i = rank - 1; i > 0 && !random.one_in(3); --i) {
    std::swap(layout.order[static_cast<std::size_t>(i)],
              layout.order[static_cast<std::size_t>(random.integer(0, i))]);
  }
  layout.step = random.one_in(8) ? 3 : 1;
  layout.pad = random.one_in(2) ? 0 : random.integer(1, 9);
  layout.offset = random.integer(0, 8);
  layout.repeats_outermost = may_repeat && rank > 0 && random.one_in(6);
  return layout;
}

double pick_value(Random& random, DType dtype) {
  if (dtype == DType::U8) return static_cast<double>(random.integer(0, 255));
  if (!is_float(dtype)) return static_cast<double>(random.integer(-128, 127));
  if (random.one_in(8)) return std::nan("");
  if (random.one_in(8)) return random.one_in(2) ? HUGE_VAL : -0.0;
  // Sums of far-apart powers: near ties that rounding twice would get wrong.
  const double near_tie = 1 + std::ldexp(1.0, -static_cast<int>(random.integer(3, 12))) +
                          std::ldexp(random.real(), -30);
  return random.one_in(2) ? near_tie
                          : std::ldexp(random.real(), static_cast<int>(random.integer(-20, 20)));
}

std::string describe(const char* operand, const StridedCase& layout, int rank) {
  return formatted(" {}:[{}]+{}@{} step {}{}", operand,
                   joined(std::span(layout.order).first(static_cast<std::size_t>(rank)), ", "),
                   layout.pad, layout.offset, layout.step,
                   layout.repeats_outermost ? " repeated" : "");
}

}  // namespace

Strides strides_of(const Shape& shape, const StridedCase& layout) {
  Strides strides{};
  std::int64_t stride = layout.step;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const int d = layout.order[static_cast<std::size_t>(i)];
    strides[static_cast<std::size_t>(d)] = i == 0 && layout.repeats_outermost ? 0 : stride;
    stride = stride * std::max<std::int64_t>(shape[d], 1);
    if (i == shape.rank() - 1) stride += layout.pad;
  }
  return strides;
}

ElementwiseCase make_elementwise_case(Op op, std::uint64_t seed, std::uint64_t index) noexcept {
  Random random(seed + static_cast<std::uint64_t>(op), index);
  ElementwiseCase result;
  result.seed = seed;
  result.index = index;
  result.op = op;
  result.shape = pick_shape(random);
  result.source = pick_layout(random, result.shape.rank(), true);
  result.destination = pick_layout(random, result.shape.rank(), false);
  result.source_type = op == Op::Cast ? random.pick(kFloats) : random.pick(kTypes);
  result.destination_type = result.source_type;
  while (op == Op::Cast && result.destination_type == result.source_type) {
    result.destination_type = random.pick(kFloats);
  }
  if (op == Op::Fill) result.value = pick_value(random, result.destination_type);
  return result;
}

std::string ElementwiseCase::to_string() const {
  std::string line = formatted("{} {} [{}]", name(op), name(destination_type), joined(shape, ", "));
  if (op == Op::Fill) line += formatted(" value {}", value);
  if (op != Op::Fill) {
    line += formatted(" from {}", name(source_type)) + describe("source", source, shape.rank());
  }
  return line + describe("destination", destination, shape.rank());
}

}  // namespace girih::inline v0::verify
