// Products that every Apple GPU can run, of any strides and any alignment: tiles of A and B are
// copied to threadgroup memory, zero beyond the edges, and multiplied by simdgroup_matrix or, for
// int8, by the ALUs.
#include "backends/metal/kernels/epilogue.h"
#include "backends/metal/kernels/operand_tile.h"
#include "backends/metal/kernels/tile_walk.h"
#include <metal_simdgroup_matrix>

// Four SIMD groups, each half of the tile's rows and half of its columns.
template <typename T, int kRows, int kColumns, int kDepth, int kSimdgroups>
[[kernel, max_total_threads_per_threadgroup(128)]] void gemm_simdgroup(
    device const T* a [[buffer(0)]], device const T* b [[buffer(1)]],
    device uchar* c [[buffer(2)]], device const uchar* residual [[buffer(3)]],
    device const uchar* bias [[buffer(4)]], device const float* a_scale [[buffer(5)]],
    device const float* b_scale [[buffer(6)]], device const float* alpha [[buffer(7)]],
    device const float* beta [[buffer(8)]], device uchar* partials [[buffer(9)]],
    constant GemmParams& p [[buffer(10)]], uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]], ushort thread_index [[thread_index_in_threadgroup]],
    ushort simdgroup [[simdgroup_index_in_threadgroup]]) {
  static_assert(kSimdgroups == 4 && kRows % 16 == 0 && kColumns % 16 == 0 && kDepth % 8 == 0, "");
  constexpr int kThreads = kSimdgroups * 32;
  constexpr int kPad = 16 / sizeof(T);  // 16 bytes: rows of a tile start in different banks
  constexpr int kAStride = kDepth + kPad, kBStride = kColumns + kPad;
  constexpr int kBlocksM = kRows / 16, kBlocksN = kColumns / 16;
  GIRIH_THREADGROUP_ARRAY(T, a_tile, kRows * kAStride);
  GIRIH_THREADGROUP_ARRAY(T, b_tile, kDepth * kBStride);
  GIRIH_THREADGROUP_ARRAY(float, c_tile, kRows * kColumns);
  const EpilogueBuffers buffers = {c, residual, bias, a_scale, b_scale, alpha, beta};
  const int own_row = simdgroup / 2 * (kRows / 2), own_column = simdgroup % 2 * (kColumns / 2);

  for (Index unit = group; unit < p.units; unit += groups) {
    const TilePlace place = place_of(unit, p);
    const int width = p.is_gated != 0 ? kColumns / 2 : kColumns;  // of the tile of C
    const Index row = place.tile_m * kRows, column = place.tile_n * width;
    device const T* const a_rows = a + place.batch * p.a.batch + row * p.a.row;
    device const T* const b_columns = b + place.batch * p.b.batch + column * p.b.column;
    simdgroup_matrix<float, 8, 8> sums[kBlocksM][kBlocksN];
    for (int i = 0; i < kBlocksM; ++i) {
      for (int j = 0; j < kBlocksN; ++j) sums[i][j] = make_filled_simdgroup_matrix<float, 8>(0.0f);
    }
    for (Index k = place.first_k; k < place.end_k; k += kDepth) {
      const Index left = place.end_k - k;
      load_tile<T, kRows, kDepth, kAStride>(a_rows + k * p.a.column, p.a.row, p.a.column,
                                            p.m - row, left, a_tile, thread_index, kThreads);
      load_b_tile<T, kDepth, kColumns, kBStride>(b_columns + k * p.b.row, left, p.n - column, p,
                                                 b_tile, thread_index, kThreads);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (int d = 0; d < kDepth; d += 8) {
        simdgroup_matrix<T, 8, 8> a_block[kBlocksM], b_block[kBlocksN];
        for (int i = 0; i < kBlocksM; ++i) {
          simdgroup_load(a_block[i], a_tile + (own_row + 8 * i) * kAStride + d, kAStride);
        }
        for (int j = 0; j < kBlocksN; ++j) {
          simdgroup_load(b_block[j], b_tile + d * kBStride + own_column + 8 * j, kBStride);
        }
        for (int i = 0; i < kBlocksM; ++i) {
          for (int j = 0; j < kBlocksN; ++j) {
            simdgroup_multiply_accumulate(sums[i][j], a_block[i], b_block[j], sums[i][j]);
          }
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (int i = 0; i < kBlocksM; ++i) {
      for (int j = 0; j < kBlocksN; ++j) {
        simdgroup_store(sums[i][j], c_tile + (own_row + 8 * i) * kColumns + own_column + 8 * j,
                        kColumns);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const int rows = int(min(p.m - row, Index(kRows)));
    const int columns = int(min(p.n - column, Index(width)));
    for (int i = thread_index; i < rows * kColumns; i += kThreads) {
      const int at = i % kColumns;
      if (at >= columns) continue;
      const Index m = row + i / kColumns, n = column + at;
      if (p.is_gated != 0) {
        deliver_gated(c_tile[i], c_tile[i + width], m, n, place.batch, place.slice, partials,
                      buffers, p);
      } else {
        deliver(c_tile[i], m, n, place.batch, place.slice, partials, buffers, p);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

GIRIH_INSTANTIATE("metal_gemm_f32_64x64_simdgroup_f32", gemm_simdgroup<float, 64, 64, 16, 4>);
GIRIH_INSTANTIATE("metal_gemm_16bit_64x64_simdgroup_bf16", gemm_simdgroup<bfloat, 64, 64, 32, 4>);
GIRIH_INSTANTIATE("metal_gemm_16bit_64x64_simdgroup_f16", gemm_simdgroup<half, 64, 64, 32, 4>);

// Exact sums of int8: each thread computes 8 rows of 4 columns that lie 16 apart.
template <int kRows, int kColumns, int kDepth, int kSimdgroups>
[[kernel, max_total_threads_per_threadgroup(128)]] void gemm_integer(
    device const char* a [[buffer(0)]], device const char* b [[buffer(1)]],
    device uchar* c [[buffer(2)]], device const uchar* residual [[buffer(3)]],
    device const uchar* bias [[buffer(4)]], device const float* a_scale [[buffer(5)]],
    device const float* b_scale [[buffer(6)]], device const float* alpha [[buffer(7)]],
    device const float* beta [[buffer(8)]], device uchar* partials [[buffer(9)]],
    constant GemmParams& p [[buffer(10)]], uint group [[threadgroup_position_in_grid]],
    uint groups [[threadgroups_per_grid]], ushort thread_index [[thread_index_in_threadgroup]]) {
  constexpr int kThreads = kSimdgroups * 32;
  constexpr int kThreadRows = 8, kThreadColumns = 4;
  constexpr int kAcross = kColumns / kThreadColumns, kDown = kRows / kThreadRows;
  static_assert(kAcross * kDown == kThreads, "each thread has one patch of the tile");
  constexpr int kAStride = kDepth + 4, kBStride = kColumns + 4;
  GIRIH_THREADGROUP_ARRAY(char, a_tile, kRows * kAStride);
  GIRIH_THREADGROUP_ARRAY(char, b_tile, kDepth * kBStride);
  const EpilogueBuffers buffers = {c, residual, bias, a_scale, b_scale, alpha, beta};
  const int first_row = thread_index / kAcross * kThreadRows, first_column = thread_index % kAcross;

  for (Index unit = group; unit < p.units; unit += groups) {
    const TilePlace place = place_of(unit, p);
    const int width = p.is_gated != 0 ? kColumns / 2 : kColumns;  // of the tile of C
    const Index row = place.tile_m * kRows, column = place.tile_n * width;
    device const char* const a_rows = a + place.batch * p.a.batch + row * p.a.row;
    device const char* const b_columns = b + place.batch * p.b.batch + column * p.b.column;
    int sums[kThreadRows][kThreadColumns];
    for (int i = 0; i < kThreadRows; ++i) {
      for (int j = 0; j < kThreadColumns; ++j) sums[i][j] = 0;
    }
    for (Index k = place.first_k; k < place.end_k; k += kDepth) {
      const Index left = place.end_k - k;
      load_tile<char, kRows, kDepth, kAStride>(a_rows + k * p.a.column, p.a.row, p.a.column,
                                               p.m - row, left, a_tile, thread_index, kThreads);
      load_b_tile<char, kDepth, kColumns, kBStride>(b_columns + k * p.b.row, left, p.n - column,
                                                    p, b_tile, thread_index, kThreads);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (int d = 0; d < kDepth; ++d) {
        int factors[kThreadColumns];
        for (int j = 0; j < kThreadColumns; ++j) {
          factors[j] = b_tile[d * kBStride + first_column + j * kAcross];
        }
        for (int i = 0; i < kThreadRows; ++i) {
          const int factor = a_tile[(first_row + i) * kAStride + d];
          for (int j = 0; j < kThreadColumns; ++j) sums[i][j] += factor * factors[j];
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    const int rows = int(min(p.m - row, Index(kRows)));
    const int columns = int(min(p.n - column, Index(width)));
    for (int i = 0; i < kThreadRows; ++i) {
      for (int j = 0; j < kThreadColumns; ++j) {
        const int m = first_row + i, n = first_column + j * kAcross;
        if (m >= rows || n >= columns) continue;
        if (p.is_gated == 0) {
          deliver(sums[i][j], row + m, column + n, place.batch, place.slice, partials, buffers, p);
        } else if (j < kThreadColumns / 2) {  // u of the column lies half a tile on
          deliver_gated(sums[i][j], sums[i][(j + kThreadColumns / 2) % kThreadColumns], row + m,
                        column + n, place.batch, place.slice, partials, buffers, p);
        }
      }
    }
  }
}
GIRIH_INSTANTIATE("metal_gemm_i8_64x64_simt_i8", gemm_integer<64, 64, 32, 4>);

// Adds the slices of K in order, one element of C a thread, and does what follows the sum.
template <typename Sum>
[[kernel, max_total_threads_per_threadgroup(128)]] void gemm_split_reduce(
    device uchar* c [[buffer(2)]], device const uchar* residual [[buffer(3)]],
    device const uchar* bias [[buffer(4)]], device const float* a_scale [[buffer(5)]],
    device const float* b_scale [[buffer(6)]], device const float* alpha [[buffer(7)]],
    device const float* beta [[buffer(8)]], device const uchar* partials [[buffer(9)]],
    constant GemmParams& p [[buffer(10)]], uint first [[thread_position_in_grid]],
    uint threads [[threads_per_grid]]) {
  const EpilogueBuffers buffers = {c, residual, bias, a_scale, b_scale, alpha, beta};
  device const Sum* const from = reinterpret_cast<device const Sum*>(partials);
  const Index product = p.m * p.n, elements = p.batch * product;
  const Index halves = p.is_gated != 0 ? 2 : 1;
  for (Index i = first; i < elements; i += threads) {
    const Index batch = i / product, within = i - batch * product;
    const Index m = within / p.n, n = within - m * p.n;
    const Index at = (batch * p.m + m) * halves * p.n + n;
    Sum sum = Sum(0), up = Sum(0);
    for (Index slice = 0; slice < Index(p.slices); ++slice) {
      sum += from[slice * halves * elements + at];
      if (halves > 1) up += from[slice * halves * elements + at + p.n];
    }
    if (halves > 1) {
      finish_gated(float(sum), float(up), m, n, batch, buffers, p);
    } else {
      finish(sum, m, n, batch, buffers, p);
    }
  }
}
GIRIH_INSTANTIATE("gemm_split_reduce_f32", gemm_split_reduce<float>);
GIRIH_INSTANTIATE("gemm_split_reduce_i32", gemm_split_reduce<int>);
