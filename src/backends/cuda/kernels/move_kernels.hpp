#pragma once

#include "backends/cuda/kernels/move_params.hpp"

namespace girih::inline v0::cuda {

/// Each takes one MoveParams; block of kMoveThreads, any grid. `unit`: 1, 2, 4, 8 or 16 bytes.
const void* copy_rows_kernel(int unit);
const void* fill_rows_kernel(int unit);
/// Null for types that are not both castable floats.
const void* cast_rows_kernel(Element source, Element destination);
/// Takes one TransposeParams; block of kMoveThreads, dynamic shared memory
/// transpose_shared_bytes(bytes), any grid. `is_wide`: rows on both sides begin
/// at multiples of 4 bytes.
const void* transpose_kernel(int bytes, bool is_wide);

}  // namespace girih::inline v0::cuda
