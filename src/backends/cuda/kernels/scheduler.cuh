#pragma once
// Which tile a block works on next. Static and persistent: cluster c takes units c, c + clusters,
// ...; a unit is cluster_rows x cluster_cols neighbouring tiles of one K slice of one batch.

#include <cstdint>

#include "backends/cuda/kernels/gemm_params.hpp"

namespace girih::inline v0::cuda {

struct TilePlace {
  int row_tile;
  int col_tile;
  int batch;
  int split;
};

struct Slice {  // of K, in stages
  int begin;
  int count;
};

__device__ __forceinline__ std::uint32_t divide(std::uint32_t n, const Divisor& d) {
  return (__umulhi(n, d.multiplier) + n) >> d.shift;
}

// Holds one register and computes the rest when asked: a consumer keeps up to 192 accumulators
// while it waits, and carrying the place along made ptxas spill.
struct Scheduler {
  const GemmParams& params;
  std::uint32_t unit;

  __device__ __forceinline__ explicit Scheduler(const GemmParams& p)
      : params(p), unit(blockIdx.x >> p.cluster_shift) {}

  __device__ __forceinline__ bool done() const { return unit >= params.order.units; }
  __device__ __forceinline__ void next() { unit += gridDim.x >> params.cluster_shift; }

  __device__ __forceinline__ Slice slice() const {
    const TileOrder& order = params.order;
    int split = 0;
    if (params.cluster_split > 1) {
      split = rank();
    } else if (order.splits.value > 1) {
      const std::uint32_t outer = divide(unit, order.plane);
      split = outer - divide(outer, order.splits) * order.splits.value;
    }
    return {split * order.k_base + min(split, order.k_extra),
            order.k_base + (split < order.k_extra)};
  }

  __device__ __forceinline__ TilePlace place() const {
    const TileOrder& order = params.order;
    const std::uint32_t outer = divide(unit, order.plane), index = unit - outer * order.plane.value;
    const std::uint32_t band = divide(index, order.band), inside = index - band * order.band.value;
    const Divisor& height = band == order.last_band ? order.last_height : order.height;
    const std::uint32_t c = divide(inside, height);
    const std::uint32_t a = band * order.height.value + inside - c * height.value;
    TilePlace place;
    place.row_tile = (order.band_columns ? c : a) * params.cluster_rows +
                     (params.cluster_rows == 2 ? rank() : 0);
    place.col_tile = (order.band_columns ? a : c) * params.cluster_cols +
                     (params.cluster_cols == 2 ? rank() : 0);
    place.batch = divide(outer, order.splits);
    place.split = outer - place.batch * order.splits.value;
    return place;
  }

  __device__ __forceinline__ int rank() const {
    return blockIdx.x & ((1 << params.cluster_shift) - 1);
  }
};

}  // namespace girih::inline v0::cuda
