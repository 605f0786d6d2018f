#include "emulator/matrix_products.hpp"

#include <algorithm>
#include <bit>

#include "emulator/execution.hpp"
#include "emulator/threadgroup.hpp"

namespace girih::inline v0::emulator {
namespace {

/// Products of 1 KiB each that are noted at once: enough that switches cost little, and few enough
/// for a cache.
constexpr std::size_t kMostNoted = 64;

Meeting& own_group() noexcept {
  return execution().simd_groups[execution().lane->ids.simd_group];
}

float seen(float operand) noexcept {
  if (!config().truncates_simdgroup_matrix) return operand;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(operand) & 0xFFFFE000U);
}

/// Products are added in order of k.
void add(const MatrixProduct& product, MatrixProduct::Values& sums) noexcept {
  for (std::size_t i = 0; i < MatrixProduct::kSide; ++i) {
    for (std::size_t k = 0; k < MatrixProduct::kSide; ++k) {
      for (std::size_t j = 0; j < MatrixProduct::kSide; ++j) {
        sums[i][j] += seen(product.a[i][k]) * seen(product.b[k][j]);
      }
    }
  }
}

void do_all(void** payloads, unsigned count) {
  Meeting& group = own_group();
  const std::size_t noted = execution().lane->products;
  const bool is_whole =
      count == kSimdWidth && std::all_of(payloads, payloads + count, [](void* x) { return x; });
  for (std::size_t i = 0; i < noted; ++i) {
    MatrixProduct& product = group.products[i];
    if (!is_whole || std::ranges::find(product.d, nullptr) != product.d.end()) {
      fail_at("divergence", "a simdgroup_matrix needs all 32 lanes", product.site);
    }
    MatrixProduct::Values sums = product.c;
    if (product.adds_to_d) product.take(product, sums);
    add(product, sums);
    if (config().breaks_simdgroup_matrix) sums[0][0] += 1;
    product.give(product, sums);
    product.d.fill(nullptr);
  }
  for (unsigned i = 0; i < count; ++i) execution().lanes[group.first + i].products = 0;
}

}  // namespace

MatrixProduct& note_product(const Site& site) {
  Lane& lane = *execution().lane;
  if (lane.products == kMostNoted) settle_products(site);
  pass(site);
  Meeting& group = own_group();
  if (lane.products == group.products.size()) group.products.emplace_back();
  MatrixProduct& product = group.products[lane.products++];
  product.site = site;
  return product;
}

void settle_products(const Site& site) {
  rendezvous(Scope::Simd, site, nullptr, &do_all);
}

}  // namespace girih::inline v0::emulator
