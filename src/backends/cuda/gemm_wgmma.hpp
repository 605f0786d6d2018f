#pragma once

#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

/// A product on a wgmma row: copies of what the row cannot read in place, the product, the sum of
/// its slices if K is split through the workspace, and a copy of C to its own layout.
Status lower_wgmma(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;

}  // namespace girih::inline v0::cuda
