#pragma once

#include <vector>

#include "device/compiler.hpp"
#include "device/resources.hpp"

namespace girih::inline v0::emulator {

/// One thing that a command buffer does. Arguments are as they were when it was encoded; nothing
/// that it uses is kept alive by it.
struct Command {
  enum class Kind : std::uint8_t { Dispatch, Fill, Barrier };
  Kind kind = Kind::Barrier;
  const Kernel* kernel = nullptr;
  Arguments arguments;
  Dim3 threadgroups, threads;
  std::byte* data = nullptr;  ///< of a fill
  std::size_t bytes = 0;
  std::uint8_t value = 0;
};

struct CommandAllocator final : Object {
  CommandAllocator() noexcept : Object("MTL4CommandAllocator") {}
  int in_flight = 0;
  bool is_open = false;
};

struct ComputeEncoder;

struct CommandBuffer final : Object {
  CommandBuffer() noexcept : Object("MTL4CommandBuffer") {}
  enum class State : std::uint8_t { Idle, Open, Ended };
  State state = State::Idle;
  CommandAllocator* allocator = nullptr;
  ComputeEncoder* encoder = nullptr;  ///< that is open
  std::vector<Command> commands;
};

}  // namespace girih::inline v0::emulator
