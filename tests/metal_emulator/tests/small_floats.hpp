#pragma once

#include <cstdint>

#include "core/small_float.hpp"

namespace girih::inline v0::emulator {

/// The 16-bit element types of kernels, for a host compiler that has none.
template <FloatFormat kFormat>
struct SmallFloat {
  std::uint16_t bits = 0;
  SmallFloat() = default;
  explicit SmallFloat(double value)
      : bits(static_cast<std::uint16_t>(narrow<kFormat>(static_cast<float>(value)))) {}
  explicit operator double() const { return widen<kFormat>(bits); }
};
using Half = SmallFloat<kF16>;
using BFloat = SmallFloat<kBf16>;

}  // namespace girih::inline v0::emulator
