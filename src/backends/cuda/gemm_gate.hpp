#pragma once

#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

/// A gated product on any row: for each piece of C's rows the product into f32 sums, and a kernel
/// that joins their columns.
Status lower_gated(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;

}  // namespace girih::inline v0::cuda
