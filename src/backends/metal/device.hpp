#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include <girih/foreign.hpp>

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
  DeviceInfo info;     ///< of the device, if there is one
};
/// Of an id<MTLDevice>; null: of the system's default one.
Probe probe(void* device = nullptr);

/// The rows of `kernels.inc`, built here or not.
std::span<const KernelInfo> kernel_table() noexcept;
/// True if this build can drive a device.
bool is_built() noexcept;

/// The caller's device or the default one, with the caller's queue or one of its own, and kernels
/// compiled from their text or loaded from the caller's metallib.
/// BackendUnavailable with the reason if it cannot be used; InvalidOption for a queue that is not
/// Metal 4's, or of another device.
Result<std::unique_ptr<Device>> open(const std::optional<MetalHandles>& handles) noexcept;

}  // namespace girih::inline v0::metal
