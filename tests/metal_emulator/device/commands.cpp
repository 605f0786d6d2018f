#include "device/commands.hpp"

#include <algorithm>
#include <atomic>

#include "device/control.hpp"

namespace girih::inline v0::emulator {

struct ComputeEncoder final : Object {
  explicit ComputeEncoder(CommandBuffer* buffer) noexcept
      : Object("MTL4ComputeCommandEncoder"), commands(buffer) {}
  CommandBuffer* commands;
  ArgumentTable* table = nullptr;
  Pipeline* pipeline = nullptr;
  std::size_t threadgroup_bytes[kMaxBuffers] = {};
  bool is_open = true;
};

namespace {

struct Size {
  unsigned long width, height, depth;
};
struct Range {
  unsigned long location, length;
};

GIRIH_METHOD("MTLDevice", "newCommandAllocator",
             [](Object*, Selector) -> Object* { return create<CommandAllocator>(); });
GIRIH_METHOD("MTLDevice", "newCommandBuffer",
             [](Object*, Selector) -> Object* { return create<CommandBuffer>(); });
GIRIH_METHOD("MTL4CommandAllocator", "reset", [](CommandAllocator* self, Selector) {
  if (self->in_flight > 0) misuse("a command allocator is reset while the GPU reads from it");
  if (self->is_open) misuse("a command allocator is reset while a command buffer uses it");
});

GIRIH_METHOD("MTL4CommandBuffer", "beginCommandBufferWithAllocator:",
             [](CommandBuffer* self, Selector, CommandAllocator* allocator) {
               if (self->state == CommandBuffer::State::Open) misuse("begun twice");
               if (allocator->is_open) misuse("one allocator in two open command buffers");
               allocator->is_open = true;
               self->state = CommandBuffer::State::Open;
               self->allocator = allocator;
               self->commands.clear();
             });
GIRIH_METHOD("MTL4CommandBuffer", "computeCommandEncoder",
             [](CommandBuffer* self, Selector) -> Object* {
               if (self->state != CommandBuffer::State::Open) {
                 misuse("an encoder of a command buffer that was not begun");
                 return nullptr;
               }
               if (self->encoder != nullptr) misuse("the encoder before is still open");
               self->encoder = create<ComputeEncoder>(self);
               return autoreleased(self->encoder);
             });
GIRIH_METHOD("MTL4CommandBuffer", "endCommandBuffer", [](CommandBuffer* self, Selector) {
  if (self->state != CommandBuffer::State::Open) misuse("ended, but not begun");
  if (self->encoder != nullptr) misuse("ended with an open encoder");
  if (self->allocator != nullptr) self->allocator->is_open = false;
  self->state = CommandBuffer::State::Ended;
});

bool can_encode(const ComputeEncoder* self, const char* what) {
  if (!self->is_open) misuse(std::string(what) + " after endEncoding");
  return self->is_open;
}

GIRIH_METHOD("MTL4ComputeCommandEncoder", "setArgumentTable:",
             [](ComputeEncoder* self, Selector, ArgumentTable* table) { self->table = table; });
GIRIH_METHOD("MTL4ComputeCommandEncoder", "setComputePipelineState:",
             [](ComputeEncoder* self, Selector, Pipeline* pipeline) { self->pipeline = pipeline; });
GIRIH_METHOD("MTL4ComputeCommandEncoder", "endEncoding", [](ComputeEncoder* self, Selector) {
  if (!can_encode(self, "endEncoding")) return;
  self->is_open = false;
  self->commands->encoder = nullptr;
});

void dispatch_threadgroups(ComputeEncoder* self, Selector, Size groups, Size threads) {
  if (!can_encode(self, "a dispatch")) return;
  if (self->pipeline == nullptr) return misuse("a dispatch without a pipeline");
  if (self->table == nullptr) return misuse("a dispatch without an argument table");
  const auto dim = [](const Size& size) {
    return Dim3{static_cast<unsigned>(size.width), static_cast<unsigned>(size.height),
                static_cast<unsigned>(size.depth)};
  };
  Command command;
  command.kind = Command::Kind::Dispatch;
  command.kernel = &self->pipeline->kernel;
  command.threadgroups = dim(groups);
  command.threads = dim(threads);
  if (command.threadgroups.count() == 0) return misuse("a dispatch of no threadgroup");
  const std::vector<std::uint64_t>& addresses = self->table->addresses;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    command.arguments.buffers[i] = host_address(addresses[i]);
  }
  std::ranges::copy(self->threadgroup_bytes, command.arguments.threadgroup_bytes);
  self->commands->commands.push_back(command);
}
GIRIH_METHOD("MTL4ComputeCommandEncoder", "setThreadgroupMemoryLength:atIndex:",
             [](ComputeEncoder* self, Selector, unsigned long bytes, unsigned long index) {
               if (!can_encode(self, "setThreadgroupMemoryLength")) return;
               if (bytes % 16 != 0) misuse("threadgroup memory that is no multiple of 16 bytes");
               if (index >= kMaxBuffers) return misuse("threadgroup memory beyond index 30");
               self->threadgroup_bytes[index] = bytes;
             });
GIRIH_METHOD("MTL4ComputeCommandEncoder",
             "dispatchThreadgroups:threadsPerThreadgroup:", &dispatch_threadgroups);

GIRIH_METHOD("MTL4ComputeCommandEncoder", "fillBuffer:range:value:",
             [](ComputeEncoder* self, Selector, DeviceBuffer* buffer, Range range,
                std::uint8_t value) {
               if (!can_encode(self, "a fill")) return;
               if (range.location + range.length > buffer->bytes) misuse("a fill past its buffer");
               if (range.location % 4 != 0 || range.length % 4 != 0 || range.length == 0) {
                 misuse("a fill of " + std::to_string(range.length) + " bytes from " +
                        std::to_string(range.location) + " on: both must be multiples of 4");
               }
               Command command;
               command.kind = Command::Kind::Fill;
               command.data = buffer->data + range.location;
               command.bytes = range.length;
               command.value = value;
               self->commands->commands.push_back(command);
             });

GIRIH_METHOD("MTL4ComputeCommandEncoder", "executeCommandsInBuffer:withRange:",
             [](ComputeEncoder* self, Selector, IndirectCommands* indirect, Range range) {
               if (!can_encode(self, "executeCommandsInBuffer")) return;
               if (range.location + range.length > indirect->commands.size()) {
                 return misuse("a range past its indirect command buffer");
               }
               Command command;
               command.kind = Command::Kind::Indirect;
               command.indirect = indirect;
               command.first = range.location;
               command.count = range.length;
               self->commands->commands.push_back(command);
             });

constexpr unsigned long kDispatchStage = 1UL << 27;
constexpr unsigned long kBlitStage = 1UL << 28;
constexpr unsigned long kVisibleToDevice = 1;

void note_barrier(ComputeEncoder* self, unsigned long after, unsigned long before,
                  unsigned long visibility) {
  if (!can_encode(self, "a barrier")) return;
  if ((visibility & kVisibleToDevice) == 0) return;  // orders execution, but not memory
  constexpr unsigned long kBoth = kDispatchStage | kBlitStage;
  if ((after & kBoth) != kBoth || (before & kBoth) != kBoth) {
    misuse("a barrier that leaves out dispatches or blits, which the emulator does not tell apart");
  }
  self->commands->commands.push_back(Command{});
}
struct Barriers {
  std::atomic<int> encoded = 0;
  std::atomic<bool> are_ignored = false;
};
Barriers& barriers() noexcept {
  static Barriers instance;
  return instance;
}
GIRIH_METHOD("MTL4ComputeCommandEncoder",
             "barrierAfterEncoderStages:beforeEncoderStages:visibilityOptions:",
             [](ComputeEncoder* self, Selector, unsigned long after, unsigned long before,
                unsigned long visibility) {
               ++barriers().encoded;
               if (!barriers().are_ignored) note_barrier(self, after, before, visibility);
             });
GIRIH_METHOD("MTL4ComputeCommandEncoder", "barrierAfterQueueStages:beforeStages:visibilityOptions:",
             [](ComputeEncoder* self, Selector, unsigned long after, unsigned long before,
                unsigned long visibility) { note_barrier(self, after, before, visibility); });

}  // namespace

int encoded_barriers() noexcept {
  return barriers().encoded;
}

void ignore_barriers(bool ignores_barriers) noexcept {
  barriers().are_ignored = ignores_barriers;
}

}  // namespace girih::inline v0::emulator
