#pragma once

#include "plan/cuda_gemm_tile.hpp"

namespace girih::inline v0::cuda {

/// The tiles of the grouped wgmma rows of kernels.inc, in order.
constexpr TileConfig kGroupedTiles[] = {
#define GIRIH_CUDA_WGMMA(...)
#define GIRIH_CUDA_WGMMA_OF(...)
#define GIRIH_CUDA_MMA(...)
#define GIRIH_CUDA_SIMT_GEMM(...)
#define GIRIH_CUDA_FAST_F32(...)
#define GIRIH_CUDA_SKINNY(...)
#define GIRIH_CUDA_ELEMENTWISE(...)
#define GIRIH_CUDA_GROUPED_WGMMA(rows, cols, depth, consumers, target) \
  TileConfig{rows, cols, depth, consumers, TileForm::Cooperative},
#define GIRIH_CUDA_GROUPED_SIMT(...)
#include "backends/cuda/kernels.inc"
#undef GIRIH_CUDA_GROUPED_SIMT
#undef GIRIH_CUDA_GROUPED_WGMMA
#undef GIRIH_CUDA_ELEMENTWISE
#undef GIRIH_CUDA_SKINNY
#undef GIRIH_CUDA_FAST_F32
#undef GIRIH_CUDA_SIMT_GEMM
#undef GIRIH_CUDA_MMA
#undef GIRIH_CUDA_WGMMA_OF
#undef GIRIH_CUDA_WGMMA
};
constexpr int kGroupedTileCount = sizeof(kGroupedTiles) / sizeof(kGroupedTiles[0]);

}  // namespace girih::inline v0::cuda
