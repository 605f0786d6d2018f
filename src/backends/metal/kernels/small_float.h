#pragma once
#include "backends/metal/kernels/common.h"

// f32 to and from narrower floats by integer arithmetic alone: no rounding mode, no flushing of
// subnormals and no treatment of NaN by the compiler plays a part.

// Nearest, ties to even. NaN keeps its sign and the top of its payload, and becomes quiet. Without
// infinity, all ones is NaN, and so is what is too large.
template <int kExponentBits, int kFractionBits, bool kHasInfinity>
inline uint narrow(float value) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr uint kSign = 1u << (kExponentBits + kFractionBits);
  constexpr uint kTop = ((1u << kExponentBits) - 1u) << kFractionBits;
  constexpr uint kOverflow = kHasInfinity ? kTop : kSign - 1u;
  const uint bits = as_type<uint>(value);
  const uint sign = (bits >> 31) * kSign;
  const uint magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {
    if (!kHasInfinity) return sign | kOverflow;
    return sign | kTop | (1u << (kFractionBits - 1)) |
           ((magnitude & 0x7FFFFFu) >> (23 - kFractionBits));
  }
  if (magnitude == 0x7F800000u) return sign | kOverflow;
  const bool is_subnormal = magnitude < 0x00800000u;
  const uint significand = (magnitude & 0x7FFFFFu) | (is_subnormal ? 0u : 0x00800000u);
  const int scale = is_subnormal ? -126 : int(magnitude >> 23) - 127;
  const int lowest = 1 - kBias;
  int shift = 23 - kFractionBits;
  if (scale < lowest) shift += lowest - scale;
  if (shift > 25) return sign;  // under half of the least subnormal
  const uint kept = significand >> shift;
  const uint rest = significand & ((1u << shift) - 1u);
  const uint middle = (1u << shift) >> 1;
  uint pattern = kept + (rest > middle || (rest == middle && (kept & 1u) != 0u) ? 1u : 0u);
  if (scale >= lowest) {
    const int exponent = scale + kBias - 1;  // the implicit bit adds the one that is missing
    if (exponent >= (1 << kExponentBits)) return sign | kOverflow;
    pattern += uint(exponent) << kFractionBits;
  }
  return sign | (pattern >= kOverflow ? kOverflow : pattern);
}

// Exact.
template <int kExponentBits, int kFractionBits, bool kHasInfinity>
inline float widen(uint pattern) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr uint kSign = 1u << (kExponentBits + kFractionBits);
  constexpr uint kTop = ((1u << kExponentBits) - 1u) << kFractionBits;
  const uint sign = (pattern & kSign) != 0u ? 0x80000000u : 0u;
  const uint magnitude = pattern & (kSign - 1u);
  if (kHasInfinity && magnitude == kTop) return as_type<float>(sign | 0x7F800000u);
  if (kHasInfinity && magnitude > kTop) {
    return as_type<float>(sign | 0x7FC00000u | ((magnitude << (23 - kFractionBits)) & 0x7FFFFFu));
  }
  if (!kHasInfinity && magnitude == kSign - 1u) return as_type<float>(sign | 0x7FC00000u);
  if (kExponentBits == 8) return as_type<float>(sign | magnitude << (23 - kFractionBits));
  const uint exponent = magnitude >> kFractionBits;
  uint fraction = magnitude & ((1u << kFractionBits) - 1u);
  if (exponent == 0u) {
    if (fraction == 0u) return as_type<float>(sign);
    int shift = 0;
    while ((fraction >> kFractionBits) == 0u) {
      fraction <<= 1;
      ++shift;
    }
    fraction &= (1u << kFractionBits) - 1u;
    return as_type<float>(sign | uint(128 - kBias - shift) << 23 |
                          fraction << (23 - kFractionBits));
  }
  return as_type<float>(sign | (exponent + uint(127 - kBias)) << 23 |
                        fraction << (23 - kFractionBits));
}
