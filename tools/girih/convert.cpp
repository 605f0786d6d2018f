#include "girih/convert.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace girih::cli {
namespace {

constexpr std::size_t kChunk = 4096;

/// `value` rounded to odd: to f32 if exact, else to the neighbour with an odd last bit. Rounding
/// that to nearest in a type of at most 22 significant bits gives what rounding `value` would.
float round_to_odd(double value) {
  const auto near = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(near);
  if (std::isnan(value) || static_cast<double>(near) == value || (bits & 1U) != 0) return near;
  const bool is_above = std::abs(static_cast<double>(near)) > std::abs(value);
  return std::bit_cast<float>(is_above ? bits - 1 : bits + 1);
}

template <class T, class ToDouble>
void load_as(const std::byte* source, std::span<double> values, ToDouble to_double) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, source + i * sizeof(T), sizeof(T));
    values[i] = to_double(element);
  }
}

/// Every value of these types is a double. False for a type that is not here.
bool load_elements(DType dtype, const std::byte* source, std::span<double> values) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  const auto small = [](auto value) { return static_cast<double>(to_f32(value)); };
  switch (dtype) {
    case DType::F32:
      return load_as<float>(source, values, number), true;
    case DType::F64:
      return load_as<double>(source, values, number), true;
    case DType::BF16:
      return load_as<bf16>(source, values, small), true;
    case DType::F16:
      return load_as<f16>(source, values, small), true;
    case DType::F8E4M3:
      return load_as<f8e4m3>(source, values, small), true;
    case DType::F8E5M2:
      return load_as<f8e5m2>(source, values, small), true;
    case DType::I8:
      return load_as<std::int8_t>(source, values, number), true;
    case DType::U8:
      return load_as<std::uint8_t>(source, values, number), true;
    case DType::I32:
      return load_as<std::int32_t>(source, values, number), true;
    case DType::I4:
      break;
  }
  return false;
}

template <class Round>
void store_as(std::byte* destination, std::span<const double> values, Round round) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto element = round(values[i]);
    std::memcpy(destination + i * sizeof(element), &element, sizeof(element));
  }
}

bool store_elements(DType dtype, std::span<const double> values, std::byte* destination) {
  switch (dtype) {
    case DType::F32:
      store_as(destination, values, [](double v) { return static_cast<float>(v); });
      return true;
    case DType::BF16:
      store_as(destination, values, [](double v) { return to_bf16(round_to_odd(v)); });
      return true;
    case DType::F16:
      store_as(destination, values, [](double v) { return to_f16(round_to_odd(v)); });
      return true;
    case DType::F8E4M3:
      store_as(destination, values, [](double v) { return to_f8e4m3(round_to_odd(v)); });
      return true;
    case DType::F8E5M2:
      store_as(destination, values, [](double v) { return to_f8e5m2(round_to_odd(v)); });
      return true;
    case DType::I8:
      store_as(destination, values,
               [](double v) { return static_cast<std::int8_t>(std::nearbyint(v)); });
      return true;
    default:
      return false;
  }
}

/// The first value that does not round into i8, or the end.
std::size_t find_outside_i8(std::span<const double> values) {
  const auto fits = [](double v) {
    const double rounded = std::nearbyint(v);
    return rounded >= -128 && rounded <= 127;
  };
  return static_cast<std::size_t>(std::find_if_not(values.begin(), values.end(), fits) -
                                  values.begin());
}

void swap_last(Shape& shape, Strides& strides) {
  const int rank = shape.rank();
  if (rank < 2) return;
  const auto last = static_cast<std::size_t>(rank - 1);
  std::array<std::int64_t, kMaxRank> extents{};
  std::copy(shape.begin(), shape.end(), extents.begin());
  std::swap(extents[last], extents[last - 1]);
  std::swap(strides[last], strides[last - 1]);
  shape = Shape::of({extents.data(), last + 1});
}

}  // namespace

Result<HostArray> convert(HostArray array, DType dtype, std::string_view what) {
  if (array.dtype == dtype) return array;
  const auto source_width = static_cast<std::size_t>(bit_width(array.dtype) / 8);
  const auto width = static_cast<std::size_t>(bit_width(dtype) / 8);
  const std::size_t count = source_width == 0 ? 0 : array.bytes.size() / source_width;
  HostArray result{dtype, array.shape, array.strides, std::vector<std::byte>(count * width)};
  std::array<double, kChunk> buffer{};
  for (std::size_t done = 0; done < count; done += kChunk) {
    const std::span<double> values{buffer.data(), std::min(kChunk, count - done)};
    bool known = load_elements(array.dtype, array.bytes.data() + done * source_width, values);
    if (dtype == DType::I8) {
      const std::size_t bad = find_outside_i8(values);
      if (bad < values.size()) {
        return error(Code::GemmTypeMismatch, "{}: element {} is {}; i8 holds -128..127", what,
                     done + bad, values[bad]);
      }
    }
    known = known && store_elements(dtype, values, result.bytes.data() + done * width);
    if (!known) {
      return error(Code::UnsupportedConversion, "{}: no conversion from {} to {}", what,
                   name(array.dtype), name(dtype));
    }
  }
  return result;
}

HostArray transposed(HostArray array) {
  swap_last(array.shape, array.strides);
  return array;
}

ArrayInfo transposed(ArrayInfo info) {
  swap_last(info.shape, info.strides);
  return info;
}

}  // namespace girih::cli
