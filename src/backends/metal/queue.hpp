#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "backends/metal/feedback.hpp"
#include "backends/metal/launch.hpp"
#include "backends/metal/memory.hpp"
#include "backends/metal/pipelines.hpp"

namespace girih::inline v0::metal {

/// What a launch uses.
struct Uses {
  std::array<Use, Launch::kMostBuffers> all;
  std::size_t count = 0;
  [[nodiscard]] std::span<const Use> get() const noexcept { return std::span(all).first(count); }
};

/// A launch whose pipeline is made and whose arguments lie in a table of its own.
struct Prepared {
  id pipeline = nullptr;
  Ref table;
  Uses uses;
  Size threadgroups{1, 1, 1};
  Size threads{1, 1, 1};
  UInt threadgroup_bytes = 0;
  double seconds = 0;
};

/// What `bytes` of constants take: each begins at a multiple of 256.
constexpr std::size_t aligned_constants(std::size_t bytes) noexcept {
  constexpr std::size_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
/// Bytes that Metal's fill counts in.
constexpr std::int64_t kFillUnit = 4;

/// The in-order queue: everything that is encoded, committed and waited for goes through here. Work
/// is gathered in one command buffer, which is committed when it is asked for, when its constants
/// are used up, or when it would run for long.
class Queue {
 public:
  /// `queue` is the caller's, or null.
  Status start(id device, id queue, Memory& memory, Pipelines& pipelines) noexcept;
  ~Queue();
  [[nodiscard]] id object() const noexcept { return queue_.get(); }

  Status encode(const Launch& launch) noexcept;
  Status encode(const Prepared& launch) noexcept;
  /// From a multiple of kFillUnit in its buffer on, such a multiple of bytes.
  Status fill(std::byte* data, std::int64_t bytes, std::uint8_t value) noexcept;
  /// Copies of the host's bytes that can be read by the next launch to be encoded.
  static constexpr std::size_t kMostStaged = std::size_t{128} * 1024;
  Result<const std::byte*> stage(const void* data, std::size_t bytes) noexcept;

  /// Hands over what was encoded, and marks it.
  Status submit(std::uint64_t value) noexcept;
  Result<bool> completed(std::uint64_t value) noexcept;
  Status wait(std::uint64_t value) noexcept;
  /// Raises the caller's event after what was encoded; waits for it before what comes.
  Status signal(id event, std::uint64_t value) noexcept;
  Status await(id event, std::uint64_t value) noexcept;
  /// Waits for everything that was encoded, and for the caller's events.
  Status drain() noexcept;
  /// True if there is nothing to wait for.
  [[nodiscard]] bool is_idle() const noexcept;
  /// Before what the GPU may use goes: waits for everything that was encoded; after a failure, for
  /// what was committed, and forgets the rest. Gives memory back, unless the GPU still works on it.
  void settle() noexcept;
  /// Forgets a failure and what was not committed; on a new queue unless it is the caller's.
  /// TimedOut while the GPU still works on what was committed.
  Status recover() noexcept;

  /// Of the newest work: memory that it uses may go when this has passed. From any thread.
  [[nodiscard]] std::uint64_t tick() const noexcept { return newest_.load(); }
  [[nodiscard]] std::uint64_t completed_tick() const noexcept;

  /// A table with room for every binding.
  Result<Ref> make_table() const noexcept;
  /// Binds a launch's buffers; `parameters` is the GPU address of its parameters.
  Status bind(id table, const Launch& launch, std::uint64_t parameters) const noexcept;
  [[nodiscard]] Uses uses_of(const Launch& launch) const noexcept;

 private:
  /// One command buffer and what it needs until it has run.
  struct Slot {
    Ref allocator, commands;
    std::byte* constants = nullptr;
    std::uint64_t tick = 0;  ///< 0: never used
  };
  static constexpr int kSlots = 4;
  static constexpr std::size_t kConstantBytes = std::size_t{256} * 1024;

  Status begin() noexcept;
  Status commit() noexcept;
  Status wait_for(id event, std::uint64_t value) noexcept;
  Status hear_reports() noexcept;
  Status room_for(std::size_t bytes, double seconds) noexcept;
  void order(std::span<const Use> uses) noexcept;
  Status open_queue(id queue) noexcept;
  Status make_commands() noexcept;
  [[nodiscard]] bool has_ended() const noexcept;
  void discard() noexcept;
  const std::byte* place_constants(const void* data, std::size_t bytes) noexcept;
  /// What `Launch` and `Prepared` share: the extents, and the memory of the threadgroup.
  template <class L>
  Status dispatch(id pipeline, id table, const Uses& uses, const L& launch) noexcept;

  id device_ = nullptr;
  Memory* memory_ = nullptr;
  Pipelines* pipelines_ = nullptr;
  Ref queue_, table_, ticks_, submissions_, encoder_;
  std::array<Slot, kSlots> slots_;
  Feedback feedback_;
  Hazards hazards_;
  bool is_callers_ = false;
  bool awaits_ = false;  ///< the caller's event, and nothing was committed since
  std::uint64_t submitted_ = 0;
  std::size_t used_constants_ = 0;
  /// The first work that `completed` saw done but not reported, and when.
  struct Unheard {
    std::uint64_t tick;
    std::chrono::steady_clock::time_point since;
  };
  std::optional<Unheard> unheard_;
  double seconds_ = 0;                     ///< predicted, of the open command buffer
  bool is_first_ = true;                   ///< nothing is in the open command buffer
  std::uint64_t tick_ = 0;                 ///< of the last commit
  std::atomic<std::uint64_t> newest_ = 0;  ///< of the open command buffer, or else the last one
};

/// Encodes at once.
class QueueSink final : public LaunchSink {
 public:
  explicit QueueSink(Queue& queue) noexcept : queue_(queue) {}
  Status add(const Launch& launch) noexcept override { return queue_.encode(launch); }

 private:
  Queue& queue_;
};

}  // namespace girih::inline v0::metal
