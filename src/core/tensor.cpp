#include <algorithm>
#include <utility>

#include <girih/tensor.hpp>

#include "core/error.hpp"
#include "core/storage.hpp"

namespace girih::inline v0 {
namespace {

/// The view `geometry` of `base`'s memory, checked.
Result<Tensor> make_view(const Tensor& base, const Geometry& geometry) noexcept {
  const auto& storage = detail::TensorAccess::storage(base);
  if (!storage) return error(Code::InvalidTensor, "view: the tensor is empty");
  GIRIH_TRY(check_view(geometry, storage->bytes, "view"));
  return detail::TensorAccess::make(storage, geometry);
}

bool has_no_elements(const Shape& shape) noexcept {
  return std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent == 0; });
}

}  // namespace

std::int64_t Tensor::size() const noexcept {
  if (has_no_elements(shape_)) return 0;  // first: the other extents' product may not fit
  std::int64_t size = 1;
  for (const std::int64_t extent : shape_) size *= extent;
  return size;
}

bool Tensor::is_contiguous() const noexcept {
  return girih::is_contiguous(detail::TensorAccess::geometry(*this));
}

Tensor Tensor::transposed() const noexcept {
  Tensor result = *this;
  const int r = rank();
  if (r < 2) return result;
  std::array<std::int64_t, kMaxRank> extents{};
  std::copy(shape_.begin(), shape_.end(), extents.begin());
  const auto row = static_cast<std::size_t>(r - 2);
  const auto column = static_cast<std::size_t>(r - 1);
  std::swap(extents[row], extents[column]);
  std::swap(result.strides_[row], result.strides_[column]);
  result.shape_ = Shape::of({extents.data(), static_cast<std::size_t>(r)});
  return result;
}

Result<Tensor> Tensor::slice(int dimension, std::int64_t begin, std::int64_t end) const noexcept {
  if (dimension < 0 || dimension >= rank()) {
    return error(Code::InvalidShape, "slice: dimension {} of a tensor of rank {}", dimension,
                 rank());
  }
  if (begin < 0 || begin > end || end > shape_[dimension]) {
    return error(Code::InvalidShape, "slice: [{}, {}) of extent {}", begin, end, shape_[dimension]);
  }
  std::array<std::int64_t, kMaxRank> extents{};
  std::copy(shape_.begin(), shape_.end(), extents.begin());
  const auto d = static_cast<std::size_t>(dimension);
  extents[d] = end - begin;
  Geometry geometry = detail::TensorAccess::geometry(*this);
  geometry.shape = Shape::of({extents.data(), static_cast<std::size_t>(rank())});
  // The stride of a view without elements may be anything.
  if (!has_no_elements(geometry.shape)) geometry.offset += begin * strides_[d];
  return make_view(*this, geometry);
}

Result<Tensor> Tensor::reshape(const Shape& shape) const noexcept {
  const Result<std::int64_t> wanted = checked_size(shape, "reshape");
  if (!wanted) return wanted.error();
  if (*wanted != size()) {
    return error(Code::InvalidShape, "reshape: {} elements into a shape of {}", size(), *wanted);
  }
  if (!is_contiguous()) return error(Code::InvalidShape, "reshape: the view is not contiguous");
  return make_view(*this, {dtype_, shape, contiguous_strides(shape), offset_});
}

Result<Tensor> Tensor::repeated(std::int64_t count) const noexcept {
  if (rank() == kMaxRank) {
    return error(Code::InvalidShape, "repeated: rank {} is the most there is", kMaxRank);
  }
  std::array<std::int64_t, kMaxRank> extents{count};
  Strides strides{};
  std::copy(shape_.begin(), shape_.end(), extents.begin() + 1);
  std::copy(strides_.begin(), strides_.begin() + rank(), strides.begin() + 1);
  const Shape shape = Shape::of({extents.data(), static_cast<std::size_t>(rank() + 1)});
  return make_view(*this, {dtype_, shape, strides, offset_});
}

Result<Tensor> Tensor::view(const Shape& shape, const Strides& strides,
                            std::int64_t offset) const noexcept {
  Strides used{};
  std::copy(strides.begin(), strides.begin() + shape.rank(), used.begin());
  return make_view(*this, {dtype_, shape, used, offset});
}

}  // namespace girih::inline v0
