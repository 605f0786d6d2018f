#include <utility>

#include <girih/runtime.hpp>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "runtime/state.hpp"

// Memory, objects and events that pass between girih and the program around it.

namespace girih::inline v0 {

using detail::Entry;
using detail::TensorAccess;

namespace {

/// Checks a range of the caller's memory against the tensor that is to lie in it; gives the bytes
/// from the first element on.
Result<std::int64_t> check_range(const ForeignMemory& memory, std::int64_t needed) noexcept {
  if (memory.handle == nullptr) return error(Code::Unwrappable, "wrap: the handle is null");
  if (!std::in_range<std::int64_t>(memory.bytes)) {
    return error(Code::Unwrappable, "wrap: {} bytes exceed 2^63-1", memory.bytes);
  }
  if (memory.byte_offset >= memory.bytes) {
    return error(Code::Unwrappable, "wrap: offset {} is past the memory's {} bytes",
                 memory.byte_offset, memory.bytes);
  }
  const auto usable = static_cast<std::int64_t>(memory.bytes - memory.byte_offset);
  if (needed > usable) {
    return error(Code::Unwrappable,
                 "wrap: the tensor has {} bytes, the memory {} from offset {} on", needed, usable,
                 memory.byte_offset);
  }
  return usable;
}

}  // namespace

Result<Tensor> Runtime::wrap(ForeignMemory memory, const Shape& shape, DType dtype) noexcept {
  const Result<Entry> entry = Entry::enter(state_.get());
  if (!entry) return entry.error();
  GIRIH_TRY(check_enumerator(dtype, DType::I4, "dtype"));
  const Result<std::int64_t> size = checked_size(shape, "wrap");
  if (!size) return size.error();
  const Result<std::int64_t> needed = checked_bytes(*size, dtype, "wrap");
  if (!needed) return needed.error();
  const Result<std::int64_t> usable = check_range(memory, *needed);
  if (!usable) return usable.error();
  const NativeMemory native{.handle = memory.handle, .byte_offset = memory.byte_offset};
  Result<std::shared_ptr<detail::Storage>> storage =
      state_->memory().wrap(native, *usable, dtype, std::move(memory.deleter));
  if (!storage) return storage.error();
  return TensorAccess::make(*std::move(storage), {dtype, shape, contiguous_strides(shape), 0});
}

Result<NativeMemory> Runtime::native_handle(const Tensor& tensor) noexcept {
  const Result<Entry> entry = Entry::enter(state_.get());
  if (!entry) return entry.error();
  GIRIH_TRY(check_tensor(tensor, state_->check_context(), "native_handle"));
  return state_->device().native_memory(TensorAccess::address(tensor));
}

Result<void*> Runtime::native_handle(NativeObject object) noexcept {
  const Result<Entry> entry = Entry::enter(state_.get());
  if (!entry) return entry.error();
  GIRIH_TRY(check_enumerator(object, NativeObject::MetalQueue, "native object"));
  return state_->device().native_object(object);
}

Status Runtime::record(const ForeignEvent& event) noexcept {
  const Result<Entry> entry = Entry::enter_uncaptured(state_.get(), "record");
  if (!entry) return entry.error();
  return state_->record(event);
}

Status Runtime::wait_for(const ForeignEvent& event) noexcept {
  const Result<Entry> entry = Entry::enter_uncaptured(state_.get(), "wait_for");
  if (!entry) return entry.error();
  return state_->wait_for(event);
}

}  // namespace girih::inline v0
