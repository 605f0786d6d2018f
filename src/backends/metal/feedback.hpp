#pragma once

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
  /// Command buffers that were reported, failed or not.
  [[nodiscard]] std::uint64_t finished() const noexcept;
  /// Forgets the failure.
  void clear() noexcept;

  struct State;

 private:
  State* state_;
  Ref options_;
};

}  // namespace girih::inline v0::metal
