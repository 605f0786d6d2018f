#pragma once

#include <cstdint>
#include <string_view>

#include <girih/dtype.hpp>
#include <girih/shape.hpp>
#include <girih/status.hpp>

// Algebra of strided views, free of memory: what a view spans, whether it is well formed, and
// whether two views share elements.

namespace girih::inline v0 {

/// A view without its memory.
struct Geometry {
  DType dtype = DType::F32;
  Shape shape;
  Strides strides{};
  std::int64_t offset = 0;
};

/// Half-open range of bytes of one allocation.
struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Product of the extents. Errors name `what`: InvalidShape for a bad extent, SizeOverflow.
Result<std::int64_t> checked_size(const Shape& shape, std::string_view what) noexcept;
/// Bytes that `count` packed elements take (two I4 to a byte, the last one rounded up).
Result<std::int64_t> checked_bytes(std::int64_t count, DType dtype, std::string_view what) noexcept;
/// Row-major strides of a shape whose size is known to fit.
Strides contiguous_strides(const Shape& shape) noexcept;
bool is_contiguous(const Geometry& geometry) noexcept;
/// Checks a view against an allocation of `capacity_bytes`: extents and strides >= 0, offset >= 0,
/// every element inside, no product that overflows. I4 views must begin at an even element.
Status check_view(const Geometry& geometry, std::int64_t capacity_bytes,
                  std::string_view what) noexcept;
/// Bytes from the first to past the last element; empty if the view has no elements. Only for
/// views that passed `check_view`.
ByteRange byte_range(const Geometry& geometry) noexcept;
/// True if two different indices of the view may reach one element. Exact for views whose strides
/// nest (each stride at least the span of the smaller ones), else it errs towards true.
bool overlaps_itself(const Geometry& geometry) noexcept;
/// True if two views of one allocation may share a byte. Exact when both have the same element
/// size, unit column stride and a common row stride (column slices of one matrix); otherwise byte
/// ranges decide.
bool may_overlap(const Geometry& a, const Geometry& b) noexcept;
/// Same elements in the same order.
bool same_view(const Geometry& a, const Geometry& b) noexcept;

}  // namespace girih::inline v0
