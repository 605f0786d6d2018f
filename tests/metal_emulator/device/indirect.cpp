#include "device/commands.hpp"
#include "emulator/memory.hpp"

namespace girih::inline v0::emulator {

IndirectCommands::IndirectCommands(std::size_t count, std::size_t buffers)
    : Allocation("MTLIndirectCommandBuffer", count * 64), most_buffers(buffers) {
  for (std::size_t i = 0; i < count; ++i) commands.push_back(create<IndirectCommand>());
}

void IndirectCommands::finish() {
  for (IndirectCommand* const command : commands) command->release();
  Allocation::finish();
}

void run_indirect(const Command& command) {
  {
    const BufferLock lock;
    const Buffer* const memory = find_buffer(command.indirect->data);
    if (memory == nullptr || !memory->is_resident) {
      throw Finding{"residency", "an indirect command buffer is in no residency set of the queue"};
    }
  }
  for (std::size_t i = command.first; i < command.first + command.count; ++i) {
    const IndirectCommand& one = *command.indirect->commands[i];
    if (!one.is_set) continue;  // an empty command does nothing
    if (one.has_barrier) order_dispatches();
    dispatch(one.pipeline->kernel, one.arguments, one.threadgroups, one.threads);
  }
}

namespace {

struct Size {
  unsigned long width, height, depth;
};
struct Descriptor final : Object {
  Descriptor() noexcept : Object("MTLIndirectCommandBufferDescriptor") {}
  unsigned long types = 0;
  bool inherits_buffers = true, inherits_pipeline = false;
  std::size_t most_buffers = 0;
};
constexpr unsigned long kConcurrentDispatch = 1UL << 5;

GIRIH_CLASS("MTLIndirectCommandBufferDescriptor", Descriptor);
GIRIH_METHOD("MTLIndirectCommandBufferDescriptor", "setCommandTypes:",
             [](Descriptor* self, Selector, unsigned long types) { self->types = types; });
GIRIH_METHOD("MTLIndirectCommandBufferDescriptor", "setInheritBuffers:",
             [](Descriptor* self, Selector, bool inherits) { self->inherits_buffers = inherits; });
GIRIH_METHOD("MTLIndirectCommandBufferDescriptor", "setInheritPipelineState:",
             [](Descriptor* self, Selector, bool inherits) { self->inherits_pipeline = inherits; });
GIRIH_METHOD("MTLIndirectCommandBufferDescriptor", "setMaxKernelBufferBindCount:",
             [](Descriptor* self, Selector, unsigned long count) { self->most_buffers = count; });

Object* new_commands(Object*, Selector, Descriptor* descriptor, unsigned long count,
                     unsigned long) {
  if ((descriptor->types & kConcurrentDispatch) == 0) {
    misuse("an indirect command buffer without the type of its commands");
  }
  if (descriptor->inherits_buffers || descriptor->inherits_pipeline) {
    misuse("inherited buffers and pipelines, which the emulator does not have");
  }
  return create<IndirectCommands>(count, descriptor->most_buffers);
}
GIRIH_METHOD("MTLDevice",
             "newIndirectCommandBufferWithDescriptor:maxCommandCount:options:", &new_commands);
GIRIH_METHOD("MTLIndirectCommandBuffer", "indirectComputeCommandAtIndex:",
             [](IndirectCommands* self, Selector, unsigned long index) -> Object* {
               if (index < self->commands.size()) return self->commands[index];
               misuse("command " + std::to_string(index) + " of an indirect command buffer of " +
                      std::to_string(self->commands.size()));
               return nullptr;
             });

GIRIH_METHOD("MTLIndirectComputeCommand",
             "setComputePipelineState:", [](IndirectCommand* self, Selector, Pipeline* pipeline) {
               if (!pipeline->is_indirect) {
                 misuse("a pipeline that was not made for indirect command buffers");
               }
               self->pipeline = pipeline;
             });
GIRIH_METHOD("MTLIndirectComputeCommand", "setKernelBuffer:offset:atIndex:",
             [](IndirectCommand* self, Selector, DeviceBuffer* buffer, unsigned long offset,
                unsigned long index) {
               if (index >= kMaxBuffers) return misuse("a buffer index beyond 30");
               self->arguments.buffers[index] = buffer->data + offset;
             });
GIRIH_METHOD("MTLIndirectComputeCommand", "setBarrier",
             [](IndirectCommand* self, Selector) { self->has_barrier = true; });
GIRIH_METHOD("MTLIndirectComputeCommand", "reset",
             [](IndirectCommand* self, Selector) { self->is_set = self->has_barrier = false; });

void set_dispatch(IndirectCommand* self, Selector, Size groups, Size threads) {
  if (self->pipeline == nullptr) return misuse("an indirect dispatch without a pipeline");
  const auto dim = [](const Size& size) {
    return Dim3{static_cast<unsigned>(size.width), static_cast<unsigned>(size.height),
                static_cast<unsigned>(size.depth)};
  };
  self->threadgroups = dim(groups);
  self->threads = dim(threads);
  self->is_set = true;
}
GIRIH_METHOD("MTLIndirectComputeCommand",
             "concurrentDispatchThreadgroups:threadsPerThreadgroup:", &set_dispatch);

}  // namespace
}  // namespace girih::inline v0::emulator
