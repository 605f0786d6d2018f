#pragma once

#include <memory>
#include <span>
#include <string>

#include "backends/device.hpp"

namespace girih::inline v0::metal {

enum class Presence : std::uint8_t {
  NotBuilt,  ///< this build has no metal backend
  None,      ///< no device
  Unusable,  ///< a device is there, but it or the system lacks Metal 4
  Usable,
};

/// What is known of this machine's GPU. Nothing is compiled, launched or allocated on it.
struct Probe {
  Presence presence = Presence::NotBuilt;
  std::string reason;  ///< empty if usable
  DeviceInfo info;     ///< of the default device, if there is one
};
Probe probe();

/// The rows of `kernels.inc`, built here or not.
std::span<const KernelInfo> kernel_table() noexcept;
/// True if this build can drive a device.
bool is_built() noexcept;

/// The default device, with a queue of its own. BackendUnavailable with the reason if there is none
/// that can be used.
Result<std::unique_ptr<Device>> open() noexcept;

}  // namespace girih::inline v0::metal
