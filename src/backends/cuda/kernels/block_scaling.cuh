#pragma once
// Sums of 128 of K on their way into f32 registers, each multiplied by the factor of its row and
// that of its column, both for these 128.

#include <cstdint>

#include "backends/cuda/kernels/gemm_params.hpp"
#include "backends/cuda/kernels/ptx.cuh"

namespace girih::inline v0::cuda {

__device__ __forceinline__ float load_factor(const BlockFactors& x, int i, std::int64_t end,
                                             int panel) {
  if (x.data == nullptr) return 1.0f;
  return i < end ? __ldg(x.data + (i >> x.shift) * x.stride + panel * x.k_stride) : 0.0f;
}

template <bool kScales>
struct BlockScaling {};

// What one lane of a consumer warp keeps of a tile.
template <>
struct BlockScaling<true> {
  int row;    // the lane's first
  int col;    // the lane's first
  int panel;  // 128 of K
  float by_row[2];

  // The warp's rows from `first` on, the tile's columns from `column` on.
  __device__ __forceinline__ void begin(int first, int column, int k_panel) {
    row = first + (ptx::lane() >> 2);
    col = column + 2 * (ptx::lane() & 3);
    panel = k_panel;
  }
  __device__ __forceinline__ void next() { ++panel; }

  // The rows' factors, of rows `down` further on: under the products.
  __device__ __forceinline__ void load(const GemmParams& p, int down) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      by_row[i] = load_factor(p.row_factors, row + down + i * 8, p.rows, panel);
    }
    // One factor for all columns of the tile, which does not cross a block of 128.
    if (is_shared(p)) {
      const float by_column = load_factor(p.col_factors, col, p.cols, panel);
      by_row[0] *= by_column, by_row[1] *= by_column;
    }
  }
  template <int kCols>
  __device__ __forceinline__ void add(const GemmParams& p, float (&sums)[kCols / 2],
                                      const float (&part)[kCols / 2]) const {
    static_assert(kCols <= 128);
    if (is_shared(p)) {
#pragma unroll
      for (int i = 0; i < kCols / 2; ++i) sums[i] = fmaf(part[i], by_row[i / 2 % 2], sums[i]);
      return;
    }
#pragma unroll
    for (int block = 0; block < kCols / 8; ++block) {
      const float by_column[2] = {load_factor(p.col_factors, col + block * 8, p.cols, panel),
                                  load_factor(p.col_factors, col + block * 8 + 1, p.cols, panel)};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& sum = sums[block * 4 + i];
        sum = fmaf(part[block * 4 + i], by_row[i / 2] * by_column[i % 2], sum);
      }
    }
  }

 private:
  static __device__ __forceinline__ bool is_shared(const GemmParams& p) {
    return p.col_factors.data == nullptr || p.col_factors.shift == 7;
  }
};

}  // namespace girih::inline v0::cuda
