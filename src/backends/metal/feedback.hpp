#pragma once

#include <chrono>
#include <cstdint>

#include <girih/status.hpp>

#include "backends/metal/metal4.hpp"

namespace girih::inline v0::metal {

/// What the queue reports of command buffers that failed. Reports arrive on a thread of the system,
/// possibly after everybody else is gone.
class Feedback {
 public:
  Feedback();
  Feedback(const Feedback&) = delete;
  Feedback& operator=(const Feedback&) = delete;
  ~Feedback();

  /// MTL4CommitOptions that report here.
  [[nodiscard]] id options() const noexcept { return options_.get(); }
  /// The first failure: TimedOut, GpuInterrupted (the system took the GPU back for its display),
  /// GpuOutOfMemory or DeviceFailed, with the system's text.
  [[nodiscard]] Status status() const noexcept;
  /// Command buffers that were reported, failed or not, of those since the start.
  [[nodiscard]] std::uint64_t finished() const noexcept;
  /// Waits until so many were. False if they were not in time.
  bool wait(std::uint64_t count, std::chrono::milliseconds patience) const noexcept;
  /// Forgets what was reported, and counts from `finished` on. Reports still to come of earlier
  /// command buffers are not heard.
  Status restart(std::uint64_t finished) noexcept;

  struct State;

 private:
  Status listen(std::uint64_t finished) noexcept;

  State* state_ = nullptr;
  Ref options_;
};

}  // namespace girih::inline v0::metal
