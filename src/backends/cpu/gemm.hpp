#pragma once

#include "backends/cpu/device.hpp"

namespace girih::inline v0::cpu {

/// GemmNoKernel if the row's code is not in this build.
Status check_code(const KernelInfo& kernel) noexcept;
/// Runs one product; returns when C is written. Allocates nothing. Passes on what the executor
/// throws.
Status run(const GemmCall& call, Executor& executor);

}  // namespace girih::inline v0::cpu
