#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <girih/runtime.hpp>
#include <girih/tensor.hpp>

#include "core/geometry.hpp"

namespace girih::inline v0::detail {

/// One allocation. Destroyed by the last handle, on whichever thread that is; `owner` then takes
/// the memory back.
struct Storage {
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Called once, when no handle is left. Thread-safe.
    virtual void reclaim(Storage& storage) noexcept = 0;
  };

  std::byte* data = nullptr;  ///< device address of the first byte
  std::int64_t bytes = 0;     ///< usable size
  std::int64_t capacity = 0;  ///< size of the block behind it, what a free list keys on
  std::uint64_t runtime = 0;  ///< `Runtime::id()` of the runtime it belongs to
  Memory memory = Memory::Cold;
  bool scratch = false;                            ///< a kernel's workspace, not a tensor
  bool wrapped = false;                            ///< the caller's memory
  std::unique_ptr<std::function<void()>> deleter;  ///< of wrapped memory; may be null
  std::shared_ptr<Owner> owner;
  std::shared_ptr<Storage> parent;  ///< Bump: the slab this range is cut from

  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    if (owner) owner->reclaim(*this);
  }
};

/// The inside of a `Tensor`, for the layers below the public interface.
struct TensorAccess {
  static Tensor make(std::shared_ptr<Storage> storage, const Geometry& geometry) noexcept {
    Tensor tensor;
    tensor.storage_ = std::move(storage);
    tensor.shape_ = geometry.shape;
    tensor.strides_ = geometry.strides;
    tensor.offset_ = geometry.offset;
    tensor.dtype_ = geometry.dtype;
    return tensor;
  }
  static const std::shared_ptr<Storage>& storage(const Tensor& tensor) noexcept {
    return tensor.storage_;
  }
  static Geometry geometry(const Tensor& tensor) noexcept {
    return {tensor.dtype_, tensor.shape_, tensor.strides_, tensor.offset_};
  }
  /// Address of the element at index 0. Only for types of whole bytes or even offsets.
  static std::byte* address(const Tensor& tensor) noexcept {
    return tensor.storage_->data + tensor.offset_ * bit_width(tensor.dtype_) / 8;
  }
};

}  // namespace girih::inline v0::detail
