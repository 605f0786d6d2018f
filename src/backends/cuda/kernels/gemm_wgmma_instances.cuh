#pragma once

#include "backends/cuda/kernels/gemm_wgmma.cuh"

// Instantiation: of 16-bit types one translation unit a type and two neighbouring tiles, of others
// one a type.

namespace girih::inline v0::cuda {

template <int kTile, Element kType>
const void* gemm_wgmma_of(Major a, Major b) {
  if (a == Major::K) {
    return b == Major::K
               ? reinterpret_cast<const void*>(&gemm_wgmma<kTile, kType, Major::K, Major::K>)
               : reinterpret_cast<const void*>(&gemm_wgmma<kTile, kType, Major::K, Major::MN>);
  }
  return b == Major::K
             ? reinterpret_cast<const void*>(&gemm_wgmma<kTile, kType, Major::MN, Major::K>)
             : reinterpret_cast<const void*>(&gemm_wgmma<kTile, kType, Major::MN, Major::MN>);
}

template <int kFirst, Element kType>
const void* gemm_wgmma_either(int tile, Major a, Major b) {
  if (tile == kFirst) return gemm_wgmma_of<kFirst, kType>(a, b);
  if constexpr (kFirst + 1 < kTileCount && compiles(kFirst + 1, kType))
    return gemm_wgmma_of<kFirst + 1, kType>(a, b);
  return nullptr;
}

template <Element kType, int kTile = 0>
const void* gemm_wgmma_k_major(int tile) {
  if constexpr (kTile < kTileCount) {
    if constexpr (compiles(kTile, kType)) {
      if (tile == kTile) {
        return reinterpret_cast<const void*>(&gemm_wgmma<kTile, kType, Major::K, Major::K>);
      }
    }
    return gemm_wgmma_k_major<kType, kTile + 1>(tile);
  } else {
    return nullptr;
  }
}

}  // namespace girih::inline v0::cuda

/// Defines the look-up of tiles 2 * unit and 2 * unit + 1.
#define GIRIH_GEMM_WGMMA_UNIT(type, element, unit)                     \
  namespace girih::inline v0::cuda {                                   \
  const void* gemm_wgmma_##type##_##unit(int tile, Major a, Major b) { \
    return gemm_wgmma_either<2 * unit, Element::element>(tile, a, b);  \
  }                                                                    \
  }
