#include <cctype>

#include "backends/metal/device.hpp"
#include "backends/metal/metal4.hpp"

namespace girih::inline v0::metal {
namespace {

/// Generation of the GPU in a name like "applegpu_g17s"; 0 if it has none.
int generation_of(const std::string& architecture) {
  const std::size_t mark = architecture.find("_g");
  if (mark == std::string::npos) return 0;
  int generation = 0;
  for (std::size_t i = mark + 2;
       i < architecture.size() && std::isdigit(static_cast<unsigned char>(architecture[i])) != 0;
       ++i) {
    generation = generation * 10 + (architecture[i] - '0');
  }
  return generation;
}

/// The M5 and A19 are the first with a matrix unit that TensorOps reach.
constexpr int kFirstWithMatrixUnit = 17;

}  // namespace

bool is_built() noexcept {
  return true;
}

Probe probe(void* handle) {
  const Pool pool;
  Probe result;
  const Ref device =
      handle != nullptr ? Ref::retained(handle) : Ref(MTLCreateSystemDefaultDevice());
  if (!device) {
    result.presence = Presence::None;
    result.reason = "no Metal device";
    return result;
  }
  DeviceInfo& info = result.info;
  info.backend = Backend::Metal;
  info.name = from_string(device::name(device.get()));
  info.memory_bytes = static_cast<std::int64_t>(device::working_set(device.get()));
  // Metal tells none of these three. They only order the candidates.
  info.multiprocessors = 16;
  info.clock_ghz = 1.5;
  info.memory_gb_per_s = 200;
  if (!device::supports_family(device.get(), kFamilyMetal4)) {
    result.presence = Presence::Unusable;
    result.reason = info.name + " has no Metal 4: it takes macOS 26 and an Apple GPU";
    return result;
  }
  info.features.add(Feature::Metal4);
  const id architecture = device::architecture(device.get());
  const int generation =
      architecture != nullptr ? generation_of(from_string(architecture::name(architecture))) : 0;
  if (generation >= kFirstWithMatrixUnit) info.features.add(Feature::TensorOps);
  result.presence = Presence::Usable;
  return result;
}

}  // namespace girih::inline v0::metal
