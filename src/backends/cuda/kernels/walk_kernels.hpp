#pragma once

#include "backends/cuda/kernels/simt_params.hpp"

namespace girih::inline v0::cuda {

/// Each takes one WalkParams; block of kWalkThreads, any grid.
const void* copy_kernel();
const void* cast_kernel();
const void* fill_kernel();
/// Takes one NibbleParams; block of 256, any grid.
const void* nibble_kernel();

}  // namespace girih::inline v0::cuda
