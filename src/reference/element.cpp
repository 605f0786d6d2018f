#include "reference/element.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace girih::inline v0 {
namespace {

template <class T>
T load_as(const std::byte* data, std::int64_t index) noexcept {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store_as(std::byte* data, std::int64_t index, T value) noexcept {
  std::memcpy(data + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

int exponent_bits(DType dtype) noexcept {
  return bit_width(dtype) - 1 - number_format(dtype).fraction_bits;
}

/// The number that `bits` stand for in a format of 8 or 16 bits.
double decode(DType dtype, std::uint32_t bits) noexcept {
  const NumberFormat format = number_format(dtype);
  const std::uint32_t fraction_mask = (1U << format.fraction_bits) - 1U;
  const std::uint32_t exponent_mask = (1U << exponent_bits(dtype)) - 1U;
  const std::uint32_t fraction = bits & fraction_mask;
  const std::uint32_t exponent = (bits >> format.fraction_bits) & exponent_mask;
  const double sign = (bits >> (bit_width(dtype) - 1)) != 0 ? -1.0 : 1.0;
  if (exponent == exponent_mask) {
    if (format.has_infinity && fraction == 0) return sign * std::numeric_limits<double>::infinity();
    if (format.has_infinity || fraction == fraction_mask) {
      return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
    }
  }
  const int hidden = exponent == 0 ? 0 : 1;
  const double significand = static_cast<double>(fraction) +
                             static_cast<double>(hidden) * static_cast<double>(fraction_mask + 1U);
  const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - 1 + format.min_exponent;
  return sign * std::ldexp(significand, power - format.fraction_bits);
}

/// The bits of a number that the format of 8 or 16 bits holds exactly.
std::uint32_t encode(DType dtype, double value) noexcept {
  const NumberFormat format = number_format(dtype);
  const std::uint32_t fraction_mask = (1U << format.fraction_bits) - 1U;
  const std::uint32_t exponent_mask = (1U << exponent_bits(dtype)) - 1U;
  const std::uint32_t sign = std::signbit(value) ? 1U << (bit_width(dtype) - 1) : 0U;
  const std::uint32_t infinity = exponent_mask << format.fraction_bits;
  if (std::isnan(value)) {
    const std::uint32_t quiet =
        format.has_infinity ? 1U << (format.fraction_bits - 1) : fraction_mask;
    return sign | infinity | quiet;
  }
  if (std::isinf(value)) return sign | infinity;
  const double magnitude = std::fabs(value);
  if (magnitude < std::ldexp(1.0, format.min_exponent)) {
    const double steps = std::ldexp(magnitude, format.fraction_bits - format.min_exponent);
    return sign | static_cast<std::uint32_t>(steps);
  }
  const int power = std::ilogb(magnitude);
  const double steps = std::ldexp(magnitude, format.fraction_bits - power);
  const auto exponent = static_cast<std::uint32_t>(power - format.min_exponent + 1);
  return sign | (exponent << format.fraction_bits) |
         (static_cast<std::uint32_t>(steps) & fraction_mask);
}

}  // namespace

double NumberFormat::roundoff() const noexcept {
  return std::ldexp(1.0, -fraction_bits - 1);
}

double NumberFormat::underflow() const noexcept {
  return std::ldexp(1.0, min_exponent - fraction_bits - 1);
}

double NumberFormat::overflow_threshold() const noexcept {
  return max + std::ldexp(1.0, std::ilogb(max) - fraction_bits - 1);
}

NumberFormat number_format(DType dtype) noexcept {
  switch (dtype) {
    case DType::BF16:
      return {7, -126, std::ldexp(255.0, 120), true};
    case DType::F16:
      return {10, -14, 65504, true};
    case DType::F8E4M3:
      return {3, -6, 448, false};
    case DType::F8E5M2:
      return {2, -14, 57344, true};
    case DType::F64:
      return {52, -1022, std::numeric_limits<double>::max(), true};
    default:
      return {23, -126, static_cast<double>(std::numeric_limits<float>::max()), true};
  }
}

double round_to(const NumberFormat& format, double value) noexcept {
  if (std::isnan(value) || value == 0 || (std::isinf(value) && format.has_infinity)) return value;
  if (std::isinf(value)) return std::copysign(std::numeric_limits<double>::quiet_NaN(), value);
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  const int shift = format.fraction_bits - exponent;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, shift)), -shift);
  if (std::fabs(rounded) <= format.max) return rounded;
  return std::copysign(format.has_infinity ? std::numeric_limits<double>::infinity()
                                           : std::numeric_limits<double>::quiet_NaN(),
                       value);
}

double load_element(const std::byte* data, DType dtype, std::int64_t index) noexcept {
  switch (dtype) {
    case DType::F32:
      return static_cast<double>(load_as<float>(data, index));
    case DType::F64:
      return load_as<double>(data, index);
    case DType::BF16:
    case DType::F16:
      return decode(dtype, load_as<std::uint16_t>(data, index));
    case DType::F8E4M3:
    case DType::F8E5M2:
      return decode(dtype, load_as<std::uint8_t>(data, index));
    case DType::I8:
      return load_as<std::int8_t>(data, index);
    case DType::U8:
      return load_as<std::uint8_t>(data, index);
    case DType::I32:
      return load_as<std::int32_t>(data, index);
    case DType::I4:
      break;
  }
  const int nibble = (std::to_integer<int>(data[index / 2]) >> (index % 2 != 0 ? 4 : 0)) & 0xF;
  return nibble < 8 ? nibble : nibble - 16;
}

void store_element(std::byte* data, DType dtype, std::int64_t index, double value) noexcept {
  switch (dtype) {
    case DType::F32:
      return store_as(data, index, static_cast<float>(value));
    case DType::F64:
      return store_as(data, index, value);
    case DType::BF16:
    case DType::F16:
      return store_as(
          data, index,
          static_cast<std::uint16_t>(encode(dtype, round_to(number_format(dtype), value))));
    case DType::F8E4M3:
    case DType::F8E5M2:
      return store_as(
          data, index,
          static_cast<std::uint8_t>(encode(dtype, round_to(number_format(dtype), value))));
    case DType::I8:
      return store_as(data, index, static_cast<std::int8_t>(value));
    case DType::U8:
      return store_as(data, index, static_cast<std::uint8_t>(value));
    case DType::I32:
      return store_as(data, index, static_cast<std::int32_t>(value));
    case DType::I4:
      break;
  }
  const auto nibble = static_cast<unsigned>(static_cast<int>(value)) & 0xFU;
  const unsigned shift = index % 2 != 0 ? 4 : 0;
  const auto old = std::to_integer<unsigned>(data[index / 2]);
  data[index / 2] = static_cast<std::byte>((old & ~(0xFU << shift)) | (nibble << shift));
}

}  // namespace girih::inline v0
