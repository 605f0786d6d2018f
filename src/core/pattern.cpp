#include "core/pattern.hpp"

#include <bit>
#include <cmath>

namespace girih::inline v0 {
namespace {

/// The f32 that rounds to any narrower float as `value` itself does: truncated, with the last bit
/// set if something was cut off.
float rounded_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(nearest) || static_cast<double>(nearest) == value) {
    return nearest;
  }
  const bool too_far = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest) - (too_far ? 1U : 0U);
  return std::bit_cast<float>(bits | 1U);
}

}  // namespace

std::uint64_t pattern_of(double value, DType type) noexcept {
  const float odd = rounded_to_odd(value);
  switch (type) {
    case DType::F32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DType::F64:
      return std::bit_cast<std::uint64_t>(value);
    case DType::BF16:
      return to_bf16(odd).bits;
    case DType::F16:
      return to_f16(odd).bits;
    case DType::F8E4M3:
      return to_f8e4m3(odd).bits;
    case DType::F8E5M2:
      return to_f8e5m2(odd).bits;
    case DType::I8:
    case DType::U8:
    case DType::I32:
    case DType::I4:
      break;
  }
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

}  // namespace girih::inline v0
