#include "device/resources.hpp"

#include <atomic>

#include "device/control.hpp"
#include "device/queue.hpp"

namespace girih::inline v0::emulator {

Allocation::Allocation(const char* name, std::size_t length)
    : Object(name),
      data(allocate_buffer(length, std::string(name) + " of " + std::to_string(length) + " bytes")),
      bytes(length) {}

void Allocation::finish() {
  free_buffer(data);
}

namespace {

struct ResidencySetDescriptor final : Object {
  ResidencySetDescriptor() noexcept : Object("MTLResidencySetDescriptor") {}
};
struct ArgumentTableDescriptor final : Object {
  ArgumentTableDescriptor() noexcept : Object("MTL4ArgumentTableDescriptor") {}
  std::size_t count = 0;
};
GIRIH_CLASS("MTLResidencySetDescriptor", ResidencySetDescriptor);
GIRIH_METHOD("MTLResidencySetDescriptor",
             "setInitialCapacity:", [](Object*, Selector, unsigned long) {});
GIRIH_CLASS("MTL4ArgumentTableDescriptor", ArgumentTableDescriptor);
GIRIH_METHOD("MTL4ArgumentTableDescriptor", "setMaxBufferBindCount:",
             [](ArgumentTableDescriptor* self, Selector, unsigned long count) {
               if (count > 31) misuse("more than 31 buffers in an argument table");
               self->count = count;
             });

GIRIH_METHOD("MTLDevice", "newBufferWithLength:options:",
             [](Object*, Selector, unsigned long length, unsigned long) -> Object* {
               if (length == 0 || length > device_properties().longest_buffer) return nullptr;
               return create<DeviceBuffer>(length);
             });
GIRIH_METHOD("MTLDevice", "newBufferWithBytesNoCopy:length:options:deallocator:",
             [](Object*, Selector, std::byte* memory, unsigned long length, unsigned long,
                void*) -> Object* {
               std::byte* const shared =
                   share_buffer(memory, length, "MTLBuffer over " + std::to_string(length));
               if (shared != nullptr) return create<DeviceBuffer>(shared, length, memory);
               misuse("newBufferWithBytesNoCopy takes whole pages of shared memory");
               return nullptr;
             });
GIRIH_METHOD("MTLBuffer", "contents",
             [](DeviceBuffer* self, Selector) -> void* { return self->contents; });
GIRIH_METHOD("MTLBuffer", "length",
             [](DeviceBuffer* self, Selector) -> unsigned long { return self->bytes; });
GIRIH_METHOD("MTLBuffer", "gpuAddress", [](DeviceBuffer* self, Selector) -> std::uint64_t {
  return reinterpret_cast<std::uint64_t>(self->data) + kGpuOffset;
});

std::atomic<int>& changes() noexcept {
  static std::atomic<int> count = 0;
  return count;
}
GIRIH_METHOD("MTLDevice", "newResidencySetWithDescriptor:error:",
             [](Object*, Selector, Object*, Object**) -> Object* {
               return create<ResidencySet>();
             });
GIRIH_METHOD("MTLResidencySet",
             "addAllocation:", [](ResidencySet* self, Selector, Allocation* buffer) {
               ++changes();
               self->wanted.insert(buffer->data);
             });
GIRIH_METHOD("MTLResidencySet",
             "removeAllocation:", [](ResidencySet* self, Selector, Allocation* buffer) {
               ++changes();
               if (self->wanted.erase(buffer->data) == 0) {
                 misuse("an allocation is removed that is not in the residency set");
               }
             });
GIRIH_METHOD("MTLResidencySet", "commit", [](ResidencySet* self, Selector) {
  ++changes();
  self->committed = self->wanted;
});

GIRIH_METHOD("MTLDevice", "newArgumentTableWithDescriptor:error:",
             [](Object*, Selector, ArgumentTableDescriptor* descriptor, Object**) -> Object* {
               return create<ArgumentTable>(descriptor->count);
             });
GIRIH_METHOD("MTL4ArgumentTable", "setAddress:atIndex:",
             [](ArgumentTable* self, Selector, std::uint64_t address, unsigned long index) {
               if (index >= self->addresses.size()) {
                 return misuse("argument table index " + std::to_string(index) + " of " +
                               std::to_string(self->addresses.size()));
               }
               self->addresses[index] = address;
             });

GIRIH_METHOD("MTLDevice", "newSharedEvent",
             [](Object*, Selector) -> Object* { return create<SharedEvent>(); });
GIRIH_METHOD("MTLSharedEvent", "setSignaledValue:",
             [](SharedEvent* self, Selector, std::uint64_t value) { self->value = value; });
GIRIH_METHOD("MTLSharedEvent", "signaledValue", [](SharedEvent* self, Selector) -> std::uint64_t {
  // Work is done as late as possible, but somebody who only polls must see it done one day.
  constexpr int kPatience = 50;
  if (++self->polls > kPatience) {
    self->polls = 0;
    run_until(*self, self->value + 1);
  }
  return self->value;
});
GIRIH_METHOD("MTLSharedEvent", "waitUntilSignaledValue:timeoutMS:",
             [](SharedEvent* self, Selector, std::uint64_t value, std::uint64_t) -> bool {
               run_until(*self, value);
               return self->value >= value;
             });

}  // namespace

int residency_changes() noexcept {
  return changes();
}

}  // namespace girih::inline v0::emulator
