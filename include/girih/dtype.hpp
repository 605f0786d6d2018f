#pragma once

#include <cstdint>
#include <string_view>

#include <girih/export.hpp>

namespace girih::inline v0 {

/// Element types. Which operations take which is each operation's rule.
enum class DType : std::uint8_t {
  F32,
  F64,     ///< host arrays of the flat interface only; no kernel takes it
  BF16,    ///< bfloat16: 8 exponent bits, 7 fraction bits
  F16,     ///< IEEE 754 binary16
  F8E4M3,  ///< OCP 8-bit float, 4 exponent bits, no infinity, NaN = s.1111.111, max 448
  F8E5M2,  ///< OCP 8-bit float, 5 exponent bits, IEEE-like infinities and NaN, max 57344
  I8,
  U8,
  I32,
  I4,  ///< two's complement nibbles, two to a byte, even index in the low half
};

inline constexpr int kDTypeCount = 10;

/// Bits of one element: 4 for `I4`, else a multiple of 8.
GIRIH_API int bit_width(DType dtype) noexcept;
/// Short lower-case name: "f32", "bf16", "f8e4m3", ...
GIRIH_API std::string_view name(DType dtype) noexcept;
GIRIH_API bool is_float(DType dtype) noexcept;

/// A bfloat16 as stored. Arithmetic is done in float; conversion rounds to nearest even.
struct bf16 {
  std::uint16_t bits;
};
/// An IEEE binary16 as stored.
struct f16 {
  std::uint16_t bits;
};
struct f8e4m3 {
  std::uint8_t bits;
};
struct f8e5m2 {
  std::uint8_t bits;
};

/// Conversions round to nearest, ties to even. NaN stays NaN (quiet, sign kept). Out of range gives
/// infinity in bf16, f16 and f8e5m2; f8e4m3 has none and gives NaN, as the OCP document says for
/// the non-saturating mode.
GIRIH_API bf16 to_bf16(float value) noexcept;
GIRIH_API f16 to_f16(float value) noexcept;
GIRIH_API f8e4m3 to_f8e4m3(float value) noexcept;
GIRIH_API f8e5m2 to_f8e5m2(float value) noexcept;
GIRIH_API float to_f32(bf16 value) noexcept;
GIRIH_API float to_f32(f16 value) noexcept;
GIRIH_API float to_f32(f8e4m3 value) noexcept;
GIRIH_API float to_f32(f8e5m2 value) noexcept;

}  // namespace girih::inline v0
