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

Status Memory::check_room(std::int64_t bytes) const noexcept {
  if (bytes <= limit_ - used_) return {};
  return error(Code::OutOfMemory, "{} bytes asked, {} of the working set of {} are in use", bytes,
               used_, limit_);
}

Result<std::byte*> Memory::allocate(std::int64_t bytes) noexcept try {
  const std::lock_guard lock(mutex_);
  if (bytes > longest_) {
    return error(Code::OutOfMemory, "{} bytes asked, a buffer of this device has at most {}", bytes,
                 longest_);
  }
  const std::int64_t length = round_up(std::max<std::int64_t>(bytes, 1), kUnit);
  GIRIH_TRY(check_room(length));
  Ref object(device::new_buffer(device_, static_cast<UInt>(length), kStorageShared | kUntracked));
  if (!object) return error(Code::OutOfMemory, "no buffer of {} bytes", bytes);
  auto* const data = static_cast<std::byte*>(buffer::contents(object.get()));
  const std::uint64_t address = buffer::gpu_address(object.get());
  add(buffers_.emplace(key_of(data),
                       Buffer{std::move(object), static_cast<UInt>(length), address, true, 1}));
  return data;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to keep a buffer");
}

Result<std::byte*> Memory::import(id object, std::int64_t offset, std::int64_t bytes) noexcept try {
  const std::lock_guard lock(mutex_);
  auto* const data = static_cast<std::byte*>(buffer::contents(object));
  if (data == nullptr) return error(Code::Unwrappable, "the buffer is private to the gpu");
  const UInt length = buffer::length(object);
  if (length < static_cast<UInt>(offset + bytes)) {
    return error(Code::Unwrappable, "the buffer has {} bytes, {} were said", length,
                 offset + bytes);
  }
  const auto [first, last] = buffers_.equal_range(key_of(data));
  auto place =
      std::find_if(first, last, [&](const auto& x) { return x.second.object.get() == object; });
  const bool is_new = place == last;
  if (is_new) {
    GIRIH_TRY(check_room(static_cast<std::int64_t>(length)));
    for (const auto& [begin, other] : buffers_) {
      overlap_ = overlap_ || (begin < key_of(data) + length && key_of(data) < begin + other.length);
    }
    place = buffers_.emplace(
        key_of(data), Buffer{Ref::retained(object), length, buffer::gpu_address(object), false, 0});
    add(place);
  }
  ++place->second.owners;
  try {
    imports_.emplace(Range{key_of(data + offset), bytes}, place);
  } catch (...) {
    drop(place);
    throw;
  }
  return data + offset;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to keep a buffer");
}

void Memory::retire(std::byte* data, std::uint64_t tick) noexcept {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = buffers_.equal_range(key_of(data));
  const auto place = std::find_if(first, last, [](const auto& x) { return x.second.is_allocated; });
  if (place == last) return;
  try {
    retired_.push_back({place, tick, nullptr, nullptr});
  } catch (...) {  // kept until the device goes
  }
}

void Memory::end_import(std::byte* data, std::int64_t bytes, std::uint64_t tick, Done done,
                        void* context) noexcept {
  const std::lock_guard lock(mutex_);
  const auto import = imports_.find(Range{key_of(data), bytes});
  if (import == imports_.end()) return;
  try {
    retired_.push_back({import->second, tick, done, context});
    imports_.erase(import);
  } catch (...) {  // kept until the device goes
  }
}

void Memory::after(std::uint64_t tick, Done done, void* context) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    retired_.push_back({std::nullopt, tick, done, context});
  } catch (...) {  // kept until the process goes
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
      if (gone.buffer) drop(*gone.buffer);
    }
    if (gone.done != nullptr) gone.done(gone.context);  // the caller's code, outside the lock
  }
}

void Memory::add(Buffers::iterator buffer) noexcept {
  residency_set::add(set_.get(), buffer->second.object.get());
  is_set_stale_ = true;
  used_ += static_cast<std::int64_t>(buffer->second.length);
}

Memory::Buffers::iterator Memory::erase(Buffers::iterator buffer) noexcept {
  residency_set::remove(set_.get(), buffer->second.object.get());
  is_set_stale_ = true;
  used_ -= static_cast<std::int64_t>(buffer->second.length);
  return buffers_.erase(buffer);
}

/// A graph over one buffer may have been bound to another that holds its memory, see `find`: that
/// one stays as long as the first.
bool Memory::is_wanted(Buffers::const_iterator buffer) const noexcept {
  const std::uintptr_t begin = buffer->first, end = begin + buffer->second.length;
  return std::ranges::any_of(buffers_, [&](const auto& other) {
    return other.second.owners > 0 && other.first < end &&
           begin < other.first + other.second.length;
  });
}

void Memory::drop(Buffers::iterator buffer) noexcept {
  if (--buffer->second.owners > 0) return;
  if (!overlap_) {
    erase(buffer);
    return;
  }
  for (auto next = buffers_.begin(); next != buffers_.end();) {
    const bool goes = next->second.owners == 0 && !is_wanted(next);
    next = goes ? erase(next) : std::next(next);
  }
}

void Memory::commit_residency() noexcept {
  const std::lock_guard lock(mutex_);
  if (is_set_stale_) residency_set::commit(set_.get());
  is_set_stale_ = false;
}

/// The buffer that reaches furthest of those that hold the address: a tensor that begins there lies
/// in it, whichever buffer it was made from.
Memory::Buffers::const_iterator Memory::find(const void* data) const noexcept {
  auto best = buffers_.end();
  std::uintptr_t furthest = key_of(data);  // where an operand without elements may begin
  for (auto next = buffers_.upper_bound(key_of(data)); next != buffers_.begin();) {
    --next;
    const std::uintptr_t end = next->first + next->second.length;
    if (end >= furthest) {
      best = next;
      furthest = end + 1;
    }
    if (!overlap_) break;
  }
  return best;
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

}  // namespace girih::inline v0::metal
