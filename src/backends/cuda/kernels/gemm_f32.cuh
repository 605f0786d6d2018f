#pragma once
// f32 products on fused multiply-adds: each element is one chain over k = 0, 1, 2, ..., whatever
// the tile. Asynchronous copies fill a ring of stages in which K is the outer extent; while one k
// is multiplied the fragments of the next are on their way to registers.
//
// A thread has groups of 4 rows, 16 apart, and of 4 columns, 32 apart: loads of a fragment are 16
// bytes, and those of a warp contiguous.

#include <type_traits>

#include "backends/cuda/kernels/accumulators.cuh"
#include "backends/cuda/kernels/async_copy.cuh"
#include "backends/cuda/kernels/f32_params.hpp"
#include "backends/cuda/kernels/ptx.cuh"
#include "backends/cuda/kernels/simt_finish.cuh"
#include "plan/cuda_f32_tile.hpp"

namespace girih::inline v0::cuda {

/// Copies one operand, stage after stage, a pass at a time.
template <int kExtent, int kDepth, int kThreads, F32Load kLoad>
struct F32Loader {
  static constexpr bool kWide = kLoad == F32Load::Wide;
  static constexpr int kPasses = f32_passes(kExtent, kDepth, kThreads, kLoad);
  static constexpr F32Copy kSteps = f32_copy(kExtent, kDepth, kThreads, kLoad, false, 0);
  static_assert(kPasses * kThreads * (kWide ? 4 : 1) == kExtent * kDepth);

  const char* from;
  std::int64_t pass_step,
      stage_step;              // bytes to the next pass, and from the last to the next stage
  std::uint32_t to, own_step;  // bytes in shared memory; the step of Any
  int left;                    // of the extent, from this thread's first element on
  int k, own_extent_step, own_k_step;  // those of Any

  /// `data` is at the tile's first element of the extent and at the first k.
  __device__ __forceinline__ F32Loader(const float* data, std::int64_t extent_stride,
                                       std::int64_t k_stride, std::int64_t valid, bool along_k) {
    const F32Copy copy = f32_copy(kExtent, kDepth, kThreads, kLoad, along_k, threadIdx.x);
    from =
        reinterpret_cast<const char*>(data + copy.first * extent_stride + copy.first_k * k_stride);
    pass_step = 4 * (copy.extent_step * extent_stride + copy.k_step * k_stride);
    stage_step = 4 * kDepth * k_stride - (kPasses - 1) * pass_step;
    to = 4 * (copy.first_k * f32_row(kExtent) + copy.first);
    own_step = 4 * (copy.k_step * f32_row(kExtent) + copy.extent_step);
    left = static_cast<int>(valid < kExtent ? valid : kExtent) - copy.first;
    k = copy.first_k;
    own_extent_step = copy.extent_step;
    own_k_step = copy.k_step;
  }

  [[nodiscard]] __device__ __forceinline__ int extent_step() const {
    return kLoad == F32Load::Any ? own_extent_step : kSteps.extent_step;
  }
  [[nodiscard]] __device__ __forceinline__ int k_step() const {
    return kLoad == F32Load::Any ? own_k_step : kSteps.k_step;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t step() const {
    return kLoad == F32Load::Any ? own_step
                                 : 4 * (kSteps.k_step * f32_row(kExtent) + kSteps.extent_step);
  }

  /// Passes in order. `kWhole`: neither the extent nor `k_left` ends inside this stage. What is
  /// beyond is 0.
  template <bool kWhole>
  __device__ __forceinline__ void load(std::uint32_t stage, int pass, int k_left) {
    const std::uint32_t at = stage + to + pass * step();
    if constexpr (kWhole) {
      ptx::copy_async<kWide ? 16 : 4>(at, from);
    } else {
      const int here = k + pass * k_step() < k_left ? left - pass * extent_step() : 0;
      const int most = kWide ? 4 : 1, count = here < 0 ? 0 : here < most ? here : most;
      ptx::copy_async_or_zero<kWide ? 16 : 4>(at, from, count * 4);
    }
    from += pass == kPasses - 1 ? stage_step : pass_step;
  }
};

template <int kTile, F32Load kLoadA, F32Load kLoadB>
struct GemmF32 {
  static constexpr F32Tile kT = kF32Tiles[kTile];
  static constexpr int kThreads = f32_threads(kT);
  static constexpr int kRowB = f32_row(kT.cols), kRowA = f32_row(kT.rows);
  static constexpr int kStageBytes = 4 * f32_stage_floats(kT);
  static constexpr int kRowGroups = kT.thread_rows / 4, kColGroups = kT.thread_cols / 4;
  static constexpr int kWarpCols = kT.cols / (8 * kT.thread_cols);  // warps along the columns
  static_assert(kT.depth % 2 == 0 && (kF32Stages & (kF32Stages - 1)) == 0);
  using LoaderA = F32Loader<kT.rows, kT.depth, kThreads, kLoadA>;
  using LoaderB = F32Loader<kT.cols, kT.depth, kThreads, kLoadB>;
  using Sums = float[kT.thread_rows][kT.thread_cols];

  const F32Params& p;
  const std::uint32_t shared;

  // This thread's first row and column of a tile. Eight lanes in turn read two rows' and four
  // columns' groups.
  static __device__ __forceinline__ int first_row() {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    return warp / kWarpCols * 4 * kT.thread_rows + (lane / 16 * 2 + lane % 2) * 4;
  }
  static __device__ __forceinline__ int first_col() {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    return warp % kWarpCols * 8 * kT.thread_cols + lane / 2 % 8 * 4;
  }

  __device__ __forceinline__ void run() {
    ptx::wait_for_dependencies();
    ptx::launch_dependents();
    if (p.only_if != nullptr && (p.only_if[0] | p.only_if[1]) == 0) return;
    const std::uint32_t units =
        p.tile_rows * p.tile_cols * p.splits * static_cast<std::uint32_t>(p.simt.batch);
    for (std::uint32_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
      const Place place = place_of(unit);
      Sums sums;
      multiply(sums, place);
      if constexpr (kT.in_clusters) {
        if (p.in_cluster) {
          exchange(sums, place);
          return;
        }
      }
      store(sums, place);
    }
  }

 private:
  // A slice of a tile.
  struct Place {
    std::uint32_t batch, slice;
    std::int64_t m, n;  // its first element
  };
  __device__ __forceinline__ Place place_of(std::uint32_t unit) const {
    const std::uint32_t plane = p.tile_rows * p.tile_cols;
    std::uint32_t batch, slice, tile;
    if (kT.in_clusters && p.in_cluster) {
      const std::uint32_t matrix_tile = unit / p.splits;
      slice = unit - matrix_tile * p.splits;
      batch = matrix_tile / plane;
      tile = matrix_tile - batch * plane;
    } else {
      const std::uint32_t matrix = unit / plane;
      tile = unit - matrix * plane;
      batch = matrix / p.splits;
      slice = matrix - batch * p.splits;
    }
    const F32Place at = f32_place(tile, p.tile_rows, p.tile_cols);
    return {batch, slice, static_cast<std::int64_t>(at.row) * kT.rows,
            static_cast<std::int64_t>(at.col) * kT.cols};
  }

  // A cluster's blocks have made a slice of K each: they meet in shared memory and finish a part of
  // the rows each, of which slices are added in order.
  __device__ __forceinline__ void exchange(const Sums& sums, const Place& place) const {
#if __CUDA_ARCH__ >= 900
    constexpr int kRow = f32_row(kT.cols), kQuads = kT.cols / 4;
    static_assert(4 * kT.rows * kRow <= f32_shared_bytes(kT));
    __syncthreads();  // the last stage has been read
#pragma unroll
    for (int i = 0; i < kT.thread_rows; ++i) {
      const int row = first_row() + i / 4 * 16 + i % 4;
#pragma unroll
      for (int j = 0; j < kColGroups; ++j) {
        ptx::store_shared(shared + 4 * (row * kRow + first_col() + j * 32), sums[i][4 * j],
                          sums[i][4 * j + 1], sums[i][4 * j + 2], sums[i][4 * j + 3]);
      }
    }
    ptx::cluster_exchange();
    // A lane keeps a quad of columns and takes two rows at a time.
    constexpr int kStep = kThreads / kQuads;
    const int rows = kT.rows / p.splits, first = static_cast<int>(place.slice) * rows;
    const int n = static_cast<int>(place.n) + threadIdx.x % kQuads * 4;
    const int m = static_cast<int>(place.m) + first;
    const int m_end = min(static_cast<int>(p.simt.m), m + rows);
    if (n < p.simt.n) {
      const ColumnQuad q(p.epilogue, n, static_cast<int>(p.simt.n) - n,
                         static_cast<int>(place.batch));
#pragma unroll 1
      for (int row = threadIdx.x / kQuads; m + row < m_end; row += 2 * kStep) {
        const std::uint32_t at =
            shared + 4 * ((first + row) * kRow + static_cast<int>(threadIdx.x % kQuads * 4));
        float v[2][4] = {};
#pragma unroll 1
        for (int from = 0; from < p.splits; ++from) {
          const std::uint32_t theirs = ptx::address_at(at, from);
          const float4 x = ptx::load_remote(theirs),
                       y = ptx::load_remote(theirs + 4 * kStep * kRow);
          v[0][0] += x.x, v[0][1] += x.y, v[0][2] += x.z, v[0][3] += x.w;
          v[1][0] += y.x, v[1][1] += y.y, v[1][2] += y.z, v[1][3] += y.w;
        }
        finish(p.epilogue, q, v, m + row, kStep, m_end);
      }
    }
    ptx::cluster_sync();  // nobody reads what is here any more
#endif
  }

  struct Fragment {
    float a[kT.thread_rows], b[kT.thread_cols];
  };
  __device__ __forceinline__ void read(Fragment& f, std::uint32_t stage, int k, int row,
                                       int col) const {
    const std::uint32_t a = stage + 4 * (k * kRowA + row);
    const std::uint32_t b = stage + 4 * (kT.depth * kRowA + k * kRowB + col);
#pragma unroll
    for (int i = 0; i < kRowGroups; ++i) {
      const float4 x = ptx::load_shared(a + i * 64);
      f.a[4 * i] = x.x, f.a[4 * i + 1] = x.y, f.a[4 * i + 2] = x.z, f.a[4 * i + 3] = x.w;
    }
#pragma unroll
    for (int j = 0; j < kColGroups; ++j) {
      const float4 x = ptx::load_shared(b + j * 128);
      f.b[4 * j] = x.x, f.b[4 * j + 1] = x.y, f.b[4 * j + 2] = x.z, f.b[4 * j + 3] = x.w;
    }
  }

  __device__ __forceinline__ void multiply(Sums& sums, const Place& place) {
    const SimtParams& s = p.simt;
    const std::int64_t m = place.m, n = place.n;
    const std::uint32_t batch = place.batch;
    const int slice = static_cast<int>(place.slice);
    const std::int64_t begin = f32_slice_begin(s.k, kT.depth, p.splits, slice),
                       end = f32_slice_begin(s.k, kT.depth, p.splits, slice + 1);
    LoaderA a(
        static_cast<const float*>(s.a.data) + batch * s.a.batch + m * s.a.row + begin * s.a.column,
        s.a.row, s.a.column, s.m - m, p.a_along_k);
    LoaderB b(
        static_cast<const float*>(s.b.data) + batch * s.b.batch + n * s.b.column + begin * s.b.row,
        s.b.column, s.b.row, s.n - n, p.b_along_k);
    const bool inside = s.m - m >= kT.rows && s.n - n >= kT.cols;
    std::int64_t k_left = end - begin;  // of what is still to be loaded
    std::uint32_t fill = shared;        // the stage that is loaded next
    const auto advance = [this](std::uint32_t& stage) {
      stage = stage == shared + (kF32Stages - 1) * kStageBytes ? shared : stage + kStageBytes;
    };

#pragma unroll
    for (int i = 0; i < kT.thread_rows; ++i) {
#pragma unroll
      for (int j = 0; j < kT.thread_cols; ++j) sums[i][j] = 0.0f;
    }
    __syncthreads();  // the last tile's stages have been read
#pragma unroll 1
    for (int i = 0; i < kF32Stages - 1; ++i) {
      load_some<false>(a, b, fill, 0, kT.depth - 1, k_left);
      ptx::copy_commit();
      k_left -= kT.depth;
      advance(fill);
    }
    ptx::copy_wait<kF32Stages - 2>();
    __syncthreads();
    const int row = first_row(), col = first_col();
    Fragment fragments[2];
    std::uint32_t stage = shared;
    read(fragments[0], stage, 0, row, col);

    // One stage's products, under which another is loaded.
    const auto step = [&](auto whole) {
#pragma unroll
      for (int d = 0; d < kT.depth; ++d) {
        if (d == kT.depth - 1) {
          ptx::copy_commit();
          ptx::copy_wait<kF32Stages - 2>();
          __syncthreads();
          advance(stage);
        } else {
          load_some<decltype(whole)::value>(a, b, fill, d, d + 1, k_left);
        }
        read(fragments[(d + 1) % 2], stage, (d + 1) % kT.depth, row, col);
        const Fragment& f = fragments[d % 2];
#pragma unroll
        for (int i = 0; i < kT.thread_rows; ++i) {
#pragma unroll
          for (int j = 0; j < kT.thread_cols; ++j) {
            sums[i][j] = __fmaf_rn(f.a[i], f.b[j], sums[i][j]);
          }
        }
      }
      k_left -= kT.depth;
      advance(fill);
    };
    if (inside) {
#pragma unroll 1
      while (k_left >= kT.depth) step(std::true_type());
    }
#pragma unroll 1
    while (k_left > -kT.depth * (kF32Stages - 1)) step(std::false_type());
    ptx::copy_wait<0>();
  }

  // The passes of steps `first` to `last` of a stage.
  template <bool kWhole>
  static __device__ __forceinline__ void load_some(LoaderA& a, LoaderB& b, std::uint32_t stage,
                                                   int first, int last, std::int64_t k_left) {
    if (!kWhole && k_left <= 0) return;
    const int left = kWhole || k_left >= kT.depth ? kT.depth : static_cast<int>(k_left);
#pragma unroll
    for (int pass = 0; pass < LoaderA::kPasses; ++pass) {
      if (pass < f32_passes_before(first, kT.depth, LoaderA::kPasses) ||
          pass >= f32_passes_before(last, kT.depth, LoaderA::kPasses)) {
        continue;
      }
      a.template load<kWhole>(stage, pass, left);
    }
#pragma unroll
    for (int pass = 0; pass < LoaderB::kPasses; ++pass) {
      if (pass < f32_passes_before(first, kT.depth, LoaderB::kPasses) ||
          pass >= f32_passes_before(last, kT.depth, LoaderB::kPasses)) {
        continue;
      }
      b.template load<kWhole>(stage + 4 * kT.depth * kRowA, pass, left);
    }
  }

  // Rolled around one copy of the epilogue, four rows of four columns at a time.
  __device__ __forceinline__ void store(const Sums& sums, const Place& place) const {
    const std::int64_t m = place.m + first_row(), n = place.n + first_col();
    const int matrix = static_cast<int>(place.batch * p.splits + place.slice);
#pragma unroll 1
    for (int step = 0; step < kRowGroups * kColGroups; ++step) {
      float v[4][4];
      pick<kRowGroups * kColGroups>(step, [&](auto s) {
#pragma unroll
        for (int e = 0; e < 16; ++e)
          v[e / 4][e % 4] = sums[s() / kColGroups * 4 + e / 4][s() % kColGroups * 4 + e % 4];
      });
      const std::int64_t row = m + step / kColGroups * 16, col = n + step % kColGroups * 32;
      if (col >= p.simt.n) continue;
      if (p.epilogue.out.data == nullptr) {
        store_elements(v, place.batch, row, col);
        continue;
      }
      const ColumnQuad q(p.epilogue, static_cast<int>(col), static_cast<int>(p.simt.n - col),
                         matrix);
      finish(p.epilogue, q, v, static_cast<int>(row), 1, static_cast<int>(p.simt.m));
    }
  }
  __device__ __forceinline__ void store_elements(const float (&v)[4][4], std::uint32_t batch,
                                                 std::int64_t m, std::int64_t n) const {
#pragma unroll 1
    for (int step = 0; step < 16; ++step) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        if (i == step) sum = v[i / 4][i % 4];
      }
      const std::int64_t row = m + step / 4, col = n + step % 4;
      if (row < p.simt.m && col < p.simt.n) finish_element(p.simt, batch, row, col, sum);
    }
  }
};

template <int kTile, F32Load kLoadA, F32Load kLoadB>
__global__ void __launch_bounds__(f32_threads(kF32Tiles[kTile]), kF32Tiles[kTile].blocks)
    gemm_f32(const __grid_constant__ F32Params params) {
  extern __shared__ __align__(16) unsigned char shared[];
  GemmF32<kTile, kLoadA, kLoadB>{params, ptx::shared_address(shared)}.run();
}

template <int kTile>
const void* gemm_f32_of(F32Load a, F32Load b) {
  if (a == F32Load::Any || b == F32Load::Any) {
    return reinterpret_cast<const void*>(&gemm_f32<kTile, F32Load::Any, F32Load::Any>);
  }
  if (a == F32Load::Wide) {
    return b == F32Load::Wide
               ? reinterpret_cast<const void*>(&gemm_f32<kTile, F32Load::Wide, F32Load::Wide>)
               : reinterpret_cast<const void*>(&gemm_f32<kTile, F32Load::Wide, F32Load::AlongK>);
  }
  return b == F32Load::Wide
             ? reinterpret_cast<const void*>(&gemm_f32<kTile, F32Load::AlongK, F32Load::Wide>)
             : reinterpret_cast<const void*>(&gemm_f32<kTile, F32Load::AlongK, F32Load::AlongK>);
}

}  // namespace girih::inline v0::cuda

/// Defines the look-up of one tile's kernels: a translation unit each.
#define GIRIH_GEMM_F32_UNIT(tile)                     \
  namespace girih::inline v0::cuda {                  \
  const void* gemm_f32_##tile(F32Load a, F32Load b) { \
    return gemm_f32_of<tile>(a, b);                   \
  }                                                   \
  }
