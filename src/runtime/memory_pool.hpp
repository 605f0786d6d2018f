#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/device.hpp"
#include "core/storage.hpp"

namespace girih::inline v0 {

/// All memory of one runtime. Cold blocks come in size buckets, eight to a power of two, so that at
/// most an eighth is wasted, and go to free lists when dropped; a free block is handed out again in
/// queue order. Thread-safe; deleters run outside its lock, the caller's allocator inside; outlives
/// the runtime as long as any tensor does.
class MemoryPool final : public detail::Storage::Owner,
                         public std::enable_shared_from_this<MemoryPool> {
 public:
  MemoryPool(std::shared_ptr<Device> device, std::uint64_t runtime, std::uint64_t cold_cache_bytes,
             const Allocator& allocator);
  ~MemoryPool() override;

  /// Uninitialised memory of at least `bytes` (>= 0), counted under its kind.
  Result<std::shared_ptr<detail::Storage>> allocate(std::int64_t bytes, Memory memory) noexcept;
  /// As Cold, but counted as scratch.
  Result<std::shared_ptr<detail::Storage>> allocate_scratch(std::int64_t bytes) noexcept;
  /// As Hot, but counted as scratch: for a graph that may run in another queue than this, so that
  /// no block is taken which queued work may still use.
  Result<std::shared_ptr<detail::Storage>> allocate_graph_scratch(std::int64_t bytes) noexcept;

  /// The caller's memory, `bytes` > 0 of it from `memory.byte_offset` on, for elements of `dtype`.
  /// On failure the deleter is destroyed without being called.
  Result<std::shared_ptr<detail::Storage>> wrap(const NativeMemory& memory, std::int64_t bytes,
                                                DType dtype,
                                                std::function<void()> deleter) noexcept;

  Status bump_reserve(std::int64_t bytes) noexcept;
  Status bump_reset() noexcept;
  /// Releases cached blocks, largest first, until at most `keep_bytes` are cached.
  void trim(std::uint64_t keep_bytes) noexcept;
  /// Drops the pool's own hold on Bump memory, which would otherwise keep the pool alive.
  void close() noexcept;
  [[nodiscard]] MemoryInfo info() const noexcept;

  void reclaim(detail::Storage& storage) noexcept override;

 private:
  using StoragePtr = std::shared_ptr<detail::Storage>;

  Result<StoragePtr> allocate_block(std::int64_t bytes, Memory memory, bool scratch) noexcept;
  Result<StoragePtr> allocate_bump(std::int64_t bytes) noexcept;
  Result<std::byte*> take_block(std::int64_t capacity, bool recycle) noexcept;
  /// A block from the caller's allocator, or else from the device.
  Result<std::byte*> new_block(std::int64_t capacity) noexcept;
  void free_block(std::byte* block, std::int64_t capacity) noexcept;
  void trim_locked(std::uint64_t keep_bytes) noexcept;
  std::uint64_t& counter(const detail::Storage& storage) noexcept;

  const std::shared_ptr<Device> device_;
  const std::uint64_t runtime_;
  const std::uint64_t cold_cache_bytes_;
  const Allocator allocator_;

  mutable std::mutex mutex_;
  std::map<std::int64_t, std::vector<std::byte*>> free_blocks_;  ///< by capacity
  MemoryInfo info_;
  StoragePtr slab_;  ///< of Bump tensors
  std::int64_t bump_used_ = 0;
};

}  // namespace girih::inline v0
