#pragma once

#include <memory>
#include <span>

#include <girih/executor.hpp>

#include "backends/device.hpp"

namespace girih::inline v0::cpu {

/// This machine's CPU: features that the hardware and the system both grant, caches, cores.
DeviceInfo probe();
/// The rows of `kernels.inc`, of every target, built here or not.
std::span<const KernelInfo> kernel_table() noexcept;
/// True if this build holds the code of row `index`.
bool is_built(std::size_t index) noexcept;

/// A CPU device that runs its loops on `executor`.
Result<std::unique_ptr<Device>> open(std::shared_ptr<Executor> executor) noexcept;

}  // namespace girih::inline v0::cpu
