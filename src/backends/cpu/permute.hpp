#pragma once

#include "backends/cpu/device.hpp"

namespace girih::inline v0::cpu {

/// Reads the indices and moves the rows; returns when y is written. RoutingIndex, with nothing
/// written, if one is no row of x. Allocates nothing. Passes on what the executor throws.
Status run(const PermuteCall& call, Executor& executor);
Status run(const UnpermuteCall& call, Executor& executor);

}  // namespace girih::inline v0::cpu
