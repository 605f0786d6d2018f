#include "verify/route_case.hpp"

#include <algorithm>
#include <array>

#include "core/format.hpp"
#include "verify/random.hpp"

namespace girih::inline v0::verify {
namespace {

StridedCase pick_layout(Random& random, bool may_turn) {
  StridedCase layout;
  if (may_turn && random.one_in(3)) std::swap(layout.order[0], layout.order[1]);
  layout.step = random.one_in(6) ? 3 : 1;
  layout.pad = random.one_in(2) ? 0 : random.integer(1, 9);
  layout.offset = random.integer(0, 8);
  return layout;
}

}  // namespace

RouteCase make_route_case(std::uint64_t seed, std::uint64_t index) noexcept {
  static constexpr auto kTokens =
      std::to_array<std::int64_t>({1, 2, 3, 7, 16, 33, 64, 65, 129, 200, 500, 1500});
  static constexpr auto kExperts =
      std::to_array<std::int64_t>({1, 2, 3, 8, 8, 16, 31, 64, 128, 160, 255, 256, 257, 513});
  Random random(seed + static_cast<std::uint64_t>(Op::Route), index);
  RouteCase result{.seed = seed, .index = index};
  result.tokens = random.one_in(30) ? 0 : random.pick(kTokens);
  result.experts = random.pick(kExperts);
  result.k = std::min(result.experts, random.integer(1, random.one_in(8) ? 600 : 10));
  while (result.tokens * (result.experts + 8 * result.k) > 150'000) result.tokens /= 2;
  result.dtype = random.pick(std::to_array<DType>({DType::F32, DType::BF16, DType::F16}));
  result.kind = static_cast<RouterWeights>(random.integer(0, 3));
  if (random.one_in(3)) result.scale = static_cast<float>(4 * random.real());
  result.contents = random.one_in(2) ? Logits::Uniform : static_cast<Logits>(random.integer(1, 5));
  result.logits = pick_layout(random, true);
  result.logits.repeats_outermost = random.one_in(12);
  result.written = pick_layout(random, true);
  result.lists = pick_layout(random, false);
  return result;
}

std::string RouteCase::to_string() const {
  static constexpr const char* kContents[] = {"uniform", "tied",   "far",
                                              "special", "masked", "sorted"};
  const auto layout = [](const char* what, const StridedCase& x) {
    return formatted(" {}:{}+{}@{} step {}{}", what, x.order[0] == 0 ? "row" : "column", x.pad,
                     x.offset, x.step, x.repeats_outermost ? " repeated" : "");
  };
  return formatted("{} tokens, {} of {} experts, {} {} logits, {} times {}", tokens, k, experts,
                   kContents[static_cast<int>(contents)], name(dtype), name(kind), scale) +
         layout("logits", logits) + layout("written", written) + layout("lists", lists);
}

}  // namespace girih::inline v0::verify
