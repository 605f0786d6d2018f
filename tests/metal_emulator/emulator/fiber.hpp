#pragma once

#include <cstddef>

namespace girih::inline v0::emulator {

/// A stack and a place on it: one lane of a threadgroup. Switching costs a dozen instructions.
class Fiber {
 public:
  /// A lane needs little: kernels keep tiles in threadgroup memory or cooperative tensors.
  static constexpr std::size_t kStackBytes = std::size_t{64} * 1024;
  /// From one stack to the next: 33 cache lines more, because the tops of stacks a power of two
  /// apart would all share a few sets of every cache.
  static constexpr std::size_t kStackStride = kStackBytes + 33 * 64;

  explicit Fiber(std::byte* stack) noexcept : stack_(stack) {}

  /// Starts anew: the next `resume` calls `entry`, which must never return and begins with
  /// `started`.
  void prepare(void (*entry)()) noexcept;
  void started() noexcept;
  /// Runs the fiber until it yields.
  void resume() noexcept;
  /// Called on the fiber's own stack: goes back to whoever resumed it.
  void yield() noexcept;

 private:
  std::byte* stack_;
  void* position_ = nullptr;
  void* caller_ = nullptr;
  const void* caller_stack_ = nullptr;  ///< known with the address sanitizer only
  std::size_t caller_bytes_ = 0;
};

}  // namespace girih::inline v0::emulator
