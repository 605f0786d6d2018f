#include "core/nibbles.hpp"

#include "core/error.hpp"

namespace girih::inline v0 {
namespace {

Status check_sizes(std::size_t values, std::size_t bytes) noexcept {
  if (bytes == values / 2 + values % 2) return {};
  return error(Code::SizeMismatch, "{} 4-bit values take {} bytes, got {}", values,
               values / 2 + values % 2, bytes);
}

}  // namespace

Status pack_i4(std::span<const std::int8_t> values, std::span<std::uint8_t> packed) noexcept {
  GIRIH_TRY(check_sizes(values.size(), packed.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < -8 || values[i] > 7) {
      return error(Code::InvalidOption, "value {} at index {} is outside -8..7", values[i], i);
    }
  }
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const auto low = static_cast<unsigned>(values[2 * i]) & 0xFU;
    const auto high =
        2 * i + 1 < values.size() ? static_cast<unsigned>(values[2 * i + 1]) & 0xFU : 0U;
    packed[i] = static_cast<std::uint8_t>(low | high << 4);
  }
  return {};
}

Status unpack_i4(std::span<const std::uint8_t> packed, std::span<std::int8_t> values) noexcept {
  GIRIH_TRY(check_sizes(values.size(), packed.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const unsigned nibble = (packed[i / 2] >> (i % 2 == 0 ? 0 : 4)) & 0xFU;
    values[i] = static_cast<std::int8_t>(static_cast<int>(nibble ^ 8U) - 8);
  }
  return {};
}

}  // namespace girih::inline v0
