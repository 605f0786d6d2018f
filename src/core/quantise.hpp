#pragma once

#include <bit>
#include <cstdint>

#include "core/small_float.hpp"

// Rounding of f32 to the 8-bit types with saturation, as the outputs of products are rounded.
// Conversions (`small_float.hpp`, `cast`) do not saturate.

namespace girih::inline v0 {

/// To nearest, ties to even; what is beyond the largest finite number, infinities too, becomes it.
/// NaN stays NaN.
template <FloatFormat F>
constexpr std::uint8_t quantise_float(float value) noexcept {
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU;
  const std::uint32_t pattern = narrow<F>(value);
  const bool saturates =
      magnitude <= 0x7F800000U && (pattern & (F.sign_bit() - 1)) > F.max_finite();
  return static_cast<std::uint8_t>(saturates ? (pattern & F.sign_bit()) | F.max_finite() : pattern);
}

/// To nearest, ties to even, within -128 and 127; NaN is 0.
constexpr std::int8_t quantise_i8(float value) noexcept {
  if ((std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU) > 0x7F800000U) return 0;
  if (value >= 127) return 127;
  if (value <= -128) return -128;
  const float rounder = 12582912.0F;  // 1.5 * 2^23: the sum's last place is 1
  return static_cast<std::int8_t>((value + rounder) - rounder);
}

}  // namespace girih::inline v0
