#pragma once
// The join of a gate's columns, in the same operations wherever it is made, so that the forms of a
// gated product give the same bits.

#include "backends/cuda/kernels/epilogue.cuh"
#include "backends/cuda/kernels/gate_params.hpp"

namespace girih::inline v0::cuda {

/// g[i] = gate(g[i], u[i]). NaN stays NaN.
template <int kCount>
__device__ __forceinline__ void join(const GateTerms& gate, float* g, const float* u) {
  const auto kind = static_cast<ActivationKind>(gate.activation);
#pragma unroll
  for (int i = 0; i < kCount; ++i) g[i] = g[i] > gate.limit ? gate.limit : g[i];
  if (kind == ActivationKind::Silu) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const float t = -1.442695041f * (gate.alpha * g[i]);
      // Not infinity times a weight of 0.
      g[i] = weighed(isinf(g[i]) && t > 0.0f ? 0.0f : g[i], t);
    }
  } else {
    activate<kCount>(kind, g);
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    float up = u[i] > gate.limit ? gate.limit : u[i];
    up = up < -gate.limit ? -gate.limit : up;
    g[i] = __fmul_rn(g[i], __fadd_rn(up, gate.up_offset));
  }
}

}  // namespace girih::inline v0::cuda
