#include "verify/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/format.hpp"
#include "reference/element.hpp"

namespace girih::inline v0::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Error as a part of the bound: above 1 is wrong. `overflow` is where the type becomes infinite.
double error_ratio(double got, double value, double bound, double overflow) noexcept {
  if (bound == kInfinity) return 0;
  if (std::isnan(value)) return std::isnan(got) ? 0 : kInfinity;
  if (std::isinf(value)) return got == value ? 0 : kInfinity;
  if (std::isnan(got)) return kInfinity;
  if (std::isinf(got)) {
    const double short_of_overflow = overflow - std::copysign(1.0, got) * value;
    if (short_of_overflow <= 0) return 0;
    return bound > 0 ? short_of_overflow / bound : kInfinity;
  }
  const double error = std::fabs(got - value);
  if (error == 0) return 0;
  return bound > 0 ? error / bound : kInfinity;
}

void record(Comparison& result, double ratio, double got, double want, double bound) noexcept {
  const std::int64_t position = result.elements++;
  if (bound == kInfinity) ++result.unbounded;
  if (!(ratio <= 1)) ++result.failures;
  if (std::isfinite(got) && std::isfinite(want)) {
    result.max_error = std::max(result.max_error, std::fabs(got - want));
  }
  if (result.worst >= 0 && !(ratio > result.worst_ratio)) return;
  result.worst = position;
  result.worst_ratio = ratio;
  result.got = got;
  result.want = want;
  result.bound = bound;
}

bool equal_bits(const HostView& a, std::int64_t i, const HostView& b, std::int64_t j) noexcept {
  const std::int64_t width = bit_width(a.geometry.dtype);
  if (width == 4) {
    return load_element(a.data, DType::I4, i) == load_element(b.data, DType::I4, j);
  }
  return std::equal(a.data + i * width / 8, a.data + (i + 1) * width / 8, b.data + j * width / 8);
}

}  // namespace

std::string Comparison::to_string() const {
  if (worst < 0) return "no elements";
  return formatted(
      "{}{}worst at {}: got {:.9g}, want {:.9g}, bound {:.3g} (error / bound {:.3g}); "
      "{} of {} wrong",
      what, what.empty() ? "" : ": ", index_of(shape, worst), got, want, bound, worst_ratio,
      failures, elements);
}

Comparison compare(std::span<const double> value, std::span<const double> bound,
                   const HostView& got) {
  const DType dtype = got.geometry.dtype;
  const double overflow = is_float(dtype) ? number_format(dtype).overflow_threshold() : kInfinity;
  const std::vector<std::int64_t> offsets = element_offsets(got.geometry);
  Comparison result;
  result.shape = got.geometry.shape;
  if (offsets.size() != value.size() || bound.size() != value.size()) {
    result.failures = 1;  // an oracle of another shape judges nothing
    return result;
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const double x = load_element(got.data, dtype, offsets[i]);
    record(result, error_ratio(x, value[i], bound[i], overflow), x, value[i], bound[i]);
  }
  return result;
}

Comparison compare_exact(const HostView& want, const HostView& got, NanRule rule) {
  const DType dtype = got.geometry.dtype;
  const std::vector<std::int64_t> from = element_offsets(want.geometry);
  const std::vector<std::int64_t> to = element_offsets(got.geometry);
  Comparison result;
  result.shape = got.geometry.shape;
  if (from.size() != to.size() || want.geometry.dtype != dtype) {
    result.failures = 1;
    return result;
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    const double x = load_element(got.data, dtype, to[i]);
    const double y = load_element(want.data, dtype, from[i]);
    const bool same_nan = rule == NanRule::SameSign && std::isnan(x) && std::isnan(y) &&
                          std::signbit(x) == std::signbit(y);
    const bool equal = same_nan || equal_bits(want, from[i], got, to[i]);
    record(result, equal ? 0 : kInfinity, x, y, 0);
  }
  return result;
}

}  // namespace girih::inline v0::verify
