#include "backends/cpu/convert.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/small_float.hpp"

namespace girih::inline v0::cpu {
namespace {

// The two 16-bit formats without branches; the 8-bit ones are rare and take the general code.

float widen_bf16(std::uint16_t half) noexcept {
  const std::uint32_t bits = std::uint32_t{half} << 16;
  const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return std::bit_cast<float>(bits | (nan ? 0x00400000U : 0U));
}

std::uint16_t narrow_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return static_cast<std::uint16_t>(nan ? (bits >> 16) | 0x40U : rounded);
}

/// A subnormal is the difference of two normal numbers, which is exact.
float widen_f16(std::uint16_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = (half & 0x7FFFU) << 13;
  const std::uint32_t normal = magnitude + (112U << 23);
  const auto subnormal = std::bit_cast<std::uint32_t>(
      std::bit_cast<float>(magnitude + (113U << 23)) - std::bit_cast<float>(113U << 23));
  const bool nan = magnitude > (0x7C00U << 13);
  const std::uint32_t special = (magnitude + (224U << 23)) | (nan ? 0x00400000U : 0U);
  const std::uint32_t finite = magnitude < (0x0400U << 13) ? subnormal : normal;
  return std::bit_cast<float>(sign | (magnitude >= (0x7C00U << 13) ? special : finite));
}

/// Subnormal results are rounded by adding 0.5, whose last place is their unit, 2^-24.
std::uint16_t narrow_f16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t normal = (magnitude + 0xC8000FFFU + ((magnitude >> 13) & 1U)) >> 13;
  const bool small = magnitude < 0x38800000U;
  const auto addend = std::bit_cast<float>(small ? magnitude : 0U);
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(addend + 0.5F) - 0x3F000000U;
  const std::uint32_t finite = small ? subnormal : normal;
  const std::uint32_t bounded = magnitude >= 0x477FF000U ? 0x7C00U : finite;
  const std::uint32_t nan = 0x7E00U | ((magnitude >> 13) & 0x3FFU);
  return static_cast<std::uint16_t>(sign | (magnitude > 0x7F800000U ? nan : bounded));
}

template <class T>
void gather(const std::byte* source, std::int64_t stride, std::int64_t count, T* block) noexcept {
  const T* elements = reinterpret_cast<const T*>(source);
  if (stride == 1) {
    std::memcpy(block, elements, static_cast<std::size_t>(count) * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < count; ++i) block[i] = elements[i * stride];
  }
  for (std::int64_t i = count; i < kConvertBlock; ++i) block[i] = 0;
}

template <class T>
void scatter(const T* block, std::int64_t count, std::int64_t stride,
             std::byte* destination) noexcept {
  T* elements = reinterpret_cast<T*>(destination);
  if (stride == 1) {
    std::memcpy(elements, block, static_cast<std::size_t>(count) * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < count; ++i) elements[i * stride] = block[i];
  }
}

template <class T, float (*kWiden)(T) noexcept>
void widen_with(const std::byte* source, std::int64_t stride, std::int64_t count,
                float* destination) noexcept {
  T block[kConvertBlock];
  gather(source, stride, count, block);
  for (std::int64_t i = 0; i < kConvertBlock; ++i) destination[i] = kWiden(block[i]);
}

template <class T, T (*kNarrow)(float) noexcept>
void narrow_with(const float* source, std::int64_t count, std::int64_t stride,
                 std::byte* destination) noexcept {
  T block[kConvertBlock];
  for (std::int64_t i = 0; i < kConvertBlock; ++i) block[i] = kNarrow(source[i]);
  scatter(block, count, stride, destination);
}

template <FloatFormat F>
float widen_byte(std::uint8_t pattern) noexcept {
  return widen<F>(pattern);
}
template <FloatFormat F>
std::uint8_t narrow_byte(float value) noexcept {
  return static_cast<std::uint8_t>(narrow<F>(value));
}

}  // namespace

void widen_block(const std::byte* source, DType type, std::int64_t stride, std::int64_t count,
                 float* destination) noexcept {
  switch (type) {
    case DType::BF16:
      return widen_with<std::uint16_t, widen_bf16>(source, stride, count, destination);
    case DType::F16:
      return widen_with<std::uint16_t, widen_f16>(source, stride, count, destination);
    case DType::F8E4M3:
      return widen_with<std::uint8_t, widen_byte<kF8E4M3>>(source, stride, count, destination);
    case DType::F8E5M2:
      return widen_with<std::uint8_t, widen_byte<kF8E5M2>>(source, stride, count, destination);
    default:
      return gather(source, stride, count, destination);
  }
}

void narrow_block(const float* source, std::int64_t count, DType type, std::int64_t stride,
                  std::byte* destination) noexcept {
  switch (type) {
    case DType::BF16:
      return narrow_with<std::uint16_t, narrow_bf16>(source, count, stride, destination);
    case DType::F16:
      return narrow_with<std::uint16_t, narrow_f16>(source, count, stride, destination);
    case DType::F8E4M3:
      return narrow_with<std::uint8_t, narrow_byte<kF8E4M3>>(source, count, stride, destination);
    case DType::F8E5M2:
      return narrow_with<std::uint8_t, narrow_byte<kF8E5M2>>(source, count, stride, destination);
    default:
      return scatter(source, count, stride, destination);
  }
}

}  // namespace girih::inline v0::cpu
