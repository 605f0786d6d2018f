#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include <girih/status.hpp>

#include "backends/metal/hazards.hpp"
#include "backends/metal/metal4.hpp"

namespace girih::inline v0::metal {

/// The buffers of one device: memory that host and GPU share, known by its address on the host. The
/// GPU has another address for it. A buffer is made resident once, with the others in one set.
class Memory {
 public:
  Status start(id device) noexcept;
  [[nodiscard]] id residency_set() const noexcept { return set_.get(); }

  /// OutOfMemory if `bytes` exceed what one buffer, or all together, may take.
  Result<std::byte*> allocate(std::int64_t bytes) noexcept;
  /// A buffer of the caller's, retained while it is here, or again one that was allocated here; its
  /// address on the host. Unwrappable if
  /// the host does not see it, or it is shorter than `bytes`.
  Result<std::byte*> import(id object, std::int64_t bytes) noexcept;
  using Done = void (*)(void* context) noexcept;
  /// From any thread. The buffer goes, and `done` is called, once the queue has passed `tick`.
  void retire(std::byte* data, std::uint64_t tick, Done done = nullptr,
              void* context = nullptr) noexcept;
  /// Gives back what was retired up to `completed`.
  void reap(std::uint64_t completed) noexcept;
  /// Makes what was allocated known to the queue.
  void commit_residency() noexcept;

  /// Address on the GPU of memory in a buffer.
  [[nodiscard]] std::uint64_t gpu_address(const void* data) const noexcept;
  struct Place {
    id buffer;
    UInt offset;
  };
  [[nodiscard]] Place place_of(const void* data) const noexcept;
  /// All of the buffer that holds the address.
  [[nodiscard]] Use use_of(const void* data, bool writes) const noexcept;
  /// First byte of the buffer that holds the address; the address itself if there is none.
  [[nodiscard]] std::byte* base_of(std::byte* data) const noexcept;

 private:
  struct Buffer {
    Ref object;
    std::int64_t bytes = 0;  ///< counted; 0 for one of the caller's
    UInt length = 0;
    std::uint64_t address = 0;
    int owners = 0;  ///< its allocation, and each import
  };
  struct Retired {
    std::uintptr_t data;
    std::uint64_t tick;
    Done done;
    void* context;
  };
  using Buffers = std::map<std::uintptr_t, Buffer>;
  void drop(std::uintptr_t data) noexcept;
  [[nodiscard]] Buffers::const_iterator find(const void* data) const noexcept;

  id device_ = nullptr;
  Ref set_;
  bool is_set_stale_ = false;
  std::int64_t limit_ = 0, longest_ = 0, used_ = 0;
  mutable std::mutex mutex_;
  Buffers buffers_;
  std::vector<Retired> retired_;
};

}  // namespace girih::inline v0::metal
