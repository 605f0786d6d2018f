#pragma once

#include <cstdint>
#include <span>

#include <girih/status.hpp>

namespace girih::inline v0 {

/// Packs values of -8..7 two to a byte, even index in the low half; an odd count leaves the last
/// high half zero. `packed` must hold (values.size() + 1) / 2 bytes. Refuses a value out of range
/// (InvalidOption names it) and a size that does not fit (SizeMismatch); then nothing is written.
Status pack_i4(std::span<const std::int8_t> values, std::span<std::uint8_t> packed) noexcept;
/// The inverse: `values.size()` nibbles, sign-extended.
Status unpack_i4(std::span<const std::uint8_t> packed, std::span<std::int8_t> values) noexcept;

}  // namespace girih::inline v0
