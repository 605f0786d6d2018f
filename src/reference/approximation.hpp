#pragma once

#include <girih/dtype.hpp>

// What f32 arithmetic may make of a real number: how oracles compute their bounds.

namespace girih::inline v0 {

/// Unit roundoff of f32, and half its smallest subnormal.
inline constexpr double kRoundoff = 0x1p-24;
inline constexpr double kUnderflow = 0x1p-150;

/// A real number, and how far f32 arithmetic may be from it; infinite: anything may come out.
struct Approximation {
  double value = 0;
  double error = 0;
};

/// gamma(n) = n u / (1 - n u), u = 2^-24: the relative error of n roundings.
double gamma_n(double roundings) noexcept;
/// Error of `roundings` f32 operations whose results never exceed `magnitude`; infinite if they may
/// overflow.
double f32_error(double roundings, double magnitude) noexcept;
/// What rounding to an output's type adds; an f32 result is already one.
Approximation narrow(DType dtype, Approximation x) noexcept;
/// What x times a factor becomes in an 8-bit type, which saturates: the middle of the lowest and
/// the highest number that may come out, and half their distance, 0 where it is certain.
Approximation quantise(DType dtype, Approximation x, double factor) noexcept;

}  // namespace girih::inline v0
