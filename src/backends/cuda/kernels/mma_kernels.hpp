#pragma once

#include "backends/cuda/kernels/mma_geometry.hpp"
#include "backends/cuda/kernels/mma_params.hpp"

namespace girih::inline v0::cuda {

/// The kernel for a tile (an index of kMmaTiles) and the layouts of A and B in shared memory:
/// gathered operands and those of 8 and 32 bits are K-major. `gathers`: an operand is. Takes one
/// MmaParams; block mma_threads, dynamic shared memory mma_shared_bytes, any grid.
const void* gemm_mma_bf16(int tile, Major a, Major b, bool gathers);
/// 8-bit floats too.
const void* gemm_mma_f16(int tile, Major a, Major b, bool gathers);
const void* gemm_mma_i8(int tile, bool gathers);
/// f32 operands, each rounded to tf32.
const void* gemm_mma_tf32(int tile, bool gathers);

}  // namespace girih::inline v0::cuda
