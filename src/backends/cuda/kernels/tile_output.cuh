#pragma once
// How one consumer warp turns its accumulators into C. A warp owns 16 of every 64 rows of its
// warpgroup's tile and staging memory of its own, so no warp waits for another.
//
// An accumulator block of 16 x 8: lane l holds (l / 4, 2 * (l % 4) + {0, 1}) in [0], [1] and row +
// 8 in [2], [3].

#include <cstdint>

#include "backends/cuda/kernels/accumulators.cuh"
#include "backends/cuda/kernels/gate.cuh"
#include "backends/cuda/kernels/gemm_params.hpp"
#include "backends/cuda/kernels/ptx.cuh"

namespace girih::inline v0::cuda {

// What the epilogue of boxes has for two of the tile's columns: a bias, and what the sums are
// multiplied by. Which of C's terms these are depends on the sides.
struct ColumnTerms {
  float2 bias;
  float2 scale;
};

// kScales: the epilogue of boxes has the scales of rows and columns. kIntegers: sums are f32, or
// for an i32 C the bits of integers.
template <int kSlabs, int kCols, bool kSplit, bool kGates, bool kScales = false,
          bool kIntegers = false>
struct WarpOutput {
  using Accumulators = float[kSlabs][kCols / 2];
  static constexpr int kChunk = store_columns(kCols);  // columns staged at a time
  static constexpr int kChunks = kCols / kChunk;
  static constexpr std::uint32_t kHalf = warp_staging_bytes(kCols) / 2;
  // Few accumulators make little code, and what stores them waits less if all of it comes last: 0.3
  // us at 1024 x 1024 x 1024, of which bias and GELU take 1.3 us.
  static constexpr bool kInPlace = kSlabs * kCols <= 128;
  static constexpr int kUnits = kChunk / 4;  // 16-byte units of an f32 row of a chunk

  const GemmParams& p;
  std::uint32_t staging;  // this warp's
  std::uint32_t bias;     // this warpgroup's: kCols f32, with kScales followed by as many scales
  // A block of a cluster that splits K stores the chunks with chunk & owners == owner: others hold
  // partial sums.
  int owners = 0;
  int owner = 0;
  std::uint32_t half = 0;  // which half of the staging memory the next box goes through

  // This thread's two of the tile's columns. A bias only where these are C's.
  __device__ __forceinline__ ColumnTerms load_terms(int col, int batch) const {
    const int pair = 2 * (threadIdx.x % 128), end = static_cast<int>(p.cols);
    ColumnTerms terms{};
    if (kGates && p.store == StoreMode::GatedBoxes) {
      terms.bias = load_gate_bias(col / 2, batch, pair);
      return terms;
    }
    if (p.store != StoreMode::FusedBoxes || pair >= kCols) return terms;
    if (p.epilogue.bias.data != nullptr && !p.transposed) {
      terms.bias = load_pair(p.epilogue.bias, batch, col + pair, end);
    }
    if constexpr (kScales) {
      terms.scale = {column_scale(batch, col + pair, end),
                     column_scale(batch, col + pair + 1, end)};
    }
    return terms;
  }

  // Stores kSlabs times 16 rows, 64 apart, from `row` on and kCols columns from `col` on, of output
  // batch `batch`. `loaded` is what load_bias() gave.
  __device__ __forceinline__ void store(Accumulators& acc, int row, int col, int batch,
                                        const ColumnTerms& loaded) {
    if (p.store == StoreMode::Boxes) {
      store_boxes<true>(acc, row, col, batch, resolve(p.epilogue.alpha));
    } else if (p.store == StoreMode::FusedBoxes) {
      store_fused(acc, row, col, batch, loaded);
    } else if (kGates && p.store == StoreMode::GatedBoxes) {
      if constexpr (kGates) store_gated(acc, row, col / 2, batch, loaded);
    } else if (p.store == StoreMode::Fragments) {
      store_fragments(acc, row, col, batch);
    } else {
      store_general(acc, row, col, batch);
    }
  }

  // Shared memory may not be given up while boxes are still being read out of it.
  __device__ __forceinline__ void drain() const {
    if (ptx::lane() == 0) ptx::store_wait_read<0>();
  }

 private:
  __device__ __forceinline__ bool mine(int chunk) const {
    return !kSplit || (chunk & owners) == owner;
  }

  // 2-byte outputs, alpha alone: registers, stmatrix, tensor copy

  // A box is 16 rows of kChunk columns; transposed, kChunk rows of C of 16 columns each. Its
  // 16-byte pieces are swizzled over the 128 bytes that all banks serve at once.
  struct BoxLayout {
    std::uint32_t first;    // byte of this lane's row of the first four 8 x 8 matrices
    std::uint32_t step;     // to the next four
    std::uint32_t swizzle;  // pieces of a row, less one
  };
  __device__ __forceinline__ BoxLayout box_layout() const {
    const std::uint32_t lane = ptx::lane();
    if (p.transposed) return {((lane & 7) + (lane >> 4) * 8) * 32 + (lane >> 3 & 1) * 16, 512, 1};
    return {(lane & 15) * kChunk * 2 + (lane >> 4) * 16, 32, kChunk / 8 - 1};
  }

  // alpha x, with the bias of 0 that the other epilogues add: it makes -0 a 0.
  static __device__ __forceinline__ float scaled(float alpha, float x) {
    return fmaf(alpha, x, 0.0f);
  }
  template <bool kMultiplies>
  __device__ __forceinline__ void store_boxes(const Accumulators& acc, int row, int col, int batch,
                                              float alpha) {
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
#pragma unroll
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        if (!mine(slab * kChunks + chunk)) continue;
        float v[kChunk / 2];
#pragma unroll
        for (int i = 0; i < kChunk / 2; ++i) {
          const float x = acc[slab][chunk * kChunk / 2 + i];
          v[i] = kMultiplies ? scaled(alpha, x) : x;
        }
        store_box(v, col + chunk * kChunk, row + slab * 64, batch);
      }
    }
  }
  // One chunk, by way of staging memory.
  __device__ __forceinline__ void store_box(const float* chunk, int col, int row, int batch) {
    const Element type = p.epilogue.out.type;
    const std::uint32_t at = acquire_half();
    const BoxLayout layout = box_layout();
#pragma unroll
    for (int pair = 0; pair < kChunk / 16; ++pair) {
      const float* v = chunk + pair * 8;
      const std::uint32_t byte = layout.first + pair * layout.step;
      const std::uint32_t to = at + (byte ^ (((byte >> 7) & layout.swizzle) << 4));
      const std::uint32_t a = pack(type, v[0], v[1]), b = pack(type, v[2], v[3]),
                          c = pack(type, v[4], v[5]), d = pack(type, v[6], v[7]);
      if (p.transposed) {
        ptx::store_matrix_x4_transposed(to, a, b, c, d);
      } else {
        ptx::store_matrix_x4(to, a, b, c, d);
      }
    }
    send_box(at, col, row, batch);
  }

  // The same with a bias and an activation or a gate, rolled around one copy of the epilogue

  __device__ __forceinline__ void store_fused(Accumulators& acc, int row, int col, int batch,
                                              const ColumnTerms& loaded) {
    if (kScales || !p.transposed) stage_terms(loaded);
    const float alpha = kScales ? 1.0f : resolve(p.epilogue.alpha);  // else in a scale
    const ActivationKind activation = p.epilogue.activation;
    if constexpr (kInPlace) {
#pragma unroll
      for (int slab = 0; slab < kSlabs; ++slab) {
#pragma unroll
        for (int i = 0; i < kCols / 2; ++i) acc[slab][i] = __fmul_rn(alpha, acc[slab][i]);
        if constexpr (kScales) apply_scales<kCols>(acc[slab], row + slab * 64, 0, batch);
        add_bias<kCols>(acc[slab], row + slab * 64, 0, batch);
      }
      activate<kSlabs * kCols / 2>(activation, &acc[0][0]);
      store_boxes<false>(acc, row, col, batch, 1.0f);
    } else {
#pragma unroll 1
      for (int step = 0; step < kSlabs * kChunks; ++step) {
        if (!mine(step)) continue;
        const int column = step % kChunks * kChunk, first = row + step / kChunks * 64;
        float v[kChunk / 2];
        take_chunk<kChunk>(acc, step, v);
#pragma unroll
        for (int i = 0; i < kChunk / 2; ++i) v[i] = __fmul_rn(alpha, v[i]);
        if constexpr (kScales) apply_scales<kChunk>(v, first, column, batch);
        add_bias<kChunk>(v, first, column, batch);
        activate<kChunk / 2>(activation, v);
        store_box(v, col + column, first, batch);
      }
    }
  }
  // C's columns have alpha in their scale, as in ColumnQuad; where it is absent a scale is 1.
  __device__ __forceinline__ float scale_of_column(int batch, int n, int end) const {
    return __fmul_rn(resolve(p.epilogue.alpha), load_scale(p.epilogue.col_scale, batch, n, end));
  }
  __device__ __forceinline__ float scale_of_row(int batch, int m, int end) const {
    return load_scale(p.epilogue.row_scale, batch, m, end);
  }
  // Of a column of the tile.
  __device__ __forceinline__ float column_scale(int batch, int at, int end) const {
    return p.transposed ? scale_of_row(batch, at, end) : scale_of_column(batch, at, end);
  }
  // Multiplies kWidth columns of the tile from `column` on, in the 64 rows from `row` on, by both
  // scales; that of C's column is first, as in finish().
  template <int kWidth>
  __device__ __forceinline__ void apply_scales(float* v, int row, int column, int batch) const {
    const int lane = ptx::lane(), first = row + (lane >> 2), end = static_cast<int>(p.rows);
    const std::uint32_t from = bias + 4 * (kCols + column + 2 * (lane & 3));
    float by_row[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      by_row[i] = p.transposed ? scale_of_column(batch, first + i * 8, end)
                               : scale_of_row(batch, first + i * 8, end);
    }
#pragma unroll
    for (int block = 0; block < kWidth / 8; ++block) {
      const float2 s = ptx::load_shared_pair(from + block * 32);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float by_column = i & 1 ? s.y : s.x;
        float& x = v[block * 4 + i];
        x = p.transposed ? __fmul_rn(__fmul_rn(x, by_row[i / 2]), by_column)
                         : __fmul_rn(__fmul_rn(x, by_column), by_row[i / 2]);
      }
    }
  }
  // Adds the bias to kWidth columns of the tile from `column` on, in the 64 rows from `row` on. The
  // columns' is staged: read column by column from global memory it cost a trip to L2 for every 16
  // columns, 12 us a tile.
  template <int kWidth>
  __device__ __forceinline__ void add_bias(float* v, int row, int column, int batch) const {
    if (p.transposed) {
      add_row_bias<kWidth>(v, row + (ptx::lane() >> 2), batch);
    } else {
      add_column_bias<kWidth>(v, bias + 4 * (column + 2 * (ptx::lane() & 3)));
    }
  }
  // Where the tile's rows are C's columns a lane has two of them, `first` and 8 further.
  template <int kWidth>
  __device__ __forceinline__ void add_row_bias(float* v, int first, int batch) const {
    float b[2] = {};
    if (p.epilogue.bias.data != nullptr) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        b[i] = load_one(p.epilogue.bias, batch, first + i * 8, static_cast<int>(p.rows));
    }
#pragma unroll
    for (int i = 0; i < kWidth / 2; ++i) v[i] = __fadd_rn(v[i], b[i / 2 % 2]);
  }
  // The same for columns `pair` and the next of a gate's tile.
  __device__ __forceinline__ float2 load_gate_bias(int first, int batch, int pair) const {
    if (p.epilogue.bias.data == nullptr || pair >= kCols) return {0.0f, 0.0f};
    const int half = pair >= kCols / 2, c = first + pair - half * (kCols / 2);
    const auto at = [&](int column) {
      if (column >= p.cols / 2) return 0.0f;
      const std::int64_t j = half * p.gate_half + column * p.gate_step;
      return load_one(p.epilogue.bias, batch, static_cast<int>(j), static_cast<int>(p.cols));
    };
    return {at(c), at(c + 1)};
  }
  // alpha, bias and the gate, a chunk of C at a time, from its column `col` on.
  __device__ __forceinline__ void store_gated(const Accumulators& acc, int row, int col, int batch,
                                              const ColumnTerms& loaded) {
    constexpr int kOut = kCols / 2, kOfSlab = kOut / kChunk;
    stage_terms(loaded);
    const float alpha = resolve(p.epilogue.alpha);
#pragma unroll 1
    for (int step = 0; step < kSlabs * kOfSlab; ++step) {
      float g[kChunk / 2], u[kChunk / 2];
      pick<kSlabs * kOfSlab>(step, [&](auto s) {
        const float* from = acc[s() / kOfSlab] + s() % kOfSlab * kChunk / 2;
#pragma unroll
        for (int i = 0; i < kChunk / 2; ++i) {
          g[i] = __fmul_rn(alpha, from[i]);
          u[i] = __fmul_rn(alpha, from[kOut / 2 + i]);
        }
      });
      const int column = step % kOfSlab * kChunk;
      const std::uint32_t terms = bias + 4 * (column + 2 * (ptx::lane() & 3));
      add_column_bias<kChunk>(g, terms);
      add_column_bias<kChunk>(u, terms + 4 * kOut);
      join<kChunk / 2>(p.gate, g, u);
      store_box(g, col + column, row + step / kOfSlab * 64, batch);
    }
  }
  __device__ __forceinline__ void stage_terms(const ColumnTerms& loaded) const {
    const int thread = threadIdx.x % 128,
              barrier = 2 + threadIdx.x / 128;  // 3 and 4; ping-pong turns use 1 and 2
    ptx::named_sync(barrier, 128);              // the last tile's have been read
    if (2 * thread < kCols) {
      const std::uint32_t to = bias + 8 * thread;
      ptx::store_shared(to, loaded.bias.x, loaded.bias.y);
      if constexpr (kScales) ptx::store_shared(to + 4 * kCols, loaded.scale.x, loaded.scale.y);
    }
    ptx::named_sync(barrier, 128);
  }
  __device__ __forceinline__ std::uint32_t acquire_half() {
    if (ptx::lane() == 0) ptx::store_wait_read<1>();
    __syncwarp();
    const std::uint32_t at = staging + half;
    half ^= kHalf;
    return at;
  }
  __device__ __forceinline__ void send_box(std::uint32_t from, int col, int row, int batch) const {
    ptx::fence_async_proxy();
    __syncwarp();
    if (ptx::lane() == 0) {
      if (row < p.rows && col < p.cols) {
        ptx::store_box(&p.out, from, p.transposed ? row : col, p.transposed ? col : row, batch);
      }
      ptx::store_commit();  // also when empty: acquire_half() counts groups
    }
  }

  // F32 outputs, alpha alone, and I32 ones: registers to memory, every warp store in whole 32-byte
  // sectors

  __device__ __forceinline__ void store_fragments(const Accumulators& acc, int row, int col,
                                                  int batch) const {
    const float alpha = resolve(p.epilogue.alpha);
    const bool whole = kIntegers && p.epilogue.out.type == Element::I32;
#pragma unroll 1
    for (int step = 0; step < kSlabs * kChunks; ++step) {
      if (!mine(step)) continue;
      float v[kChunk / 2];
      take_chunk<kChunk>(acc, step, v);
      if (!whole) {
#pragma unroll
        for (int i = 0; i < kChunk / 2; ++i) v[i] = scaled(alpha, v[i]);
      }
      store_chunk(v, row + step / kChunks * 64, col + step % kChunks * kChunk, batch);
    }
  }
  __device__ __forceinline__ void store_chunk(const float* v, int row, int col, int batch) const {
    const MatrixRef& out = p.epilogue.out;
    const int lane = ptx::lane(), r = row + (lane >> 2), c = col + 2 * (lane & 3);
    const int left = static_cast<int>(p.cols) - c;
    float* to = static_cast<float*>(out.data) + batch * out.batch_stride;
    to += p.transposed ? c * out.ld + r : r * out.ld + c;
#pragma unroll
    for (int half_row = 0; half_row < 2; ++half_row) {
      if (r + half_row * 8 >= p.rows) continue;
#pragma unroll
      for (int block = 0; block < kChunk / 8; ++block) {
        const float x = v[block * 4 + half_row * 2], y = v[block * 4 + half_row * 2 + 1];
        if (p.transposed) {
          if (left > block * 8) to[block * 8 * out.ld] = x;
          if (left > block * 8 + 1) to[(block * 8 + 1) * out.ld] = y;
        } else if (left > block * 8 + 1) {
          *reinterpret_cast<float2*>(to + block * 8) = {x, y};
        } else if (left > block * 8) {
          to[block * 8] = x;
        }
      }
      to += p.transposed ? 8 : 8 * out.ld;
    }
  }

  // Any output, any epilogue: through f32 in staging memory, then row by row of C

  // With a copy of the epilogue a chunk, ptxas took 3.9 s a kernel and spilled.
  __device__ __forceinline__ void store_general(const Accumulators& acc, int row, int col,
                                                int batch) const {
#pragma unroll 1
    for (int step = 0; step < kSlabs * kChunks; ++step) {
      if (!mine(step)) continue;
      __syncwarp();
      float v[kChunk / 2];
      take_chunk<kChunk>(acc, step, v);
      stage_chunk(v);
      __syncwarp();
      finish_chunk(row + step / kChunks * 64, col + step % kChunks * kChunk, batch);
    }
  }

  // Byte of (row, column) of a chunk staged in C's order: rows of kUnits 16-byte units, rotated by
  // an even number of units so that the fragment's 8-byte writes spread over the banks.
  static __device__ __forceinline__ std::uint32_t staged(int row, int column) {
    return row * kUnits * 16 + (((column >> 2) ^ ((row << 1) & (kUnits - 1))) << 4) +
           (column & 3) * 4;
  }
  // The same for a transposed chunk: the tile's columns are C's rows, each 16 long.
  static __device__ __forceinline__ std::uint32_t staged_transposed(int row, int column) {
    return column * 64 + ((((row >> 2) ^ (column >> 1)) & 3) << 4) + (row & 3) * 4;
  }

  __device__ __forceinline__ void stage_chunk(const float* acc) const {
    const int lane = ptx::lane(), r = lane >> 2, c = 2 * (lane & 3);
    if (p.transposed) {
#pragma unroll
      for (int block = 0; block < kChunk / 8; ++block) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          ptx::store_shared(staging + staged_transposed(r + i / 2 * 8, block * 8 + c + i % 2),
                            acc[block * 4 + i]);
        }
      }
      return;
    }
#pragma unroll
    for (int block = 0; block < kChunk / 8; ++block) {
      const float* v = acc + block * 4;
      ptx::store_shared(staging + staged(r, block * 8 + c), v[0], v[1]);
      ptx::store_shared(staging + staged(r + 8, block * 8 + c), v[2], v[3]);
    }
  }

  // Each lane keeps one quad of columns and walks down the rows, kBatch at a time: the column's
  // scale and bias are loaded once, and kBatch hides the latency of the loads. Few registers are
  // left beside 160 or 192 accumulators.
  __device__ __forceinline__ void finish_chunk(int row, int col, int batch) const {
    constexpr int kBatch = kSlabs * kCols / 2 > 160 ? 1 : kSlabs * kCols / 2 > 128 ? 2 : 4;
    // Quads of a row of C in the chunk: 4 when transposed, else kUnits.
    const int rows = p.transposed ? kChunk : kStoreRows, step = p.transposed ? 8 : 32 / kUnits;
    const int lane = ptx::lane(), c = (p.transposed ? lane % 4 : lane % kUnits) * 4;
    const int n = (p.transposed ? row : col) + c;
    const int left = static_cast<int>(p.transposed ? p.rows : p.cols) - n;
    if (left <= 0) return;
    const int m = p.transposed ? col : row,
              m_end = static_cast<int>(p.transposed ? p.cols : p.rows);
    if constexpr (kIntegers) {
      if (p.epilogue.out.type == Element::I32) {
#pragma unroll 1
        for (int r = p.transposed ? lane / 4 : lane / kUnits; r < min(rows, m_end - m); r += step) {
          finish_integers(
              p.epilogue, m + r, n, left, batch,
              ptx::load_shared(staging + (p.transposed ? staged_transposed(c, r) : staged(r, c))));
        }
        return;
      }
    }
    const ColumnQuad q(p.epilogue, n, left, batch);
#pragma unroll 1
    for (int r = p.transposed ? lane / 4 : lane / kUnits; r < rows; r += kBatch * step) {
      float v[kBatch][4];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int at = min(r + i * step, rows - 1);
        const float4 x =
            ptx::load_shared(staging + (p.transposed ? staged_transposed(c, at) : staged(at, c)));
        v[i][0] = x.x, v[i][1] = x.y, v[i][2] = x.z, v[i][3] = x.w;
      }
      finish(p.epilogue, q, v, m + r, step, min(m_end, m + rows));
    }
  }
};

}  // namespace girih::inline v0::cuda
