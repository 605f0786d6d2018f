#pragma once

#include <bit>
#include <cstdint>

// Conversion between f32 and any narrower binary float, from a description of its fields.

namespace girih::inline v0 {

/// Fields of a float of sign, exponent and fraction bits, in that order from the top.
struct FloatFormat {
  int exponent_bits;
  int fraction_bits;
  bool has_infinity;  ///< false: the all-ones exponent holds numbers, only all ones is NaN

  [[nodiscard]] constexpr int bias() const noexcept { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] constexpr std::uint32_t sign_bit() const noexcept {
    return 1U << (exponent_bits + fraction_bits);
  }
  /// Infinity, or where the format has none, NaN.
  [[nodiscard]] constexpr std::uint32_t overflow() const noexcept {
    const std::uint32_t exponent = (1U << exponent_bits) - 1;
    return has_infinity ? exponent << fraction_bits : sign_bit() - 1;
  }
  [[nodiscard]] constexpr std::uint32_t quiet_nan() const noexcept {
    return has_infinity ? overflow() | (1U << (fraction_bits - 1)) : sign_bit() - 1;
  }
  /// Pattern of the largest finite value.
  [[nodiscard]] constexpr std::uint32_t max_finite() const noexcept { return overflow() - 1; }
};

inline constexpr FloatFormat kBf16 = {8, 7, true};
inline constexpr FloatFormat kF16 = {5, 10, true};
inline constexpr FloatFormat kF8E4M3 = {4, 3, false};
inline constexpr FloatFormat kF8E5M2 = {5, 2, true};

/// Rounds to nearest, ties to even; integer arithmetic only, so no status flag and no rounding mode
/// plays a part. NaN keeps its sign and becomes quiet.
template <FloatFormat F>
constexpr std::uint32_t narrow(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 31) * F.sign_bit();
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    if constexpr (!F.has_infinity) return sign | F.quiet_nan();
    return sign | F.quiet_nan() | ((magnitude & 0x7FFFFFU) >> (23 - F.fraction_bits));
  }
  if (magnitude == 0x7F800000U) return sign | F.overflow();

  // A normal of the target keeps `fraction_bits` of the 24-bit significand; below its range one
  // more bit goes for each power of two, down to nothing.
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const int lowest = 1 - F.bias();
  const bool source_is_subnormal = magnitude < 0x00800000U;
  const std::uint32_t significand =
      (magnitude & 0x7FFFFFU) | (source_is_subnormal ? 0U : 0x00800000U);
  const int scale = source_is_subnormal ? -126 : exponent;
  int shift = 23 - F.fraction_bits;
  if (scale < lowest) shift += lowest - scale;
  if (shift > 25) return sign;  // under half of the least subnormal

  const std::uint32_t kept = significand >> shift;
  const std::uint32_t rest = significand & ((1U << shift) - 1);
  const std::uint32_t half = (1U << shift) >> 1;
  const bool up = rest > half || (rest == half && shift > 0 && (kept & 1U) != 0);
  // With the implicit bit still set, exponent - 1 added above it gives the pattern, and a carry out
  // of the fraction runs into the exponent as it should.
  std::uint32_t pattern = kept + (up ? 1U : 0U);
  if (scale >= lowest) {
    const int biased = scale + F.bias() - 1;
    if (biased >= (1 << F.exponent_bits)) return sign | F.overflow();
    pattern += static_cast<std::uint32_t>(biased) << F.fraction_bits;
  }
  return sign | (pattern > F.max_finite() ? F.overflow() : pattern);
}

/// Exact.
template <FloatFormat F>
constexpr float widen(std::uint32_t pattern) noexcept {
  const std::uint32_t sign = (pattern & F.sign_bit()) != 0 ? 0x80000000U : 0U;
  const std::uint32_t magnitude = pattern & (F.sign_bit() - 1);
  if (magnitude > F.max_finite()) {
    if (F.has_infinity && magnitude == F.overflow()) {
      return std::bit_cast<float>(sign | 0x7F800000U);
    }
    const std::uint32_t payload = F.has_infinity ? magnitude << (23 - F.fraction_bits) : 0U;
    return std::bit_cast<float>(sign | 0x7FC00000U | (payload & 0x7FFFFFU));
  }
  const std::uint32_t exponent = magnitude >> F.fraction_bits;
  const std::uint32_t fraction = magnitude & ((1U << F.fraction_bits) - 1);
  if constexpr (F.exponent_bits == 8) return std::bit_cast<float>(sign | magnitude << 16);
  if (exponent == 0) {
    // fraction * 2^(1 - bias - fraction_bits): both factors are exact in f32.
    const int power = 1 - F.bias() - F.fraction_bits;
    const auto scale = std::bit_cast<float>(static_cast<std::uint32_t>(power + 127) << 23);
    const float value = static_cast<float>(fraction) * scale;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t rebased = exponent + static_cast<std::uint32_t>(127 - F.bias());
  return std::bit_cast<float>(sign | rebased << 23 | fraction << (23 - F.fraction_bits));
}

}  // namespace girih::inline v0
