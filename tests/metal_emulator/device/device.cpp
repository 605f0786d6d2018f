#include "device/control.hpp"
#include "device/object.hpp"

namespace girih::inline v0::emulator {

DeviceProperties& device_properties() noexcept {
  static DeviceProperties instance;
  return instance;
}

namespace {

struct Device final : Object {
  Device() noexcept : Object("MTLDevice") {}
};
struct Architecture final : Object {
  Architecture() noexcept : Object("MTLArchitecture") {}
};

GIRIH_METHOD("MTLDevice", "name", [](Object*, Selector) -> Object* {
  return autoreleased(create<String>(device_properties().name));
});
GIRIH_METHOD("MTLDevice", "architecture",
             [](Object*, Selector) -> Object* { return autoreleased(create<Architecture>()); });
GIRIH_METHOD("MTLArchitecture", "name", [](Object*, Selector) -> Object* {
  return autoreleased(create<String>(device_properties().architecture));
});
GIRIH_METHOD("MTLDevice", "supportsFamily:", [](Object*, Selector, long family) -> bool {
  constexpr long kMetal4 = 5002;
  return family < kMetal4 || (family == kMetal4 && device_properties().has_metal4);
});
GIRIH_METHOD("MTLDevice", "recommendedMaxWorkingSetSize",
             [](Object*, Selector) -> std::uint64_t { return device_properties().working_set; });
GIRIH_METHOD("MTLDevice", "maxBufferLength",
             [](Object*, Selector) -> unsigned long { return device_properties().longest_buffer; });
GIRIH_METHOD("MTLDevice", "maxThreadgroupMemoryLength",
             [](Object*, Selector) -> unsigned long { return 32768; });

}  // namespace
}  // namespace girih::inline v0::emulator

extern "C" void* MTLCreateSystemDefaultDevice() {
  using namespace girih::emulator;
  return device_properties().is_there ? create<Device>() : nullptr;
}
