#pragma once

#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

/// A product on a skinny row: one launch, with the epilogue; no workspace.
Status lower_skinny(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;

}  // namespace girih::inline v0::cuda
