#pragma once

#include "backends/cuda/kernels/gemm_wgmma.cuh"

// Instantiation: one translation unit a type and two neighbouring tiles.

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
  if constexpr (kFirst + 1 < kTileCount) return gemm_wgmma_of<kFirst + 1, kType>(a, b);
  return nullptr;
}

}  // namespace girih::inline v0::cuda

/// Defines the look-up of tiles 2 * unit and 2 * unit + 1.
#define GIRIH_GEMM_WGMMA_UNIT(type, element, unit)                     \
  namespace girih::inline v0::cuda {                                   \
  const void* gemm_wgmma_##type##_##unit(int tile, Major a, Major b) { \
    return gemm_wgmma_either<2 * unit, Element::element>(tile, a, b);  \
  }                                                                    \
  }
