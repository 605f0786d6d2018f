#pragma once

#include "backends/cuda/kernels/move_params.hpp"

namespace girih::inline v0::cuda {

/// Each takes one RowParams; row_threads() threads in blocks of kMoveThreads. `bytes` of an
/// element: 1, 2, 4 or 8.
const void* copy_rows_kernel(int bytes);
const void* fill_rows_kernel(int bytes);
/// Null for types that are not two different castable floats.
const void* cast_rows_kernel(Element source, Element destination);
/// Takes one TransposeParams; a block of kMoveThreads a tile, dynamic shared memory
/// transpose_shared_bytes(bytes, is_aligned). `is_aligned`: rows on both sides begin at multiples
/// of 16 bytes.
const void* transpose_kernel(int bytes, bool is_aligned);

}  // namespace girih::inline v0::cuda
