#pragma once

#include "backends/cpu/device.hpp"

namespace girih::inline v0::cpu {

/// Routes the tokens; returns when all is written. Allocates nothing. Passes on what the executor
/// throws.
Status run(const RouteCall& call, Executor& executor);

}  // namespace girih::inline v0::cpu
