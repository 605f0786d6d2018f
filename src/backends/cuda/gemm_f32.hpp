#pragma once

#include "backends/cuda/kernels/f32_params.hpp"
#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

/// A product on an f32 row: the kernel, and the sum of its slices if K is split.
Status lower_f32(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;
/// The same in one kernel that runs only if one of the two words at `only_if` is not 0.
Status lower_f32_if(const GemmCall& call, const std::uint32_t* only_if, const Lowering& lowering,
                    LaunchSink& sink) noexcept;

/// What kernels without matrix instructions are given of a call.
SimtParams simt_params(const GemmCall& call) noexcept;
/// The epilogue of a call whose C, residual and bias have neighbours along N.
EpilogueParams row_epilogue(const GemmCall& call) noexcept;

}  // namespace girih::inline v0::cuda
