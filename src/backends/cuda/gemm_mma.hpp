#pragma once

#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

/// A product on an mma row: one launch, see kernels/gemm_mma.cuh.
Status lower_mma(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;

}  // namespace girih::inline v0::cuda
