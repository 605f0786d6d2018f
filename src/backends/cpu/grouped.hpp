#pragma once

#include "backends/cpu/device.hpp"

namespace girih::inline v0::cpu {

/// Reads the offsets and runs the products; returns when C is written. GroupedOffsets, with nothing
/// written, if the offsets break their rule. Allocates nothing. Passes on what the executor throws.
Status run(const GroupedGemmCall& call, Executor& executor);

}  // namespace girih::inline v0::cpu
