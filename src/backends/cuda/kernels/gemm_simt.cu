#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "backends/cuda/kernels/simt_finish.cuh"

// Products without matrix instructions: a 64 x 64 tile a block, 4 x 4 sums a thread, each one chain
// of fused multiply-adds over k = 0, 1, 2, ... (or of exact integer sums).

namespace girih::inline v0::cuda {
namespace {

constexpr int kDepth = 16;

__device__ __forceinline__ void load_operand(const StridedRef& x, std::int64_t at, float& value) {
  value = load_float(x, at);
}
__device__ __forceinline__ void load_operand(const StridedRef& x, std::int64_t at,
                                             std::int32_t& value) {
  value = static_cast<const std::int8_t*>(x.data)[at];
}
__device__ __forceinline__ void multiply_add(float& sum, float a, float b) {
  sum = __fmaf_rn(a, b, sum);
}
__device__ __forceinline__ void multiply_add(std::int32_t& sum, std::int32_t a, std::int32_t b) {
  sum += a * b;
}

/// 64 rows (or columns) by 16 of K into shared memory, zero beyond the ends. Neighbouring threads
/// walk the dimension with the smaller stride.
template <class T>
__device__ __forceinline__ void stage(T (&to)[kDepth][kSimtTile + 1], const StridedRef& x,
                                      std::int64_t base, std::int64_t first, std::int64_t end,
                                      std::int64_t stride, std::int64_t k, std::int64_t k_end,
                                      std::int64_t k_stride) {
  const bool along_k = k_stride < stride;
#pragma unroll
  for (int i = 0; i < kSimtTile * kDepth / 256; ++i) {
    const int index = i * 256 + static_cast<int>(threadIdx.x);
    const int depth = along_k ? index % kDepth : index / kSimtTile;
    const int place = along_k ? index / kDepth : index % kSimtTile;
    T value = 0;
    if (first + place < end && k + depth < k_end) {
      load_operand(x, base + (first + place) * stride + (k + depth) * k_stride, value);
    }
    to[depth][place] = value;
  }
}

template <class T>
__global__ void __launch_bounds__(256) gemm_simt(const __grid_constant__ SimtParams p) {
  __shared__ T a[kDepth][kSimtTile + 1], b[kDepth][kSimtTile + 1];
  const std::int64_t rows = (p.m + kSimtTile - 1) / kSimtTile;
  const std::int64_t columns = (p.n + kSimtTile - 1) / kSimtTile;
  const int tm = static_cast<int>(threadIdx.x) / 16, tn = static_cast<int>(threadIdx.x) % 16;
  for (std::int64_t unit = blockIdx.x; unit < rows * columns * p.batch; unit += gridDim.x) {
    const std::int64_t batch = unit / (rows * columns), tile = unit - batch * rows * columns;
    const std::int64_t m = tile / columns * kSimtTile, n = tile % columns * kSimtTile;
    T sum[4][4] = {};
    for (std::int64_t k = 0; k < p.k; k += kDepth) {
      __syncthreads();
      stage(a, p.a, batch * p.a.batch, m, p.m, p.a.row, k, p.k, p.a.column);
      stage(b, p.b, batch * p.b.batch, n, p.n, p.b.column, k, p.k, p.b.row);
      __syncthreads();
      const int depth = static_cast<int>(p.k - k < kDepth ? p.k - k : kDepth);
      for (int d = 0; d < depth; ++d) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) multiply_add(sum[i][j], a[d][tm + 16 * i], b[d][tn + 16 * j]);
        }
      }
    }
// Rolled around one copy of the epilogue: sixteen took ptxas 9 s.
#pragma unroll 1
    for (int step = 0; step < 16; ++step) {
      T value = 0;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        if (i == step) value = sum[i / 4][i % 4];
      }
      const std::int64_t row = m + tm + step / 4 * 16, column = n + tn + step % 4 * 16;
      if (row >= p.m || column >= p.n) continue;
      if (p.c.type == Element::I32) {
        finish_i32(p, batch * p.c.batch + row * p.c.row + column * p.c.column,
                   static_cast<long long>(value));
      } else {
        finish_element(p, batch, row, column, static_cast<float>(value));
      }
    }
  }
}

}  // namespace

const void* gemm_simt_kernel(bool integers) {
  return integers ? reinterpret_cast<const void*>(&gemm_simt<std::int32_t>)
                  : reinterpret_cast<const void*>(&gemm_simt<float>);
}

}  // namespace girih::inline v0::cuda
