#include "backends/metal/device.hpp"
#include "core/error.hpp"

// The backend of a build for another system than macOS.

namespace girih::inline v0::metal {

Probe probe(void*) {
  return {.presence = Presence::NotBuilt, .reason = "not part of this build", .info = {}};
}

bool is_built() noexcept {
  return false;
}

Result<std::unique_ptr<Device>> open(const std::optional<MetalHandles>&) noexcept {
  return error(Code::BackendUnavailable, "backend metal: not part of this build");
}

}  // namespace girih::inline v0::metal
