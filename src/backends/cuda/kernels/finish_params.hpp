#pragma once

#include "backends/cuda/kernels/gate_params.hpp"

namespace girih::inline v0::cuda {

/// What follows sums that lie in the workspace, where no product's kernel does it. With `gates` as
/// `GateParams` says, else c = activation(g) + residual, `gate.activation` naming it. A c of i8 or
/// 8-bit floats is that times c_scale, rounded and saturated.
struct FinishParams : GateParams {
  SimtScalar c_scale{1, nullptr};
  bool gates = false;
};

}  // namespace girih::inline v0::cuda
