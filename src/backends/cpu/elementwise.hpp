#pragma once

#include "backends/cpu/device.hpp"

namespace girih::inline v0::cpu {

/// Runs one copy, cast or fill; returns when the destination is written. Allocates nothing. Passes
/// on what the executor throws.
Status run(const ElementwiseCall& call, Executor& executor);

}  // namespace girih::inline v0::cpu
