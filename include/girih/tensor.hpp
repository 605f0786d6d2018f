#pragma once

#include <cstdint>
#include <memory>

#include <girih/dtype.hpp>
#include <girih/export.hpp>
#include <girih/shape.hpp>
#include <girih/status.hpp>

namespace girih::inline v0 {

namespace detail {
struct Storage;
struct TensorAccess;
}  // namespace detail

/// Where a tensor's memory comes from and how long it lives.
enum class Memory : std::uint8_t {
  Cold,  ///< activations: recycled through size-bucketed free lists when the last handle goes
  Hot,   ///< weights, KV caches: resident for life, returned to the system when dropped
  Bump,  ///< per-step scratch: one cursor, rewound by `Runtime::bump_reset()`
};

/// A typed, strided view of device memory that its runtime allocated or wrapped. A cheap handle:
/// copies share the memory, which lives until the last view and the last queued use of it are gone.
/// Handles may be dropped on any thread. The element at index (i0, i1, ...) lies `offset +
/// i0*stride0 + i1*stride1 + ...` elements into the memory.
class GIRIH_API Tensor {
 public:
  /// A view of nothing, refused by every call.
  Tensor() noexcept = default;

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] int rank() const noexcept { return shape_.rank(); }
  [[nodiscard]] std::int64_t extent(int dimension) const noexcept { return shape_[dimension]; }
  /// In elements; entries at and beyond `rank()` are 0.
  [[nodiscard]] const Strides& strides() const noexcept { return strides_; }
  /// In elements from the start of the memory.
  [[nodiscard]] std::int64_t offset() const noexcept { return offset_; }
  /// Product of the extents (1 for rank 0). Fits: it was checked when the view was made.
  [[nodiscard]] std::int64_t size() const noexcept;
  /// True if the elements lie row-major without gaps.
  [[nodiscard]] bool is_contiguous() const noexcept;
  explicit operator bool() const noexcept { return storage_ != nullptr; }

  /// The view with the last two dimensions swapped; rank 0 and 1 are returned as they are.
  [[nodiscard]] Tensor transposed() const noexcept;
  /// Elements [begin, end) of `dimension`.
  [[nodiscard]] Result<Tensor> slice(int dimension, std::int64_t begin,
                                     std::int64_t end) const noexcept;
  /// The same elements in another shape of equal size; only for contiguous views.
  [[nodiscard]] Result<Tensor> reshape(const Shape& shape) const noexcept;
  /// A new leading dimension of `count` that repeats this view (stride 0).
  [[nodiscard]] Result<Tensor> repeated(std::int64_t count) const noexcept;
  /// Any view of the same memory: `offset` counts elements from the start of the memory. Strides
  /// must not be negative, and the last element must lie inside the memory.
  [[nodiscard]] Result<Tensor> view(const Shape& shape, const Strides& strides,
                                    std::int64_t offset) const noexcept;

 private:
  friend struct detail::TensorAccess;

  std::shared_ptr<detail::Storage> storage_;
  Shape shape_;
  Strides strides_{};
  std::int64_t offset_ = 0;
  DType dtype_ = DType::F32;
};

}  // namespace girih::inline v0
