#pragma once

#include "backends/metal/queue.hpp"

namespace girih::inline v0::metal {

/// Multiplies small whole numbers on a row, without and with a gate, and compares with the exact
/// results: what a compiler got
/// wrong shows here, once, instead of in the caller's numbers. True if both were right.
Result<bool> passes_trial(const KernelInfo& kernel, DType dtype, Queue& queue,
                          Memory& memory) noexcept;

}  // namespace girih::inline v0::metal
