#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "backends/cuda/counters.hpp"
#include "backends/device.hpp"

namespace girih::inline v0::cuda {

enum class Presence : std::uint8_t {
  NotBuilt,  ///< this build has no cuda backend
  None,      ///< no driver, or no device
  Unusable,  ///< a device is there, but this build or its driver cannot run on it
  Usable,
};

/// What is known of this machine's GPU. Nothing is compiled, launched or allocated on it.
struct Probe {
  Presence presence = Presence::NotBuilt;
  std::string reason;  ///< empty if usable
  DeviceInfo info;     ///< of the device, if there is one
};
Probe probe(int device = 0);

/// The rows of `kernels.inc`, built here or not.
std::span<const KernelInfo> kernel_table() noexcept;
/// True if this build holds the code of the rows.
bool is_built() noexcept;

/// The caller's device, context and stream, or the first device with a stream of its own; a memory
/// pool in any case. BackendUnavailable with the reason if the device cannot be used; InvalidOption
/// if the handles do not belong together.
Result<std::unique_ptr<Device>> open(const std::optional<CudaHandles>& handles) noexcept;
/// Of a device that `open` made.
Counters counters(const Device& device) noexcept;

}  // namespace girih::inline v0::cuda
