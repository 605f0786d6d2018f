#pragma once

#include "plan/cuda_gemm_tile.hpp"

namespace girih::inline v0::cuda {

/// What a tile is compiled for.
enum class TileTypes : std::uint8_t { Halves, i8, f8, f8block, f8fast, tf32 };

/// The wgmma rows of kernels.inc, in order: those of 16-bit operands first.
constexpr TileConfig kTiles[] = {
#define GIRIH_CUDA_WGMMA(rows, cols, depth, consumers, form, target) \
  TileConfig{rows, cols, depth, consumers, TileForm::form},
#define GIRIH_CUDA_WGMMA_OF(types, bytes, promotes, rows, cols, depth, consumers, form, target) \
  TileConfig{rows,           cols,  depth,    consumers,                                        \
             TileForm::form, bytes, promotes, TileTypes::types == TileTypes::f8block},
#define GIRIH_CUDA_MMA(...)
#define GIRIH_CUDA_SIMT_GEMM(...)
#define GIRIH_CUDA_FAST_F32(...)
#define GIRIH_CUDA_SKINNY(...)
#define GIRIH_CUDA_ELEMENTWISE(...)
#define GIRIH_CUDA_GROUPED_WGMMA(...)
#define GIRIH_CUDA_GROUPED_SIMT(...)
#include "backends/cuda/kernels.inc"
#undef GIRIH_CUDA_WGMMA_OF
#undef GIRIH_CUDA_WGMMA
};
constexpr int kTileCount = sizeof(kTiles) / sizeof(kTiles[0]);

constexpr TileTypes kTileTypes[] = {
#define GIRIH_CUDA_WGMMA(...) TileTypes::Halves,
#define GIRIH_CUDA_WGMMA_OF(types, ...) TileTypes::types,
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
static_assert(sizeof(kTileTypes) == kTileCount);

constexpr bool compiles(int tile, Element type) {
  switch (kTileTypes[tile]) {
    case TileTypes::Halves:
      return type == Element::BF16 || type == Element::F16;
    case TileTypes::i8:
      return type == Element::I8;
    case TileTypes::tf32:
      return type == Element::TF32;
    default:
      return type == Element::F8E4M3 || type == Element::F8E5M2;
  }
}

}  // namespace girih::inline v0::cuda
