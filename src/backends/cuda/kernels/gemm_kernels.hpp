#pragma once

#include "backends/cuda/kernels/gemm_params.hpp"
#include "backends/cuda/kernels/gemm_tiles.hpp"

namespace girih::inline v0::cuda {

/// The kernel of a tile, an operand type and the layouts of the rows and the cols side; null for a
/// type that the tile is not compiled for. Types other than 16-bit ones are K-major. Takes one
/// GemmParams; block tile_threads(tile), dynamic shared memory shared_bytes(tile, a, b).
const void* gemm_wgmma_kernel(int tile, Element type, Major a, Major b);

/// Takes one SplitReduceParams; block of 128, any grid (see split_reduce_grid). `integers`: the
/// partials are i32, of int8 operands.
const void* gemm_split_reduce_kernel(bool integers = false);

/// Blocks for it: four lanes a quad of C from nine slices on.
inline unsigned split_reduce_grid(std::int64_t batch, std::int64_t m, std::int64_t n, int splits,
                                  int sms) {
  const std::int64_t threads = batch * m * ((n + 3) / 4) * (splits > 8 ? 4 : 1);
  const std::int64_t blocks = (threads + 127) / 128;
  return static_cast<unsigned>(blocks < sms * 16 ? blocks : sms * 16);
}

/// Takes one SimtParams; block of 256, any grid. `integers`: int8 operands, int32 sums.
const void* gemm_simt_kernel(bool integers);

/// Takes one FinishParams; block of kGateThreads, any grid.
const void* gemm_finish_kernel();

}  // namespace girih::inline v0::cuda
