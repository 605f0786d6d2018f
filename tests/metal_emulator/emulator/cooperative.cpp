#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "emulator/threadgroup.hpp"

namespace girih::inline v0::emulator {
namespace {

using Key = std::tuple<unsigned, unsigned, unsigned, bool, std::uint64_t>;

/// Element of each slot, lane by lane; -1 for the rest.
std::vector<int> make_layout(unsigned elements, unsigned lanes, unsigned capacity) {
  std::vector<int> slots(std::size_t{lanes} * capacity, -1);
  if (!config().scrambles_layouts) {
    for (unsigned e = 0; e < elements; ++e) slots[e % lanes * capacity + e / lanes] = int(e);
    return slots;
  }
  for (unsigned e = 0; e < elements; ++e) slots[e] = int(e);
  std::mt19937_64 random(config().seed * 1'000'003 + elements * 31 + lanes);
  std::ranges::shuffle(slots, random);
  return slots;
}

template <class T>
void add_product(const T* a, const T* b, T* c, int m, int n, int k) noexcept {
  for (int i = 0; i < m; ++i) {
    T* const row = c + std::ptrdiff_t{i} * n;
    for (int p = 0; p < k; ++p) {
      const T factor = a[std::ptrdiff_t{i} * k + p];
      const T* const other = b + std::ptrdiff_t{p} * n;
      for (int j = 0; j < n; ++j) row[j] += factor * other[j];
    }
  }
}

}  // namespace

int cooperative_element(unsigned elements, unsigned lanes, unsigned capacity, unsigned lane,
                        unsigned slot) {
  static std::map<Key, std::vector<int>> layouts;
  static Key last{};
  static const std::vector<int>* layout = nullptr;
  const Key key{elements, lanes, capacity, config().scrambles_layouts, config().seed};
  if (layout == nullptr || key != last) {
    auto found = layouts.find(key);
    if (found == layouts.end()) {
      found = layouts.emplace(key, make_layout(elements, lanes, capacity)).first;
    }
    layout = &found->second;
    last = key;
  }
  return (*layout)[std::size_t{lane} * capacity + slot];
}

void* leader_memory(unsigned which, std::size_t bytes) {
  static std::array<std::vector<std::uint64_t>, 3> memory;
  std::vector<std::uint64_t>& part = memory.at(which);
  if (part.size() * 8 < bytes) part.resize(bytes / 8 + 1);
  return part.data();
}

void multiply(const float* a, const float* b, float* c, int m, int n, int k) noexcept {
  add_product(a, b, c, m, n, k);
}

void multiply(const std::int32_t* a, const std::int32_t* b, std::int32_t* c, int m, int n,
              int k) noexcept {
  add_product(a, b, c, m, n, k);
}

}  // namespace girih::inline v0::emulator
