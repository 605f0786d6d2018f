#include "runtime/memory_pool.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "core/checked.hpp"
#include "core/error.hpp"

namespace girih::inline v0 {
namespace {

using detail::Storage;

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kMaxBlock = std::int64_t{1} << 62;
/// What the caller's allocator is asked for: as much as the strictest backend gives.
constexpr std::size_t kBlockAlignment = 256;

/// The bucket that holds `bytes`: the next multiple of an eighth of the power of two below.
std::int64_t bucket_capacity(std::int64_t bytes) noexcept {
  const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 512));
  const auto step = static_cast<std::int64_t>(std::bit_floor(size) / 8);
  return round_up(static_cast<std::int64_t>(size), step);
}

/// Calls the deleter at `context` and frees it.
void run_deleter(void* context) noexcept {
  const std::unique_ptr<std::function<void()>> deleter(
      static_cast<std::function<void()>*>(context));
  try {
    if (*deleter) (*deleter)();
  } catch (...) {  // dropped, as `ForeignMemory` says: nobody is left to tell
  }
}

}  // namespace

MemoryPool::MemoryPool(std::shared_ptr<Device> device, std::uint64_t runtime,
                       std::uint64_t cold_cache_bytes, const Allocator& allocator)
    : device_(std::move(device)),
      runtime_(runtime),
      cold_cache_bytes_(cold_cache_bytes),
      allocator_(allocator) {}

MemoryPool::~MemoryPool() {
  trim_locked(0);
}

Result<MemoryPool::StoragePtr> MemoryPool::allocate(std::int64_t bytes, Memory memory) noexcept {
  return memory == Memory::Bump ? allocate_bump(bytes) : allocate_block(bytes, memory, false);
}

Result<MemoryPool::StoragePtr> MemoryPool::allocate_scratch(std::int64_t bytes) noexcept {
  return allocate_block(bytes, Memory::Cold, true);
}

Result<MemoryPool::StoragePtr> MemoryPool::allocate_graph_scratch(std::int64_t bytes) noexcept {
  return allocate_block(bytes, Memory::Hot, true);
}

Result<MemoryPool::StoragePtr> MemoryPool::allocate_block(std::int64_t bytes, Memory memory,
                                                          bool scratch) noexcept try {
  if (bytes > kMaxBlock) return error(Code::OutOfMemory, "{} bytes are more than can exist", bytes);
  auto storage = std::make_shared<Storage>();
  const std::lock_guard lock(mutex_);
  storage->capacity = memory == Memory::Cold
                          ? bucket_capacity(bytes)
                          : round_up(std::max<std::int64_t>(bytes, 1), kAlignment);
  const Result<std::byte*> block = take_block(storage->capacity, memory == Memory::Cold);
  if (!block) return block.error();
  storage->data = *block;
  storage->bytes = bytes;
  storage->runtime = runtime_;
  storage->memory = memory;
  storage->scratch = scratch;
  storage->owner = shared_from_this();
  counter(*storage) += static_cast<std::uint64_t>(storage->capacity);
  return storage;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to describe an allocation");
}

Result<std::byte*> MemoryPool::take_block(std::int64_t capacity, bool recycle) noexcept {
  if (recycle) {
    const auto bucket = free_blocks_.find(capacity);
    if (bucket != free_blocks_.end() && !bucket->second.empty()) {
      std::byte* const block = bucket->second.back();
      bucket->second.pop_back();
      info_.cold_cached -= static_cast<std::uint64_t>(capacity);
      return block;
    }
  }
  Result<std::byte*> block = new_block(capacity);
  if (!block && info_.cold_cached > 0) {  // the cache may be what is in the way
    trim_locked(0);
    block = new_block(capacity);
  }
  if (block) ++info_.system_allocations;
  return block;
}

Result<std::byte*> MemoryPool::new_block(std::int64_t capacity) noexcept {
  if (allocator_.allocate == nullptr) return device_->allocate(capacity);
  const auto bytes = static_cast<std::size_t>(capacity);
  void* const block = allocator_.allocate(allocator_.context, bytes, kBlockAlignment);
  if (block == nullptr) {
    return error(Code::OutOfMemory, "the caller's allocator has no {} bytes", bytes);
  }
  if (const auto address = reinterpret_cast<std::uintptr_t>(block);
      address % kBlockAlignment != 0) {
    allocator_.release(allocator_.context, block, bytes);
    return error(Code::InvalidOption, "the caller's allocator gave {:#x}, not a multiple of {}",
                 address, kBlockAlignment);
  }
  return static_cast<std::byte*>(block);
}

void MemoryPool::free_block(std::byte* block, std::int64_t capacity) noexcept {
  if (allocator_.release == nullptr) return device_->release(block, capacity);
  allocator_.release(allocator_.context, block, static_cast<std::size_t>(capacity));
}

Result<MemoryPool::StoragePtr> MemoryPool::wrap(const NativeMemory& memory, std::int64_t bytes,
                                                DType dtype, std::function<void()> deleter) noexcept
    try {
  auto storage = std::make_shared<Storage>();
  auto kept = std::make_unique<std::function<void()>>(std::move(deleter));
  const Result<std::byte*> data = device_->import(memory, bytes);
  if (!data) return data.error();
  const std::uintptr_t element = bit_width(dtype) < 8 ? 1 : bit_width(dtype) / 8U;
  if (const auto address = reinterpret_cast<std::uintptr_t>(*data); address % element != 0) {
    device_->end_import(
        *data, bytes, [](void*) noexcept {}, nullptr);
    return error(Code::Unwrappable, "wrap: address {:#x} is no multiple of {}, the size of {}",
                 address, element, name(dtype));
  }
  storage->data = *data;
  storage->bytes = storage->capacity = bytes;
  storage->runtime = runtime_;
  storage->wrapped = true;
  storage->deleter = std::move(kept);
  storage->owner = shared_from_this();
  const std::lock_guard lock(mutex_);
  counter(*storage) += static_cast<std::uint64_t>(bytes);
  return storage;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to describe an allocation");
}

Result<MemoryPool::StoragePtr> MemoryPool::allocate_bump(std::int64_t bytes) noexcept try {
  auto storage = std::make_shared<Storage>();
  const std::lock_guard lock(mutex_);
  if (!slab_) return error(Code::OutOfMemory, "Bump memory: nothing reserved, see bump_reserve");
  const std::int64_t free = slab_->bytes - bump_used_;
  if (bytes > free || round_up(bytes, kAlignment) > free) {
    return error(Code::OutOfMemory, "Bump memory: {} bytes asked, {} of {} free", bytes, free,
                 slab_->bytes);
  }
  storage->data = slab_->data + bump_used_;
  storage->bytes = bytes;
  storage->runtime = runtime_;
  storage->memory = Memory::Bump;
  storage->parent = slab_;
  bump_used_ += round_up(bytes, kAlignment);
  return storage;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to describe an allocation");
}

Status MemoryPool::bump_reserve(std::int64_t bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (slab_ && slab_->bytes >= bytes) return {};
  }
  if (bytes > kMaxBlock) return error(Code::OutOfMemory, "{} bytes are more than can exist", bytes);
  Result<StoragePtr> slab = allocate_block(round_up(bytes, kAlignment), Memory::Bump, false);
  if (!slab) return slab.error();
  const std::lock_guard lock(mutex_);
  std::swap(slab_, *slab);  // the old slab goes with `slab`, or later with its last tensor
  bump_used_ = 0;
  return {};
}

Status MemoryPool::bump_reset() noexcept {
  std::int64_t capacity = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!slab_) return {};
    if (slab_.use_count() == 1) {
      bump_used_ = 0;
      return {};
    }
    capacity = slab_->bytes;
  }
  Result<StoragePtr> slab = allocate_block(capacity, Memory::Bump, false);
  if (!slab) return slab.error();
  const std::lock_guard lock(mutex_);
  std::swap(slab_, *slab);
  bump_used_ = 0;
  return {};
}

void MemoryPool::trim(std::uint64_t keep_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  trim_locked(keep_bytes);
}

void MemoryPool::trim_locked(std::uint64_t keep_bytes) noexcept {
  for (auto bucket = free_blocks_.rbegin(); bucket != free_blocks_.rend(); ++bucket) {
    auto& [capacity, blocks] = *bucket;
    while (!blocks.empty() && info_.cold_cached > keep_bytes) {
      free_block(blocks.back(), capacity);
      blocks.pop_back();
      info_.cold_cached -= static_cast<std::uint64_t>(capacity);
    }
  }
}

void MemoryPool::close() noexcept {
  StoragePtr slab;
  const std::lock_guard lock(mutex_);
  std::swap(slab, slab_);
}

MemoryInfo MemoryPool::info() const noexcept {
  const std::lock_guard lock(mutex_);
  MemoryInfo info = info_;
  info.bump_capacity = slab_ ? static_cast<std::uint64_t>(slab_->bytes) : 0;
  info.bump_used = static_cast<std::uint64_t>(bump_used_);
  return info;
}

void MemoryPool::reclaim(Storage& storage) noexcept {
  std::unique_lock lock(mutex_);
  const auto capacity = static_cast<std::uint64_t>(storage.capacity);
  counter(storage) -= capacity;
  if (storage.wrapped) {
    lock.unlock();
    device_->end_import(storage.data, storage.bytes, run_deleter, storage.deleter.release());
    return;
  }
  if (storage.memory == Memory::Cold && info_.cold_cached + capacity <= cold_cache_bytes_) {
    try {
      free_blocks_[storage.capacity].push_back(storage.data);
      info_.cold_cached += capacity;
      return;
    } catch (...) {  // no memory to remember the block: give it back instead
    }
  }
  free_block(storage.data, storage.capacity);
}

std::uint64_t& MemoryPool::counter(const Storage& storage) noexcept {
  if (storage.wrapped) return info_.wrapped;
  if (storage.scratch) return info_.scratch;
  switch (storage.memory) {
    case Memory::Hot:
      return info_.hot;
    case Memory::Bump:
      return info_.bump_held;
    case Memory::Cold:
      break;
  }
  return info_.cold;
}

}  // namespace girih::inline v0
