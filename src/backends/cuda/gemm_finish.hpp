#pragma once

#include "backends/cuda/kernels/gate_params.hpp"
#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

GateTerms gate_terms(const Gate& gate) noexcept;

/// A product on any row whose gate, or C of 8 bits, no row's epilogue has: for each piece of C's
/// rows the product into f32 sums, and a kernel that does all that follows.
Status lower_finished(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;

}  // namespace girih::inline v0::cuda
