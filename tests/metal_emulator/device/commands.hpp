#pragma once

#include <vector>

#include "device/compiler.hpp"
#include "device/resources.hpp"

namespace girih::inline v0::emulator {

struct IndirectCommands;

/// One thing that a command buffer does. Arguments are as they were when it was encoded; nothing
/// that it uses is kept alive by it.
struct Command {
  enum class Kind : std::uint8_t { Dispatch, Fill, Barrier, Indirect };
  Kind kind = Kind::Barrier;
  const Kernel* kernel = nullptr;
  Arguments arguments;
  Dim3 threadgroups, threads;
  std::byte* data = nullptr;  ///< of a fill
  std::size_t bytes = 0;
  std::uint8_t value = 0;
  IndirectCommands* indirect = nullptr;  ///< commands [first, first + count) of it
  std::size_t first = 0, count = 0;
};

struct CommandAllocator final : Object {
  CommandAllocator() noexcept : Object("MTL4CommandAllocator") {}
  int in_flight = 0;
  bool is_open = false;
};

/// A command of an indirect command buffer. Commands run in order only where one has a barrier.
struct IndirectCommand final : Object {
  IndirectCommand() noexcept : Object("MTLIndirectComputeCommand") {}
  bool is_set = false, has_barrier = false;
  Pipeline* pipeline = nullptr;
  Arguments arguments;
  Dim3 threadgroups, threads;
};
struct IndirectCommands final : Allocation {
  IndirectCommands(std::size_t count, std::size_t buffers);
  void finish() override;
  std::vector<IndirectCommand*> commands;
  std::size_t most_buffers;
};
/// Runs what an encoder's executeCommandsInBuffer asked for.
void run_indirect(const Command& command);

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
