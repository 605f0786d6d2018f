#pragma once

#include <cstddef>
#include <cstdint>

#include <girih/dtype.hpp>

// Single elements in host memory, as real numbers. Written from the formats' definitions and apart
// from the library's conversions, so that one checks the other.

namespace girih::inline v0 {

/// A binary floating-point format.
struct NumberFormat {
  int fraction_bits = 0;
  int min_exponent = 0;      ///< of the smallest normal number, 2^min_exponent
  double max = 0;            ///< largest finite number
  bool has_infinity = true;  ///< false: what overflows becomes NaN

  /// Unit roundoff.
  [[nodiscard]] double roundoff() const noexcept;
  /// Largest error of rounding a number below the normal range: half the smallest subnormal.
  [[nodiscard]] double underflow() const noexcept;
  /// The smallest magnitude that rounds to nearest as infinity.
  [[nodiscard]] double overflow_threshold() const noexcept;
};

/// Only for floating-point types.
NumberFormat number_format(DType dtype) noexcept;
/// `value` rounded to nearest, ties to even, in one step from the exact double.
double round_to(const NumberFormat& format, double value) noexcept;

/// Element `index` of packed elements at `data`. I4: two to a byte, even index in the low half.
double load_element(const std::byte* data, DType dtype, std::int64_t index) noexcept;
/// Floats are rounded as by `round_to`; integers must be whole and in range.
void store_element(std::byte* data, DType dtype, std::int64_t index, double value) noexcept;

}  // namespace girih::inline v0
