#pragma once

#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

/// A Fast product of f32 on a row that splits its operands: their parts, the product, and the exact
/// kernel that computes it where an operand has no parts. See plan/cuda_fast_f32.hpp.
Status lower_fast_f32(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;

}  // namespace girih::inline v0::cuda
