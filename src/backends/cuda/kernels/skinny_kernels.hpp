#pragma once

#include "backends/cuda/kernels/skinny_params.hpp"

namespace girih::inline v0::cuda {

/// The kernel of an operand type, of a form, and of 4 (f32 alone), 8 or 16 rows. Takes one
/// SkinnyParams; blocks of groups * slices warps, any grid that is whole clusters,
/// skinny_shared_bytes() of dynamic shared memory.
const void* gemm_skinny_kernel(Element type, SkinnyForm form, int rows);

}  // namespace girih::inline v0::cuda
