#pragma once

#include "backends/cuda/kernels/gemm_params.hpp"
#include "backends/cuda/kernels/simt_params.hpp"
#include "plan/cuda_f32_tile.hpp"

namespace girih::inline v0::cuda {

/// One launch of an f32 product. Its units, `tile_rows * tile_cols * splits * simt.batch`, are
/// fewer than 2^31.
struct F32Params {
  SimtParams simt;  ///< what is computed; `a` and `b` are f32
  /// The same epilogue, or that of partial sums, for a C, residual and bias whose columns are
  /// neighbours, with M, N and the batch below 2^31; without `out.data`, `simt`'s is used.
  EpilogueParams epilogue;
  std::uint32_t tile_rows = 1, tile_cols = 1;
  /// > 1: slice s of product b is written as matrix b * splits + s of `epilogue.out`; or, if
  /// `in_cluster`, the slices of a tile are made by the blocks of one cluster, which add them. Then
  /// the grid has a block a unit, and `epilogue.out` is C.
  std::int32_t splits = 1;
  bool in_cluster = false;                    ///< of tiles that say so
  bool a_along_k = false, b_along_k = false;  ///< which way copies of single elements walk
  /// Unless null: nothing is done while both of these words are 0.
  const std::uint32_t* only_if = nullptr;
};

/// The kernel of tile `tile` of kF32Tiles, for operands that are loaded so. Takes one F32Params;
/// block f32_threads(tile), dynamic shared memory f32_shared_bytes(tile), any grid.
const void* gemm_f32_kernel(int tile, F32Load a, F32Load b);

}  // namespace girih::inline v0::cuda
