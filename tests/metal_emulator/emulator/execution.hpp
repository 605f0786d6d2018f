#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/fiber.hpp"
#include "emulator/kernel.hpp"
#include "emulator/launch.hpp"
#include "emulator/matrix_products.hpp"
#include "emulator/shadow.hpp"

// The state of the dispatch under way. One at a time in a process.

namespace girih::inline v0::emulator {

enum class LaneState : std::uint8_t { Ready, Waiting, Done };

struct Lane {
  explicit Lane(std::byte* stack) noexcept : fiber(stack) {}
  Fiber fiber;
  LaneState state = LaneState::Ready;
  LaneIds ids;
  Access place;              ///< of the lane's next access of threadgroup memory
  Access device_place;       ///< of device memory
  unsigned arrays = 0;       ///< threadgroup arrays declared so far
  std::uint32_t passed = 0;  ///< sites that `pass` was told of, since it began
  std::size_t products = 0;  ///< noted by this lane and not done
  Site waiting_at;
};

/// Lanes that meet: a SIMD group or the threadgroup.
struct Meeting {
  unsigned first = 0;  ///< lane
  unsigned arrived = 0, alive = 0;
  bool is_barrier = false;
  Site site;
  std::vector<void*> payloads;
  /// Of a SIMD group: what its lanes passed since all of them last met, and how many sites before.
  std::vector<Site> trail;
  std::uint32_t trail_begin = 0;
  std::vector<MatrixProduct> products;  ///< the first of them are noted, the others spare
};

struct ThreadgroupArray {
  Site site;
  std::byte* data;
  std::size_t bytes;
  Shadow* shadow;
};

struct Execution {
  const Kernel* kernel = nullptr;
  const Arguments* arguments = nullptr;
  // Numbers of threadgroups, as `Access` has them.
  std::uint32_t threadgroup = 0;        ///< that is running, or ran last
  std::uint32_t first_of_dispatch = 0;  ///< of this one
  std::uint32_t first_unordered = 0;    ///< after the last barrier between dispatches

  std::vector<Lane> lanes;
  unsigned lane_count = 0;
  Lane* lane = nullptr;  ///< that is running
  Meeting group;
  std::vector<Meeting> simd_groups;
  std::vector<ThreadgroupArray> arrays;
  std::size_t array_bytes = 0;
  std::optional<Finding> finding;
};
extern Execution the_execution;
inline Execution& execution() noexcept {
  return the_execution;
}

constexpr std::uint32_t kNumbersPerThreadgroup = kMaxThreads / kSimdWidth;
constexpr std::size_t kArenaBytes = 65536;
/// The stacks of all lanes, and what threadgroup arrays are cut from: mapped by the first dispatch.
struct Arenas {
  std::byte* stacks = nullptr;
  std::byte* threadgroup = nullptr;
};
extern Arenas the_arenas;
inline bool is_within(const void* address, const std::byte* first, std::size_t bytes) noexcept {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(first);
  return offset < bytes;
}
inline bool is_lane_stack(const void* address) noexcept {
  return is_within(address, the_arenas.stacks, kMaxThreads * Fiber::kStackStride);
}
inline bool is_threadgroup_memory(const void* address) noexcept {
  return is_within(address, the_arenas.threadgroup, kArenaBytes);
}

/// Checks one access of the running lane.
void check_access(const void* address, std::size_t bytes, bool is_write, bool is_atomic,
                  const Site& site);

/// Makes `count` lanes; they keep their stacks.
void reserve_lanes(unsigned count);
/// Body of every lane.
void run_lane();
/// Lets lanes run until all are done or something was found.
void schedule(std::vector<unsigned>& order, std::uint64_t seed);

}  // namespace girih::inline v0::emulator
