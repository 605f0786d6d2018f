#include "backends/metal/memory.hpp"

#include <algorithm>
#include <limits>

#include "core/checked.hpp"
#include "core/error.hpp"

namespace girih::inline v0::metal {
namespace {

std::uintptr_t key_of(const void* data) noexcept {
  return reinterpret_cast<std::uintptr_t>(data);
}

/// Buffers are multiples of this.
constexpr std::int64_t kUnit = 64;

}  // namespace

Status Memory::start(id device) noexcept {
  device_ = device;
  limit_ = static_cast<std::int64_t>(device::working_set(device));
  longest_ = static_cast<std::int64_t>(device::longest_buffer(device));
  const Ref descriptor = make("MTLResidencySetDescriptor");
  residency_set_descriptor::set_capacity(descriptor.get(), 64);
  id failure = nullptr;
  set_ = Ref(device::new_residency_set(device, descriptor.get(), &failure));
  if (set_) return {};
  return error(Code::BackendUnavailable, "no residency set: {}", describe(failure));
}

Result<std::byte*> Memory::allocate(std::int64_t bytes) noexcept try {
  const std::lock_guard lock(mutex_);
  if (bytes > longest_) {
    return error(Code::OutOfMemory, "{} bytes asked, a buffer of this device has at most {}", bytes,
                 longest_);
  }
  if (bytes > limit_ - used_) {
    return error(Code::OutOfMemory, "{} bytes asked, {} of the working set of {} are in use", bytes,
                 used_, limit_);
  }
  const auto length = static_cast<UInt>(round_up(std::max<std::int64_t>(bytes, 1), kUnit));
  Ref object(device::new_buffer(device_, length, kStorageShared | kUntracked));
  if (!object) return error(Code::OutOfMemory, "no buffer of {} bytes", bytes);
  auto* const data = static_cast<std::byte*>(buffer::contents(object.get()));
  const std::uint64_t address = buffer::gpu_address(object.get());
  residency_set::add(set_.get(), object.get());
  is_set_stale_ = true;
  used_ += bytes;
  buffers_.emplace(key_of(data), Buffer{std::move(object), bytes, length, address, 1});
  return data;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to keep a buffer");
}

Result<std::byte*> Memory::import(id object, std::int64_t bytes) noexcept try {
  const std::lock_guard lock(mutex_);
  auto* const data = static_cast<std::byte*>(buffer::contents(object));
  if (data == nullptr) return error(Code::Unwrappable, "the buffer is private to the gpu");
  if (buffer::length(object) < static_cast<UInt>(bytes)) {
    return error(Code::Unwrappable, "the buffer has {} bytes, {} were said", buffer::length(object),
                 bytes);
  }
  const auto [place, is_new] = buffers_.try_emplace(key_of(data));
  if (is_new) {
    place->second.object = Ref::retained(object);
    place->second.length = buffer::length(object);
    place->second.address = buffer::gpu_address(object);
    residency_set::add(set_.get(), object);
    is_set_stale_ = true;
  }
  ++place->second.owners;
  return data;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to keep a buffer");
}

void Memory::retire(std::byte* data, std::uint64_t tick, Done done, void* context) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    retired_.push_back({key_of(data), tick, done, context});
  } catch (...) {  // kept until the device goes
  }
}

void Memory::reap(std::uint64_t completed) noexcept {
  for (;;) {
    Retired gone{};
    {
      const std::lock_guard lock(mutex_);
      const auto is_over = [&](const Retired& x) { return x.tick <= completed; };
      const auto next = std::ranges::find_if(retired_, is_over);
      if (next == retired_.end()) return;
      gone = *next;
      *next = retired_.back();
      retired_.pop_back();
      drop(gone.data);
    }
    if (gone.done != nullptr) gone.done(gone.context);  // the caller's code, outside the lock
  }
}

void Memory::drop(std::uintptr_t data) noexcept {
  const auto found = buffers_.find(data);
  if (found == buffers_.end()) return;
  if (--found->second.owners > 0) return;
  residency_set::remove(set_.get(), found->second.object.get());
  is_set_stale_ = true;
  used_ -= found->second.bytes;
  buffers_.erase(found);
}

void Memory::commit_residency() noexcept {
  const std::lock_guard lock(mutex_);
  if (is_set_stale_) residency_set::commit(set_.get());
  is_set_stale_ = false;
}

Memory::Buffers::const_iterator Memory::find(const void* data) const noexcept {
  auto next = buffers_.upper_bound(key_of(data));
  if (next == buffers_.begin()) return buffers_.end();
  --next;
  // An operand without elements may begin where its buffer ends.
  return key_of(data) - next->first <= next->second.length ? next : buffers_.end();
}

std::uint64_t Memory::gpu_address(const void* data) const noexcept {
  if (data == nullptr) return 0;
  const std::lock_guard lock(mutex_);
  const auto found = find(data);
  return found == buffers_.end() ? 0 : found->second.address + (key_of(data) - found->first);
}

Memory::Place Memory::place_of(const void* data) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = find(data);
  if (found == buffers_.end()) return {nullptr, 0};
  return {found->second.object.get(), key_of(data) - found->first};
}

Use Memory::use_of(const void* data, bool writes) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = find(data);
  if (found == buffers_.end()) return {};
  return {found->first, found->first + found->second.length, writes};
}

std::byte* Memory::base_of(std::byte* data) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = find(data);
  return found == buffers_.end() ? data : reinterpret_cast<std::byte*>(found->first);
}

}  // namespace girih::inline v0::metal
