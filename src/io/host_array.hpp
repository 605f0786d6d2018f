#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include <girih/io.hpp>

namespace girih::inline v0 {

/// Bits that `shape` takes with `bits` an element, or nothing if that does not fit 63. Extents of 0
/// count as 1, so that they hide no overflow from whoever computes strides.
std::optional<std::int64_t> checked_extent_bits(const Shape& shape, int bits) noexcept;
/// True if an extent is 0.
bool is_empty(const Shape& shape) noexcept;
/// Row-major bytes of the view's elements. Fails for a view that leaves its bytes, and for I4.
Result<std::int64_t> checked_view_bytes(const HostView& view, std::string_view what);
/// Hands the view's elements to `sink` in row-major order: at once if they lie so already, else
/// gathered a megabyte at a time. Only for views that passed `checked_view_bytes`.
Status stream_row_major(const HostView& view,
                        const std::function<Status(std::span<const std::byte>)>& sink);

}  // namespace girih::inline v0
