#pragma once

#include <functional>
#include <span>

#include <girih/io.hpp>

namespace girih::inline v0 {

/// Row-major bytes of the view's elements. Fails for a view that leaves its bytes, and for I4.
Result<std::int64_t> checked_view_bytes(const HostView& view, std::string_view what);
/// Hands the view's elements to `sink` in row-major order: at once if they lie so already, else
/// gathered a megabyte at a time. Only for views that passed `checked_view_bytes`.
Status stream_row_major(const HostView& view,
                        const std::function<Status(std::span<const std::byte>)>& sink);

}  // namespace girih::inline v0
