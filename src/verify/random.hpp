#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace girih::inline v0::verify {

/// The splitmix64 generator: equal seeds give equal cases on every machine.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept : state_(seed) {}
  /// The stream of item `index` of a seed, independent of its neighbours'.
  constexpr Random(std::uint64_t seed, std::uint64_t index) noexcept
      : state_(Random(seed ^ Random(index).bits()).bits()) {}

  constexpr std::uint64_t bits() noexcept {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  /// Uniform in [low, high]; the bias of the remainder is below 2^-40 for the ranges used here.
  constexpr std::int64_t integer(std::int64_t low, std::int64_t high) noexcept {
    const auto first = static_cast<std::uint64_t>(low);
    return static_cast<std::int64_t>(first +
                                     bits() % (static_cast<std::uint64_t>(high) - first + 1));
  }
  /// True once in `n` times.
  constexpr bool one_in(std::int64_t n) noexcept { return integer(1, n) == 1; }
  /// Uniform in [-1, 1).
  constexpr double real() noexcept {
    return static_cast<double>(static_cast<std::int64_t>(bits()) >> 11) * 0x1p-52;
  }
  template <class T, std::size_t N>
  constexpr T pick(const std::array<T, N>& values) noexcept {
    return values[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(N) - 1))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace girih::inline v0::verify
