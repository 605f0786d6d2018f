#pragma once

#include <cstdint>
#include <optional>

namespace girih::inline v0 {

/// a * b, or nothing if it does not fit.
inline std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// a + b, or nothing if it does not fit.
inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// Smallest q with q * divisor >= value, for value >= 0 and divisor > 0.
constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t divisor) noexcept {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

/// Smallest multiple of `step` that is >= value, for values far from the 64-bit limit.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) noexcept {
  return ceil_div(value, step) * step;
}

}  // namespace girih::inline v0
