#include "verify/grouped_case.hpp"

#include <algorithm>
#include <array>

#include "core/format.hpp"
#include "ops/gemm.hpp"
#include "verify/random.hpp"

namespace girih::inline v0::verify {
namespace {

constexpr std::int64_t kMaxWork = 16'000'000;

/// Of the seed, apart from the streams that the product's fields and contents are drawn from.
Random random_of(const GemmCase& product, std::uint64_t stream) {
  return {product.seed * 0x9E3779B97F4A7C15ULL + product.index, stream};
}

std::vector<std::int64_t> ragged(Random& random, std::int64_t groups, std::int64_t rows) {
  std::vector<std::int64_t> offsets;
  const std::int64_t begin = random.one_in(2) ? 0 : random.integer(0, rows / 3);
  const std::int64_t end = random.one_in(2) ? rows : random.integer(begin, rows);
  for (std::int64_t g = 0; g <= groups; ++g) offsets.push_back(random.integer(begin, end));
  // Two equal cuts make an empty group; these come often enough that the first and the last do too.
  if (random.one_in(2)) offsets.front() = begin;
  if (random.one_in(2)) offsets.back() = end;
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

}  // namespace

std::vector<std::int64_t> GroupedCase::offsets(std::uint64_t variant) const {
  const std::int64_t groups = product.products();
  const std::int64_t rows = extent == GroupedExtent::Rows ? product.m : product.k;
  Random random = random_of(product, 1000 + variant);
  std::vector<std::int64_t> result;
  switch (lengths) {
    case Lengths::Ragged:
      return ragged(random, groups, rows);
    case Lengths::Even:
      for (std::int64_t g = 0; g <= groups; ++g) {
        result.push_back(groups > 0 ? rows * g / groups : 0);
      }
      return result;
    case Lengths::OneHasAll: {
      const std::int64_t owner = random.integer(0, std::max<std::int64_t>(groups - 1, 0));
      for (std::int64_t g = 0; g <= groups; ++g) result.push_back(g <= owner ? 0 : rows);
      return result;
    }
    case Lengths::AllEmpty:
      return std::vector<std::int64_t>(static_cast<std::size_t>(groups + 1),
                                       random.integer(0, rows));
    case Lengths::Short:
      result.push_back(0);
      for (std::int64_t g = 0; g < groups; ++g) {
        result.push_back(std::min(result.back() + random.integer(0, 3), rows));
      }
      result.back() = groups > 0 ? rows : 0;
      return result;
  }
  return result;
}

std::string GroupedCase::to_string() const {
  static constexpr const char* kLengths[] = {"ragged", "even", "one has all", "all empty", "short"};
  return formatted("{} groups of {} {} stride {} in {}", product.products(), name(extent),
                   kLengths[static_cast<int>(lengths)], offset_stride, product.to_string());
}

GroupedCase grouped(GemmCase product, GroupedExtent extent, Lengths lengths) {
  const bool by_rows = extent == GroupedExtent::Rows;
  product.a.sharing = Sharing::Rank2;
  if (!by_rows) product.b.sharing = Sharing::Rank2;
  if (by_rows && product.b.sharing == Sharing::Rank2) product.b.sharing = Sharing::Repeated;
  product.c.sharing = product.residual_layout.sharing = by_rows ? Sharing::Rank2 : Sharing::Own;
  return {.product = product, .extent = extent, .lengths = lengths};
}

GroupedCase make_grouped_case(std::uint64_t seed, std::uint64_t index) noexcept {
  static constexpr auto kGroups = std::to_array<std::int64_t>({1, 2, 3, 3, 5, 8, 17, 40});
  GemmCase product = make_gemm_case(seed, index);
  if (is_quantised(product.output)) {  // which grouped products do not give
    product.output = DType::BF16;
    product.c_scale = false;
  }
  Random random = random_of(product, 999);
  const bool by_rows = !random.one_in(3);
  if (product.a_scale == Granularity::PerRowBlock) product.a_scale = Granularity::PerRow;
  if (product.b_scale > Granularity::PerColumn) product.b_scale = Granularity::PerColumn;
  product.batch = random.one_in(60) ? 0 : random.pick(kGroups);
  product.bias_per_batch = random.one_in(2);
  product.scales_per_batch = random.one_in(3);
  // The oracle multiplies each row once, but finishes an element of C in every group of the depth.
  // Every group of rows has weights, be it empty.
  std::int64_t& rows = by_rows ? product.m : product.k;
  if (random.one_in(2)) rows = random.integer(0, 400);
  const std::int64_t groups = product.products();
  while (std::max(product.m, by_rows ? groups : 0) * product.product_columns() *
             (product.k + (by_rows ? 0 : groups)) >
         kMaxWork) {
    std::int64_t& wider = product.m > product.n ? product.m : product.n;
    std::int64_t& largest = product.k > wider ? product.k : wider;
    largest = (largest + 1) / 2;
  }
  GroupedCase result =
      grouped(product, by_rows ? GroupedExtent::Rows : GroupedExtent::Depth,
              random.one_in(2) ? Lengths::Ragged : static_cast<Lengths>(random.integer(1, 4)));
  result.offset_stride = random.one_in(8) ? 3 : 1;
  return result;
}

}  // namespace girih::inline v0::verify
