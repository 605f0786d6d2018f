#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "verify/host_view.hpp"

namespace girih::inline v0::verify {

/// The outcome of comparing a result with its oracle. The worst element is the one whose error is
/// the largest part of its bound.
struct Comparison {
  std::int64_t elements = 0;
  std::int64_t failures = 0;
  std::int64_t unbounded = 0;  ///< elements that no bound constrains: they pass whatever they are
  std::int64_t worst = -1;     ///< position in row-major order; the first failing one wins ties
  double worst_ratio = 0;      ///< error / bound; infinite where a bound of 0 is missed
  double got = 0, want = 0, bound = 0;
  double max_error = 0;  ///< the largest |got - want| of numbers
  Shape shape;
  std::string what{};  ///< of several results, the one that this is about

  [[nodiscard]] bool passed() const noexcept { return failures == 0; }
  /// "worst at [3, 7]: got 1.25, want 1.5, bound 1e-06 (error / bound 2.5e+05); 3 of 64 wrong"
  [[nodiscard]] std::string to_string() const;
};

/// Element by element, row-major: |got - value| <= bound. What is not finite:
///   value NaN            got must be NaN
///   value +-inf          got must be the same infinity
///   value finite         got must not be NaN; an infinity passes only if value +- bound reaches
///   the
///                        magnitude from which the type rounds to it
///   bound infinite       anything passes
Comparison compare(std::span<const double> value, std::span<const double> bound,
                   const HostView& got);

enum class NanRule : std::uint8_t {
  SameBits,
  SameSign,  ///< a NaN equals any other of its sign: conversions may choose the payload
};

/// Bit for bit, save for NaN as `rule` says.
Comparison compare_exact(const HostView& want, const HostView& got, NanRule rule);

}  // namespace girih::inline v0::verify
