#pragma once

#include "backends/cpu/device.hpp"

namespace girih::inline v0::cpu {

/// GemmNoKernel if the row's code is not in this build.
Status check_code(const KernelInfo& kernel) noexcept;
/// Product `index` of a call's batch on `threads` threads, in a workspace for one product. Cannot
/// fail on one thread: it never meets the executor.
Status run_product(const GemmCall& call, Executor& executor, int threads, std::int64_t index,
                   std::byte* scratch);
/// Runs a call; returns when C is written. Allocates nothing. Passes on what the executor
/// throws.
Status run(const GemmCall& call, Executor& executor);

}  // namespace girih::inline v0::cpu
