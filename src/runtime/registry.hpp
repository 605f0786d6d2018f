#pragma once

#include <memory>

#include <girih/runtime.hpp>

#include "backends/device.hpp"
#include "core/environment.hpp"

namespace girih::inline v0 {

/// Opens the device that the options ask for; the only code that names the backends.
Result<std::shared_ptr<Device>> open_device(const RuntimeOptions& options,
                                            const Environment& environment) noexcept;
/// What is known of this machine's accelerator without compiling or launching anything.
struct AcceleratorState {
  bool is_built = false;  ///< the build has a backend for one
  bool is_present = false;
  bool is_usable = false;
  Backend backend = Backend::None;
  std::string name;
};
AcceleratorState probe_accelerator() noexcept;
/// The kernel rows of a backend, built here or not; empty for one that girih does not have.
std::span<const KernelInfo> kernels_of(Backend backend) noexcept;

}  // namespace girih::inline v0
