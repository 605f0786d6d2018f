#include "backends/cuda/device.hpp"
#include "core/error.hpp"

// The backend of a build without the CUDA toolkit.

namespace girih::inline v0::cuda {

Probe probe(int) {
  return {.presence = Presence::NotBuilt, .reason = "not part of this build", .info = {}};
}

bool is_built() noexcept {
  return false;
}

Result<std::unique_ptr<Device>> open(const std::optional<CudaHandles>&) noexcept {
  return error(Code::BackendUnavailable, "backend cuda: not part of this build");
}

Counters counters(const Device&) noexcept {
  return {};
}

}  // namespace girih::inline v0::cuda
