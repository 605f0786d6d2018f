#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/geometry.hpp"

namespace girih::inline v0::verify {

/// Where each element of a view lies, in elements from the start of the memory, row-major.
std::vector<std::int64_t> element_offsets(const Geometry& geometry);
/// "[1, 4, 2]": the index of the `position`-th element in row-major order.
std::string index_of(const Shape& shape, std::int64_t position);

/// A view of host memory. The offset of `geometry` counts from `data`.
struct HostView {
  Geometry geometry;
  const std::byte* data = nullptr;
};

}  // namespace girih::inline v0::verify
