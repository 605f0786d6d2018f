#include "girih/bench_values.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace girih::cli {
namespace {

/// 65536 values that 16- and 8-bit operands take, as their bits.
std::vector<std::uint16_t> values_of(DType dtype) {
  std::vector<std::uint16_t> values(65536);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = (static_cast<float>(i) + 0.5F) / 32768.0F - 1.0F;
    values[i] = dtype == DType::BF16     ? to_bf16(value).bits
                : dtype == DType::F16    ? to_f16(value).bits
                : dtype == DType::F8E4M3 ? to_f8e4m3(value).bits
                                         : to_f8e5m2(value).bits;
  }
  return values;
}

/// Takes eight bytes of randomness and gives as many of elements.
template <class Spread>
void fill_words(std::vector<std::byte>& bytes, std::mt19937_64& generator, const Spread& spread) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = spread(generator());
    std::memcpy(&bytes[i], &word, std::min<std::size_t>(8, bytes.size() - i));
  }
}

}  // namespace

std::vector<std::byte> random_elements(std::int64_t count, DType dtype,
                                       std::mt19937_64& generator) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * bit_width(dtype) / 8));
  if (dtype == DType::I8) {
    fill_words(bytes, generator, [](std::uint64_t word) { return word; });
  } else if (dtype == DType::F32) {
    fill_words(bytes, generator, [](std::uint64_t word) {
      float pair[2];
      for (int i = 0; i < 2; ++i) {
        const auto bits = static_cast<std::int32_t>(word >> (32 * i) & 0xFFFFFF);
        pair[i] = static_cast<float>(bits - 0x800000) * 0x1p-23F;
      }
      std::memcpy(&word, pair, sizeof word);
      return word;
    });
  } else {
    const std::vector<std::uint16_t> values = values_of(dtype);
    fill_words(bytes, generator, [&](std::uint64_t word) {
      std::uint64_t result = 0;
      const int width = bit_width(dtype);
      for (int i = 0; i < 64; i += width) {
        // An 8-bit value takes 16 bits too, half of which are its neighbour's.
        const std::uint64_t place = (width == 16 ? word >> i : std::rotr(word, i)) & 0xFFFF;
        result |= std::uint64_t{values[static_cast<std::size_t>(place)]} << i;
      }
      return result;
    });
  }
  return bytes;
}

std::int64_t find_nan(const std::vector<std::byte>& bytes, DType dtype) {
  if (dtype == DType::F32) {
    const auto* const values = reinterpret_cast<const std::uint32_t*>(bytes.data());
    const std::size_t count = bytes.size() / 4;
    for (std::size_t i = 0; i < count; ++i) {
      if ((values[i] & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::int64_t>(i);
    }
  } else if (dtype == DType::BF16 || dtype == DType::F16) {
    const unsigned infinity = dtype == DType::BF16 ? 0x7F80U : 0x7C00U;
    const auto* const values = reinterpret_cast<const std::uint16_t*>(bytes.data());
    const std::size_t count = bytes.size() / 2;
    for (std::size_t i = 0; i < count; ++i) {
      if ((values[i] & 0x7FFFU) > infinity) return static_cast<std::int64_t>(i);
    }
  }
  return -1;
}

}  // namespace girih::cli
