#include "verify/permute_case.hpp"

#include <array>

#include "core/format.hpp"
#include "verify/random.hpp"

namespace girih::inline v0::verify {
namespace {

constexpr auto kFloats = std::to_array<DType>({DType::F32, DType::BF16, DType::F16});
constexpr auto kTypes = std::to_array<DType>({DType::F32, DType::BF16, DType::F16, DType::I32,
                                              DType::F8E4M3, DType::F8E5M2, DType::I8, DType::U8});

StridedCase pick_layout(Random& random) {
  StridedCase layout;
  if (random.one_in(4)) std::swap(layout.order[0], layout.order[1]);
  layout.step = random.one_in(6) ? 3 : 1;
  layout.pad = random.one_in(2) ? 0 : random.integer(1, 9);
  layout.offset = random.integer(0, 8);
  return layout;
}

}  // namespace

PermuteCase make_permute_case(Op op, std::uint64_t seed, std::uint64_t index) noexcept {
  static constexpr auto kRows = std::to_array<std::int64_t>({1, 2, 3, 7, 16, 33, 64, 65, 129, 300});
  static constexpr auto kColumns =
      std::to_array<std::int64_t>({1, 2, 7, 8, 16, 31, 33, 64, 100, 255, 256, 257, 600, 1024});
  Random random(seed + static_cast<std::uint64_t>(op), index);
  PermuteCase result{.seed = seed, .index = index, .op = op};
  result.columns = random.one_in(40) ? 0 : random.pick(kColumns);
  result.x_rows = random.pick(kRows);
  result.y_rows = random.one_in(40) ? 0 : random.pick(kRows);
  result.k = random.one_in(30) ? 0 : random.integer(1, random.one_in(4) ? 16 : 4);
  if (result.y_rows == 0 || result.columns == 0) result.x_rows = random.integer(0, 3);
  while (result.columns * (result.x_rows + result.y_rows * result.k) > 60'000) {
    result.columns = (result.columns + 1) / 2;
  }
  result.x_type = op == Op::Permute ? random.pick(kTypes) : random.pick(kFloats);
  result.y_type = op == Op::Permute ? result.x_type : random.pick(kFloats);
  result.has_weights = !random.one_in(5);
  result.is_special = random.one_in(5);
  result.x = pick_layout(random);
  result.y = pick_layout(random);
  result.indices = pick_layout(random);
  if (op == Op::Permute) result.indices.order = {0, 1, 2, 3, 4, 5};
  return result;
}

std::string PermuteCase::to_string() const {
  const auto layout = [](const char* what, const StridedCase& strided) {
    return formatted(" {}:{}+{}@{} step {}", what, strided.order[0] == 0 ? "row" : "column",
                     strided.pad, strided.offset, strided.step);
  };
  const std::string rows = op == Op::Permute
                               ? formatted("{} rows of {}", y_rows, x_rows)
                               : formatted("{} tokens of {} rows of {}{}", y_rows, k, x_rows,
                                           has_weights ? "" : " without weights");
  return formatted("{} {}, {} columns, {} to {}{}", name(op), rows, columns, name(x_type),
                   name(y_type), is_special ? " special" : "") +
         layout("x", x) + layout("y", y) + layout("indices", indices);
}

}  // namespace girih::inline v0::verify
