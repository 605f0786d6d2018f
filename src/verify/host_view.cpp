#include "verify/host_view.hpp"

#include <algorithm>

#include "core/format.hpp"

namespace girih::inline v0::verify {

std::vector<std::int64_t> element_offsets(const Geometry& geometry) {
  std::vector<std::int64_t> offsets{geometry.offset};
  for (int d = 0; d < geometry.shape.rank(); ++d) {
    const std::int64_t stride = geometry.strides[static_cast<std::size_t>(d)];
    std::vector<std::int64_t> next;
    next.reserve(offsets.size() * static_cast<std::size_t>(geometry.shape[d]));
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < geometry.shape[d]; ++i) next.push_back(offset + i * stride);
    }
    offsets = std::move(next);
  }
  return offsets;
}

std::string index_of(const Shape& shape, std::int64_t position) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[static_cast<std::size_t>(d)] = position % shape[d];
    position /= shape[d];
  }
  return formatted("[{}]", joined(index, ", "));
}

}  // namespace girih::inline v0::verify
