#include "core/geometry.hpp"

#include <algorithm>
#include <array>

#include "core/checked.hpp"
#include "core/error.hpp"

namespace girih::inline v0 {
namespace {

/// Index of the last element relative to the first, or nothing if it does not fit.
std::optional<std::int64_t> checked_span(const Geometry& view) noexcept {
  std::int64_t span = 0;
  for (int i = 0; i < view.shape.rank(); ++i) {
    const auto step = checked_mul(view.shape[i] - 1, view.strides[static_cast<std::size_t>(i)]);
    if (!step) return std::nullopt;
    const auto sum = checked_add(span, *step);
    if (!sum) return std::nullopt;
    span = *sum;
  }
  return span;
}

bool has_elements(const Shape& shape) noexcept {
  return std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent > 0; });
}

struct Dimension {
  std::int64_t extent;
  std::int64_t stride;
};

/// Dimensions of extent > 1, by rising stride.
int sorted_dimensions(const Geometry& view, std::array<Dimension, kMaxRank>& out) noexcept {
  int count = 0;
  for (int i = 0; i < view.shape.rank(); ++i) {
    if (view.shape[i] <= 1) continue;
    out[static_cast<std::size_t>(count++)] = {view.shape[i],
                                              view.strides[static_cast<std::size_t>(i)]};
  }
  std::sort(out.begin(), out.begin() + count,
            [](const Dimension& x, const Dimension& y) { return x.stride < y.stride; });
  return count;
}

/// Rows of `width` adjacent elements, `pitch` apart: what `may_overlap` can decide exactly.
struct RowPattern {
  std::int64_t pitch;
  std::int64_t width;
};

/// `view` as rows of adjacent elements, if it is that: one inner run, any number of outer
/// dimensions whose strides are multiples of one pitch.
std::optional<RowPattern> row_pattern(const Geometry& view, std::int64_t pitch) noexcept {
  std::array<Dimension, kMaxRank> dimensions{};
  const int count = sorted_dimensions(view, dimensions);
  std::int64_t width = 1;
  for (int i = 0; i < count; ++i) {
    const Dimension& dimension = dimensions[static_cast<std::size_t>(i)];
    if (dimension.stride == width) {
      width *= dimension.extent;
    } else if (dimension.stride == 0) {
      continue;
    } else if (dimension.stride % pitch != 0) {
      return std::nullopt;
    }
  }
  if (width > pitch) return std::nullopt;
  return RowPattern{pitch, width};
}

/// The smallest stride that jumps from row to row; 0 if the view is one run.
std::int64_t natural_pitch(const Geometry& view) noexcept {
  std::array<Dimension, kMaxRank> dimensions{};
  const int count = sorted_dimensions(view, dimensions);
  std::int64_t width = 1;
  for (int i = 0; i < count; ++i) {
    const Dimension& dimension = dimensions[static_cast<std::size_t>(i)];
    if (dimension.stride == 0) continue;
    if (dimension.stride != width) return dimension.stride;
    width *= dimension.extent;
  }
  return 0;
}

}  // namespace

Result<std::int64_t> checked_size(const Shape& shape, std::string_view what) noexcept {
  std::int64_t size = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == Shape::kTooLarge) {
      return error(Code::InvalidShape, "{}: extent {} exceeds 2^63-1", what, i);
    }
    if (shape[i] < 0) {
      return error(Code::InvalidShape, "{}: extent {} is {}, must not be negative", what, i,
                   shape[i]);
    }
  }
  if (!has_elements(shape)) return 0;
  for (const std::int64_t extent : shape) {
    const auto product = checked_mul(size, extent);
    if (!product) {
      return error(Code::SizeOverflow, "{}: the product of the extents exceeds 2^63-1", what);
    }
    size = *product;
  }
  return size;
}

Result<std::int64_t> checked_bytes(std::int64_t count, DType dtype,
                                   std::string_view what) noexcept {
  const auto bits = checked_mul(count, bit_width(dtype));
  if (!bits) {
    return error(Code::SizeOverflow, "{}: {} elements of {} exceed 2^63-1 bits", what, count,
                 name(dtype));
  }
  return ceil_div(*bits, 8);
}

Strides contiguous_strides(const Shape& shape) noexcept {
  Strides strides{};
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[static_cast<std::size_t>(i)] = stride;
    // Beside an extent of 0 the others' product may not fit; nothing is ever that far away.
    stride = checked_mul(stride, std::max<std::int64_t>(shape[i], 1)).value_or(stride);
  }
  return strides;
}

bool is_contiguous(const Geometry& geometry) noexcept {
  if (!has_elements(geometry.shape)) return true;
  std::int64_t expected = 1;
  for (int i = geometry.shape.rank() - 1; i >= 0; --i) {
    if (geometry.shape[i] == 1) continue;
    if (geometry.strides[static_cast<std::size_t>(i)] != expected) return false;
    expected *= geometry.shape[i];
  }
  return true;
}

Status check_view(const Geometry& geometry, std::int64_t capacity_bytes,
                  std::string_view what) noexcept {
  const Result<std::int64_t> size = checked_size(geometry.shape, what);
  if (!size) return size.error();
  for (int i = 0; i < geometry.shape.rank(); ++i) {
    const std::int64_t stride = geometry.strides[static_cast<std::size_t>(i)];
    if (stride < 0) {
      return error(Code::InvalidShape, "{}: stride {} is {}, must not be negative", what, i,
                   stride);
    }
  }
  if (geometry.offset < 0) {
    return error(Code::InvalidShape, "{}: offset {} must not be negative", what, geometry.offset);
  }
  if (geometry.dtype == DType::I4 && geometry.offset % 2 != 0) {
    return error(Code::InvalidShape, "{}: offset {} of i4 elements must be even", what,
                 geometry.offset);
  }
  const std::optional<std::int64_t> span =
      *size == 0 ? std::optional<std::int64_t>(-1) : checked_span(geometry);
  const auto last = span ? checked_add(geometry.offset, *span) : std::nullopt;
  const auto count = last ? checked_add(*last, 1) : std::nullopt;
  if (!count) {
    return error(Code::SizeOverflow, "{}: the last element's index exceeds 2^63-1", what);
  }
  const Result<std::int64_t> bytes = checked_bytes(*count, geometry.dtype, what);
  if (!bytes) return bytes.error();
  if (*bytes > capacity_bytes) {
    return error(Code::InvalidShape, "{}: the view ends at byte {}, the memory has {}", what,
                 *bytes, capacity_bytes);
  }
  return {};
}

ByteRange byte_range(const Geometry& geometry) noexcept {
  const std::int64_t bits = bit_width(geometry.dtype);
  const std::int64_t begin = geometry.offset * bits / 8;
  if (!has_elements(geometry.shape)) return {begin, begin};
  const std::int64_t last = geometry.offset + checked_span(geometry).value_or(0);
  return {begin, ceil_div((last + 1) * bits, 8)};
}

bool overlaps_itself(const Geometry& geometry) noexcept {
  if (!has_elements(geometry.shape)) return false;
  std::array<Dimension, kMaxRank> dimensions{};
  const int count = sorted_dimensions(geometry, dimensions);
  std::int64_t span = 0;  // of the dimensions seen so far
  for (int i = 0; i < count; ++i) {
    const Dimension& dimension = dimensions[static_cast<std::size_t>(i)];
    if (dimension.stride <= span) return true;
    span += (dimension.extent - 1) * dimension.stride;
  }
  return false;
}

bool may_overlap(const Geometry& a, const Geometry& b) noexcept {
  const ByteRange x = byte_range(a);
  const ByteRange y = byte_range(b);
  if (x.begin == x.end || y.begin == y.end) return false;
  if (x.begin >= y.end || y.begin >= x.end) return false;
  if (bit_width(a.dtype) != bit_width(b.dtype) || bit_width(a.dtype) < 8) return true;

  const std::int64_t pitch = std::max(natural_pitch(a), natural_pitch(b));
  if (pitch == 0) return true;
  const auto rows_a = row_pattern(a, pitch);
  const auto rows_b = row_pattern(b, pitch);
  if (!rows_a || !rows_b) return true;
  // Both are bands of one grid of rows: they are apart if their columns are, modulo the pitch.
  const std::int64_t start = (b.offset % pitch - a.offset % pitch + pitch) % pitch;
  const bool apart = start >= rows_a->width && start + rows_b->width <= pitch;
  return !apart;
}

bool same_view(const Geometry& a, const Geometry& b) noexcept {
  if (a.dtype != b.dtype || a.shape != b.shape || a.offset != b.offset) return false;
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (a.shape[i] > 1 &&
        a.strides[static_cast<std::size_t>(i)] != b.strides[static_cast<std::size_t>(i)]) {
      return false;
    }
  }
  return true;
}

}  // namespace girih::inline v0
