#pragma once

#include "backends/cuda/kernels/gemm_grouped.cuh"

// Instantiation: one translation unit a type and grouped extent.

namespace girih::inline v0::cuda {

template <int kTile, Element kType, bool kByDepth>
const void* gemm_grouped_of(Major a, Major b) {
  constexpr Major kK = Major::K, kMN = Major::MN;
  if (a == kK) {
    return b == kK ? reinterpret_cast<const void*>(&gemm_grouped<kTile, kType, kK, kK, kByDepth>)
                   : reinterpret_cast<const void*>(&gemm_grouped<kTile, kType, kK, kMN, kByDepth>);
  }
  return b == kK ? reinterpret_cast<const void*>(&gemm_grouped<kTile, kType, kMN, kK, kByDepth>)
                 : reinterpret_cast<const void*>(&gemm_grouped<kTile, kType, kMN, kMN, kByDepth>);
}

template <Element kType, bool kByDepth, int kTile = 0>
const void* gemm_grouped_any(int tile, Major a, Major b) {
  if constexpr (kTile < kGroupedTileCount) {
    if (tile != kTile) return gemm_grouped_any<kType, kByDepth, kTile + 1>(tile, a, b);
    if constexpr (!kByDepth || serves_depth(kGroupedTiles[kTile])) {
      return gemm_grouped_of<kTile, kType, kByDepth>(a, b);
    }
  }
  return nullptr;
}

}  // namespace girih::inline v0::cuda

/// Defines the look-up of a type's kernels.
#define GIRIH_GEMM_GROUPED_UNIT(type, element, extent, by_depth)           \
  namespace girih::inline v0::cuda {                                       \
  const void* gemm_grouped_##type##_##extent(int tile, Major a, Major b) { \
    return gemm_grouped_any<Element::element, by_depth>(tile, a, b);       \
  }                                                                        \
  }
