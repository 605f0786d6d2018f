#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
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
  /// `bytes` from `offset` on of a buffer of the caller's, retained while it is here, or again of
  /// one that was allocated here; their address on the host. Buffers may overlap there. OutOfMemory
  /// if all together exceed the working set; Unwrappable if the host does not see the buffer, or it
  /// is shorter.
  Result<std::byte*> import(id object, std::int64_t offset, std::int64_t bytes) noexcept;
  using Done = void (*)(void* context) noexcept;
  /// From any thread. What was allocated goes once the queue has passed `tick`.
  void retire(std::byte* data, std::uint64_t tick) noexcept;
  /// The same of what was imported; `done` is called then.
  void end_import(std::byte* data, std::int64_t bytes, std::uint64_t tick, Done done,
                  void* context) noexcept;
  /// From any thread. Calls `done(context)` once the queue has passed `tick`.
  void after(std::uint64_t tick, Done done, void* context) noexcept;
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

 private:
  struct Buffer {
    Ref object;
    UInt length = 0;
    std::uint64_t address = 0;
    bool is_allocated = false;  ///< here
    int owners = 0;             ///< its allocation, and each import
  };
  using Buffers = std::multimap<std::uintptr_t, Buffer>;  ///< by first byte
  using Range = std::pair<std::uintptr_t, std::int64_t>;
  struct Retired {
    std::optional<Buffers::iterator> buffer;
    std::uint64_t tick;
    Done done;
    void* context;
  };
  Status check_room(std::int64_t bytes) const noexcept;
  void add(Buffers::iterator buffer) noexcept;
  void drop(Buffers::iterator buffer) noexcept;
  Buffers::iterator erase(Buffers::iterator buffer) noexcept;
  [[nodiscard]] bool is_wanted(Buffers::const_iterator buffer) const noexcept;
  [[nodiscard]] Buffers::const_iterator find(const void* data) const noexcept;

  id device_ = nullptr;
  Ref set_;
  bool is_set_stale_ = false;
  std::int64_t limit_ = 0, longest_ = 0, used_ = 0;
  mutable std::mutex mutex_;
  Buffers buffers_;
  std::multimap<Range, Buffers::iterator> imports_;
  bool overlap_ = false;  ///< two buffers have memory in common, or had
  std::vector<Retired> retired_;
};

}  // namespace girih::inline v0::metal
