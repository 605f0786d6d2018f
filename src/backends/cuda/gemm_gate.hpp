#pragma once

#include "backends/cuda/kernels/gate_params.hpp"
#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

GateTerms gate_terms(const Gate& gate) noexcept;

/// A gated product on any row, where the gate is in no kernel's epilogue: for each piece of C's
/// rows the product into f32 sums, and a kernel that joins their columns.
Status lower_gated(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;

}  // namespace girih::inline v0::cuda
