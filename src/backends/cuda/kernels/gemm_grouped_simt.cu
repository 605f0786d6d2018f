#include "backends/cuda/kernels/gate.cuh"
#include "backends/cuda/kernels/grouped_kernels.hpp"
#include "backends/cuda/kernels/ptx.cuh"
#include "backends/cuda/kernels/strided.cuh"

// Grouped products without matrix instructions, of any strides: a 64 x 64 tile of the product a
// block, 4 x 4 sums a thread, each one chain of fused multiply-adds over k = 0, 1, 2, ... (or of
// exact integer sums). Under a gate a tile has 32 columns g and their 32 u, which one thread holds.

namespace girih::inline v0::cuda {
namespace {

constexpr int kDepth = 16;
constexpr int kHalf = kSimtTile / 2;

/// The product that a tile is of, and the tile's place in it. Rows of A and C count from the first
/// of all groups where rows are grouped, the depth of A and B where that is.
struct Tile {
  std::int64_t group = 0;
  std::int64_t m = 0, m_end = 0;
  std::int64_t k = 0, k_end = 0;
  std::int64_t n = 0;  ///< of C
};

__device__ __forceinline__ Tile tile_at(const GroupedSimtParams& p, std::uint32_t unit,
                                        std::uint32_t columns) {
  Tile tile;
  const std::uint32_t row = unit / columns;
  const std::int64_t width = p.gated == GroupedGate::None ? kSimtTile : kHalf;
  tile.n = (unit - row * columns) * width;
  if (p.by_depth) {
    const auto rows = static_cast<std::uint32_t>((p.product.m + kSimtTile - 1) / kSimtTile);
    const std::uint32_t group = row / rows;
    tile.group = group;
    tile.m = static_cast<std::int64_t>(row - group * rows) * kSimtTile;
    tile.m_end = p.product.m;
    if (p.product.k == 0) return tile;  // A and B are not read
    tile.k = p.offsets[tile.group * p.offset_stride];
    tile.k_end = p.offsets[(tile.group + 1) * p.offset_stride];
    return tile;
  }
  const GroupedUnit entry = p.units[row];
  tile.group = entry.group;
  tile.m = entry.begin + (static_cast<std::int64_t>(row) - entry.first) * kSimtTile;
  tile.m_end = entry.end;
  tile.k_end = p.product.k;
  return tile;
}

/// Column of the product that stands at place `place` of a tile, of which C's `n` is the first.
__device__ __forceinline__ std::int64_t product_column(const GroupedSimtParams& p, std::int64_t n,
                                                       int place) {
  if (p.gated == GroupedGate::None) return n + place;
  const int half = place / kHalf;
  const std::int64_t column = n + place % kHalf;
  return p.gated == GroupedGate::Concatenated ? half * p.product.n + column : 2 * column + half;
}

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

template <class T>
using Staged = T[kDepth][kSimtTile + 1];

/// 16 of K from `k` on. Neighbouring threads walk the dimension with the smaller stride.
template <class T>
__device__ __forceinline__ void stage_a(Staged<T>& to, const StridedRef& a, const Tile& tile,
                                        std::int64_t k) {
  const bool along_k = a.column < a.row;
#pragma unroll
  for (int i = 0; i < kSimtTile * kDepth / 256; ++i) {
    const int index = i * 256 + static_cast<int>(threadIdx.x);
    const int depth = along_k ? index % kDepth : index / kSimtTile;
    const int place = along_k ? index / kDepth : index % kSimtTile;
    T value = 0;
    if (tile.m + place < tile.m_end && k + depth < tile.k_end) {
      load_operand(a, (tile.m + place) * a.row + (k + depth) * a.column, value);
    }
    to[depth][place] = value;
  }
}
template <class T>
__device__ __forceinline__ void stage_b(Staged<T>& to, const GroupedSimtParams& p, const Tile& tile,
                                        std::int64_t k) {
  const StridedRef& b = p.product.b;
  const bool along_k = b.row < b.column;
#pragma unroll
  for (int i = 0; i < kSimtTile * kDepth / 256; ++i) {
    const int index = i * 256 + static_cast<int>(threadIdx.x);
    const int depth = along_k ? index % kDepth : index / kSimtTile;
    const int place = along_k ? index / kDepth : index % kSimtTile;
    const int of_c = p.gated == GroupedGate::None ? place : place % kHalf;
    T value = 0;
    if (tile.n + of_c < p.product.n && k + depth < tile.k_end) {
      load_operand(
          b,
          tile.group * b.batch + (k + depth) * b.row + product_column(p, tile.n, place) * b.column,
          value);
    }
    to[depth][place] = value;
  }
}

__device__ __forceinline__ std::int64_t index_of(const StridedRef& x, const Tile& tile,
                                                 std::int64_t m, std::int64_t n) {
  return tile.group * x.batch + m * x.row + n * x.column;
}

__device__ __forceinline__ void finish_i32(const SimtParams& p, std::int64_t at, long long sum) {
  auto* const c = static_cast<std::int32_t*>(const_cast<void*>(p.c.data)) + at;
  if (p.reads_c) sum += *c;
  constexpr long long kTop = 2147483647;
  *c = static_cast<std::int32_t>(sum > kTop ? kTop : sum < -kTop - 1 ? -kTop - 1 : sum);
}

/// A sum with its factors.
__device__ __forceinline__ float scaled(const SimtParams& p, const Tile& tile, std::int64_t m,
                                        std::int64_t j, float sum) {
  if (tile.k >= tile.k_end) return 0.0f;  // whatever its factors
  float scale = resolve(p.alpha);
  if (p.b_scale.data != nullptr) scale *= load_float(p.b_scale, index_of(p.b_scale, tile, 0, j));
  const float v = __fmul_rn(sum, scale);
  if (p.a_scale.data == nullptr) return v;
  return __fmul_rn(v, load_float(p.a_scale, index_of(p.a_scale, tile, m, 0)));
}
__device__ __forceinline__ float bias_at(const SimtParams& p, const Tile& tile, std::int64_t j) {
  return p.bias.data == nullptr ? 0.0f : load_float(p.bias, index_of(p.bias, tile, 0, j));
}

/// One element of C from its sums; `place` is that of the first in the tile.
__device__ __forceinline__ void finish_element(const GroupedSimtParams& params, const Tile& tile,
                                               std::int64_t m, int place, float sum, float up) {
  const SimtParams& p = params.product;
  const std::int64_t n = tile.n + place, j = product_column(params, tile.n, place);
  const std::int64_t at = index_of(p.c, tile, m, n);
  float v = scaled(p, tile, m, j, sum);
  if (params.gated == GroupedGate::None) {
    if (p.reads_c) v = fmaf(resolve(p.beta), load_float(p.c, at), v);
    v = __fadd_rn(v, bias_at(p, tile, j));
    activate<1>(static_cast<ActivationKind>(p.activation), &v);
  } else {
    const std::int64_t partner = product_column(params, tile.n, place + kHalf);
    const float u = __fadd_rn(scaled(p, tile, m, partner, up), bias_at(p, tile, partner));
    v = __fadd_rn(v, bias_at(p, tile, j));
    join<1>(params.gate, &v, &u);
  }
  if (p.residual.data != nullptr) {
    v = __fadd_rn(v, load_float(p.residual, index_of(p.residual, tile, m, n)));
  }
  store_float(p.c, at, v);
}

/// Takes the sums apart.
template <class T>
__device__ __forceinline__ void store(const GroupedSimtParams& p, const Tile& tile,
                                      T (&sum)[4][4]) {
  const int tm = static_cast<int>(threadIdx.x) / 16, tn = static_cast<int>(threadIdx.x) % 16;
  const int held = p.gated == GroupedGate::None ? 4 : 2;  // columns of C of a row
// Rolled around one copy of the epilogue, as in gemm_simt.cu. The sums move up by one each time.
#pragma unroll 1
  for (int step = 0; step < 16; ++step) {
    const T value = sum[0][0], up = sum[0][2];
#pragma unroll
    for (int i = 0; i < 15; ++i) sum[i / 4][i % 4] = sum[(i + 1) / 4][(i + 1) % 4];
    const int column = step % 4, place = tn + column * 16;
    const std::int64_t m = tile.m + tm + step / 4 * 16;
    if (column >= held || m >= tile.m_end || tile.n + place >= p.product.n) continue;
    if (p.product.c.type == Element::I32) {
      finish_i32(p.product, index_of(p.product.c, tile, m, tile.n + place),
                 static_cast<long long>(value));
    } else {
      finish_element(p, tile, m, place, static_cast<float>(value), static_cast<float>(up));
    }
  }
}

template <class T>
__global__ void __launch_bounds__(256)
    gemm_grouped_simt(const __grid_constant__ GroupedSimtParams p) {
  __shared__ Staged<T> a, b;
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  const int tm = static_cast<int>(threadIdx.x) / 16, tn = static_cast<int>(threadIdx.x) % 16;
  const std::int64_t width = p.gated == GroupedGate::None ? kSimtTile : kHalf;
  const auto columns = static_cast<std::uint32_t>((p.product.n + width - 1) / width);
  std::uint32_t units = p.header->units * columns;
  if (p.by_depth) {
    units = p.header->is_valid == 0
                ? 0
                : static_cast<std::uint32_t>(p.product.batch *
                                             ((p.product.m + kSimtTile - 1) / kSimtTile) * columns);
  }
  for (std::uint32_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const Tile tile = tile_at(p, unit, columns);
    T sum[4][4] = {};
    for (std::int64_t k = tile.k; k < tile.k_end; k += kDepth) {
      __syncthreads();
      stage_a(a, p.product.a, tile, k);
      stage_b(b, p, tile, k);
      __syncthreads();
      const int depth = static_cast<int>(tile.k_end - k < kDepth ? tile.k_end - k : kDepth);
      for (int d = 0; d < depth; ++d) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) multiply_add(sum[i][j], a[d][tm + 16 * i], b[d][tn + 16 * j]);
        }
      }
    }
    store(p, tile, sum);
  }
}

}  // namespace

const void* grouped_simt_kernel(bool integers) {
  return integers ? reinterpret_cast<const void*>(&gemm_grouped_simt<std::int32_t>)
                  : reinterpret_cast<const void*>(&gemm_grouped_simt<float>);
}

}  // namespace girih::inline v0::cuda
