#include "reference/approximation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/element.hpp"

namespace girih::inline v0 {

double gamma_n(double roundings) noexcept {
  const double n = roundings * kRoundoff;
  return n / (1 - n);
}

double f32_error(double roundings, double magnitude) noexcept {
  if (magnitude > static_cast<double>(std::numeric_limits<float>::max())) {
    return std::numeric_limits<double>::infinity();
  }
  return gamma_n(roundings) * magnitude + roundings * kUnderflow;
}

Approximation narrow(DType dtype, Approximation x) noexcept {
  if (dtype == DType::F32 || !std::isfinite(x.value)) return x;
  const NumberFormat format = number_format(dtype);
  const double magnitude = std::fabs(x.value) + x.error;
  return {x.value, x.error + format.roundoff() * magnitude + format.underflow()};
}

namespace {

/// The nearest number of an 8-bit type; none is infinite.
double saturated(DType dtype, double value) noexcept {
  if (dtype == DType::I8) return std::nearbyint(std::clamp(value, -128.0, 127.0));
  const NumberFormat format = number_format(dtype);
  return round_to(format, std::clamp(value, -format.max, format.max));
}

}  // namespace

Approximation quantise(DType dtype, Approximation x, double factor) noexcept {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double value = x.value * factor;
  // An infinite factor takes a sign, and no zero.
  const bool is_certain = x.error == 0 || std::fabs(x.value) > x.error;
  if (x.error == kInfinity || (std::isinf(factor) && !is_certain)) return {value, kInfinity};
  if (std::isnan(value)) return {dtype == DType::I8 ? 0 : value, 0};
  double error = 0;
  if (std::isfinite(value)) {
    // Products past f32's range saturate as those past the type's do.
    error = std::fabs(factor) * x.error;
    error += gamma_n(1) * (std::fabs(value) + error) + kUnderflow;
  }
  const double low = saturated(dtype, value - error), high = saturated(dtype, value + error);
  return {(low + high) / 2, (high - low) / 2};
}

}  // namespace girih::inline v0
