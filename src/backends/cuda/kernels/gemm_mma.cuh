#pragma once
// Products on the matrix units of compute capability 8.0 and later: asynchronous copies into a ring
// of three stages, ldmatrix and mma.sync out of it, persistent blocks. Each sum is one chain over K
// in steps of 16 (8-bit integers: 32), whatever the tile.

#include "backends/cuda/kernels/mma.cuh"
#include "backends/cuda/kernels/mma_kernels.hpp"
#include "backends/cuda/kernels/mma_operand.cuh"
#include "backends/cuda/kernels/simt_finish.cuh"

namespace girih::inline v0::cuda {

template <Element kType>
struct MmaSum {
  using Type = float;
  static constexpr int kBytes = 2;
};
template <>
struct MmaSum<Element::I8> {
  using Type = std::int32_t;
  static constexpr int kBytes = 1;
};

/// f32 operands, as tf32.
template <>
struct MmaSum<Element::TF32> {
  using Type = float;
  static constexpr int kBytes = 4;
};

/// One block's part of C.
struct MmaUnit {
  std::int64_t batch, m, n;

  /// Bands of eight tiles along M, each crossed along N, so that blocks at work together share
  /// operands in L2.
  __device__ __forceinline__ MmaUnit(const MmaParams& p, std::int64_t unit, int extent) {
    constexpr std::int64_t kBand = 8;
    const std::int64_t tiles = p.rows * p.columns;
    batch = unit / tiles;
    const std::int64_t tile = unit - batch * tiles, band = tile / (kBand * p.columns);
    const std::int64_t left = p.rows - band * kBand, height = left < kBand ? left : kBand;
    const std::int64_t in_band = tile - band * kBand * p.columns, column = in_band / height;
    m = (band * kBand + in_band - column * height) * extent;
    n = column * extent;
  }
};

template <Element kType, Major kA, Major kB, bool kGathers, int kTile>
class MmaBlock {
 public:
  static constexpr MmaTile kShape = kMmaTiles[kTile];
  static constexpr int kExtent = kShape.extent, kThreads = mma_threads(kShape);
  static constexpr int kBytes = MmaSum<kType>::kBytes, kDepth = kMmaRowBytes / kBytes;
  static constexpr int kWarpRows = kExtent / kShape.warps_m, kWarpCols = kExtent / kShape.warps_n;
  static constexpr int kTilesM = kWarpRows / 16, kTilesN = kWarpCols / 8;
  static constexpr int kOperandBytes = kExtent * kMmaRowBytes, kStageBytes = 2 * kOperandBytes;
  using Sum = typename MmaSum<kType>::Type;

  __device__ __forceinline__ MmaBlock(const MmaParams& p, std::uint32_t shared)
      : p_(p), shared_(shared) {
    const int lane = threadIdx.x % 32;
    a_ = mma_lane(kA, true, row(), lane);
    b_ = mma_lane(kB, false, column(), lane);
  }

  __device__ __forceinline__ void run(const MmaUnit& unit) {
    const SimtParams& t = p_.terms;
    const auto source = [&](const StridedRef& x, std::int64_t stride, std::int64_t k_stride,
                            std::int64_t extent) {
      const int bytes = x.type == Element::F8E4M3 || x.type == Element::F8E5M2 ? 1 : kBytes;
      return MmaSource{static_cast<const char*>(x.data) + unit.batch * x.batch * bytes,
                       x.type,
                       stride,
                       k_stride,
                       extent,
                       t.k};
    };
    const MmaSource a = source(t.a, t.a.row, t.a.column, t.m);
    const MmaSource b = source(t.b, t.b.column, t.b.row, t.n);
    using CopyA = MmaCopier<kA, kExtent, kThreads, kBytes>;
    using CopyB = MmaCopier<kB, kExtent, kThreads, kBytes>;
    using Gather = MmaGatherer<kExtent, kThreads, kBytes>;
    // Gathered operands are K-major. Plain copies have kernels of their own, for their registers.
    if constexpr (kGathers && kA == Major::K && kB == Major::K) {
      if (p_.a == MmaEntry::Gathered && p_.b == MmaEntry::Gathered) {
        return multiply(Gather(a, unit.m), Gather(b, unit.n));
      }
    }
    if constexpr (kGathers && kA == Major::K) {
      if (kB != Major::K || p_.a == MmaEntry::Gathered) {
        return multiply(Gather(a, unit.m), CopyB(b, unit.n));
      }
    }
    if constexpr (kGathers) {
      multiply(CopyA(a, unit.m), Gather(b, unit.n));
    } else {
      multiply(CopyA(a, unit.m), CopyB(b, unit.n));
    }
  }

  /// The epilogue of the sums, which pass through shared memory: neighbouring threads take
  /// neighbouring elements of C.
  __device__ __forceinline__ void finish(const MmaUnit& unit, Sum* staged) const {
    constexpr int kStride = mma_sum_stride(kShape);
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
      for (int j = 0; j < kTilesN; ++j) {
        Sum* const at =
            staged + (row() + i * 16 + lane / 4) * kStride + column() + j * 8 + lane % 4 * 2;
        at[0] = sum_[i][j][0];
        at[1] = sum_[i][j][1];
        at[8 * kStride] = sum_[i][j][2];
        at[8 * kStride + 1] = sum_[i][j][3];
      }
    }
    __syncthreads();
    if (p_.has_rows) {
      finish_rows(unit, staged);
    } else {
      finish_elements(unit, staged);
    }
    __syncthreads();  // the stages lie where the sums do
  }

 private:
  __device__ __forceinline__ void finish_rows(const MmaUnit& unit, const Sum* staged) const {
    constexpr int kQuads = kExtent / 4, kLines = kThreads / kQuads, kRows = 2;
    const int quad = threadIdx.x % kQuads, line = threadIdx.x / kQuads;
    const int n = static_cast<int>(unit.n) + 4 * quad, m = static_cast<int>(unit.m);
    const int n_end = static_cast<int>(p_.terms.n), m_end = static_cast<int>(p_.terms.m);
    if (n >= n_end) return;
    const ColumnQuad columns(p_.epilogue, n, n_end - n, static_cast<int>(unit.batch));
#pragma unroll 1
    for (int row = line; row < kExtent; row += kRows * kLines) {
      float v[kRows][4];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const Sum* const at = staged + (row + r * kLines) * mma_sum_stride(kShape) + 4 * quad;
#pragma unroll
        for (int i = 0; i < 4; ++i) v[r][i] = static_cast<float>(at[i]);
      }
      cuda::finish(p_.epilogue, columns, v, m + row, kLines, m_end);
    }
  }

  __device__ __forceinline__ void finish_elements(const MmaUnit& unit, const Sum* staged) const {
    constexpr int kStride = mma_sum_stride(kShape);
    const SimtParams& t = p_.terms;
    const bool along_m = t.c.row < t.c.column;
#pragma unroll 1
    for (int i = threadIdx.x; i < kExtent * kExtent; i += kThreads) {
      const int outer = i / kExtent, inner = i % kExtent;
      const int row = along_m ? inner : outer, column = along_m ? outer : inner;
      const std::int64_t m = unit.m + row, n = unit.n + column;
      if (m >= t.m || n >= t.n) continue;
      const Sum value = staged[row * kStride + column];
      if (t.c.type == Element::I32) {
        finish_i32(t, unit.batch * t.c.batch + m * t.c.row + n * t.c.column,
                   static_cast<long long>(value));
      } else {
        finish_element(t, unit.batch, m, n, static_cast<float>(value));
      }
    }
  }

  // Of the warp's part of the tile. Found anew: registers are short in the main loop.
  static __device__ __forceinline__ int row() {
    return static_cast<int>(threadIdx.x) / 32 / kShape.warps_n * kWarpRows;
  }
  static __device__ __forceinline__ int column() {
    return static_cast<int>(threadIdx.x) / 32 % kShape.warps_n * kWarpCols;
  }

  template <class A, class B>
  __device__ __forceinline__ void multiply(A a, B b) {
    clear();
    const std::int64_t steps = (p_.terms.k + kDepth - 1) / kDepth;
#pragma unroll
    for (int i = 0; i < kMmaStages - 1; ++i) {
      if (i < steps) load(a, b, i);
      ptx::copy_commit();
    }
    int stage = 0;
#pragma unroll 1
    for (std::int64_t step = 0; step < steps; ++step) {
      ptx::copy_wait<kMmaStages - 2>();
      __syncthreads();
      if (step + kMmaStages - 1 < steps) load(a, b, stage == 0 ? kMmaStages - 1 : stage - 1);
      ptx::copy_commit();
      multiply_stage(shared_ + stage * kStageBytes);
      stage = stage == kMmaStages - 1 ? 0 : stage + 1;
    }
    ptx::copy_wait<0>();
    __syncthreads();
  }

  template <class A, class B>
  __device__ __forceinline__ void load(A& a, B& b, int stage) {
    a.next(shared_ + stage * kStageBytes, p_.terms.a.data);
    b.next(shared_ + stage * kStageBytes + kOperandBytes, p_.terms.b.data);
  }

  __device__ __forceinline__ void multiply_stage(std::uint32_t stage) {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t a[kTilesM][4], b[kTilesN / 2][4];
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) fetch<kA>(a[i], stage + mma_address(kA, a_, i, step));
#pragma unroll
      for (int j = 0; j < kTilesN / 2; ++j) {
        fetch<kB>(b[j], stage + kOperandBytes + mma_address(kB, b_, j, step));
      }
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
        for (int j = 0; j < kTilesN; ++j) {
          ptx::multiply_add<kType>(sum_[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }

  template <Major kMajor>
  static __device__ __forceinline__ void fetch(std::uint32_t (&to)[4], std::uint32_t from) {
    if constexpr (kMajor == Major::K) {
      ptx::load_matrix_x4(to, from);
    } else {
      ptx::load_matrix_x4_transposed(to, from);
    }
    if constexpr (kType == Element::TF32) {
#pragma unroll
      for (std::uint32_t& x : to) x = ptx::round_to_tf32(x);
    }
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (auto& row : sum_) {
#pragma unroll
      for (auto& tile : row) {
#pragma unroll
        for (Sum& x : tile) x = 0;
      }
    }
  }

  const MmaParams& p_;
  const std::uint32_t shared_;
  MmaLane a_, b_;
  Sum sum_[kTilesM][kTilesN][4];
};

/// Blocks that share a multiprocessor. With one more ptxas of 8.0 spills registers to fit it.
constexpr int mma_resident(int tile, bool gathers) {
  return !gathers && tile == 0 ? 2 : 1;
}

template <Element kType, Major kA, Major kB, bool kGathers, int kTile>
__global__ void __launch_bounds__(mma_threads(kMmaTiles[kTile]), mma_resident(kTile, kGathers))
    gemm_mma(const __grid_constant__ MmaParams p) {
  extern __shared__ uint4 mma_shared[];
  using Block = MmaBlock<kType, kA, kB, kGathers, kTile>;
  Block block(p, static_cast<std::uint32_t>(__cvta_generic_to_shared(mma_shared)));
  for (std::int64_t i = blockIdx.x; i < p.units; i += gridDim.x) {
    const MmaUnit unit(p, i, Block::kExtent);
    block.run(unit);
    block.finish(unit, reinterpret_cast<typename Block::Sum*>(mma_shared));
  }
}

/// The kernel of a tile and the layouts of its sides.
template <Element kType, Major kA, Major kB>
const void* mma_kernel_of(int tile, bool gathers) {
  if constexpr (kA == Major::K || kB == Major::K) {
    if (gathers) {
      return tile == 0 ? reinterpret_cast<const void*>(&gemm_mma<kType, kA, kB, true, 0>)
                       : reinterpret_cast<const void*>(&gemm_mma<kType, kA, kB, true, 1>);
    }
  }
  return tile == 0 ? reinterpret_cast<const void*>(&gemm_mma<kType, kA, kB, false, 0>)
                   : reinterpret_cast<const void*>(&gemm_mma<kType, kA, kB, false, 1>);
}

}  // namespace girih::inline v0::cuda
