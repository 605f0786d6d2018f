#include <array>
#include <bit>

#include <girih/dtype.hpp>

#include "core/small_float.hpp"

namespace girih::inline v0 {
namespace {

struct DTypeRow {
  std::string_view name;
  int bits;
  bool is_float;
};

constexpr std::array<DTypeRow, kDTypeCount> kRows = {{
    {"f32", 32, true},
    {"f64", 64, true},
    {"bf16", 16, true},
    {"f16", 16, true},
    {"f8e4m3", 8, true},
    {"f8e5m2", 8, true},
    {"i8", 8, false},
    {"u8", 8, false},
    {"i32", 32, false},
    {"i4", 4, false},
}};

}  // namespace

int bit_width(DType dtype) noexcept {
  return kRows[static_cast<std::size_t>(dtype)].bits;
}
std::string_view name(DType dtype) noexcept {
  return kRows[static_cast<std::size_t>(dtype)].name;
}
bool is_float(DType dtype) noexcept {
  return kRows[static_cast<std::size_t>(dtype)].is_float;
}

bf16 to_bf16(float value) noexcept {
  return {static_cast<std::uint16_t>(narrow<kBf16>(value))};
}
f16 to_f16(float value) noexcept {
  return {static_cast<std::uint16_t>(narrow<kF16>(value))};
}
f8e4m3 to_f8e4m3(float value) noexcept {
  return {static_cast<std::uint8_t>(narrow<kF8E4M3>(value))};
}
f8e5m2 to_f8e5m2(float value) noexcept {
  return {static_cast<std::uint8_t>(narrow<kF8E5M2>(value))};
}
float to_f32(bf16 value) noexcept {
  return widen<kBf16>(value.bits);
}
float to_f32(f16 value) noexcept {
  return widen<kF16>(value.bits);
}
float to_f32(f8e4m3 value) noexcept {
  return widen<kF8E4M3>(value.bits);
}
float to_f32(f8e5m2 value) noexcept {
  return widen<kF8E5M2>(value.bits);
}

}  // namespace girih::inline v0
