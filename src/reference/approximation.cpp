#include "reference/approximation.hpp"

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

}  // namespace girih::inline v0
