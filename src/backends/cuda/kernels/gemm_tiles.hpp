#pragma once

#include "plan/cuda_gemm_tile.hpp"

namespace girih::inline v0::cuda {

/// The wgmma rows of kernels.inc, in order.
constexpr TileConfig kTiles[] = {
#define GIRIH_CUDA_WGMMA(rows, cols, depth, consumers, form, target) \
  TileConfig{rows, cols, depth, consumers, TileForm::form},
#define GIRIH_CUDA_SIMT_GEMM(...)
#define GIRIH_CUDA_ELEMENTWISE(...)
#define GIRIH_CUDA_GROUPED_WGMMA(...)
#define GIRIH_CUDA_GROUPED_SIMT(...)
#include "backends/cuda/kernels.inc"
#undef GIRIH_CUDA_GROUPED_SIMT
#undef GIRIH_CUDA_GROUPED_WGMMA
#undef GIRIH_CUDA_ELEMENTWISE
#undef GIRIH_CUDA_SIMT_GEMM
#undef GIRIH_CUDA_WGMMA
};
constexpr int kTileCount = sizeof(kTiles) / sizeof(kTiles[0]);

}  // namespace girih::inline v0::cuda
