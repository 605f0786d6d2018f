// Fast products of f32 from three bf16 parts of each operand. A stage holds all six tiles of parts
// for 64 of K, so that each is loaded once for the products it is in. Their sum, small terms first,
// is made on the matrix unit from 0, and added in f32 to those before it: over a long K the unit's
// cutting would cost more than all roundings of f32.
//
// Roles as in gemm_wgmma.cuh: warpgroup 0 has the producer, each other one consumes 64 rows.

#include "backends/cuda/kernels/descriptor.cuh"
#include "backends/cuda/kernels/fast_f32_params.hpp"
#include "backends/cuda/kernels/pipeline.cuh"
#include "backends/cuda/kernels/ptx.cuh"
#include "backends/cuda/kernels/scheduler.cuh"
#include "backends/cuda/kernels/tile_output.cuh"
#include "backends/cuda/kernels/wgmma.cuh"

namespace girih::inline v0::cuda {
namespace {

template <int kRows>
struct FastKernel {
  static constexpr TileConfig kTile = fast_tile(kRows);
  static constexpr int kDepth = 64;
  using TileA = OperandTile<Major::K, kRows, kDepth>;
  using TileB = OperandTile<Major::K, kFastCols, kDepth>;
  static constexpr int kStageBytes = fast_stage_bytes(kRows);
  static constexpr int kB = 3 * TileA::kBytes;  // where B's parts are in a stage
  using Cursor = RingCursor<kFastStages>;
  using Sums = float[1][kFastCols / 2];
  using Output = WarpOutput<1, kFastCols, false, false>;

  const GemmParams& p;
  const std::uint32_t* flags;
  std::uint32_t base;
  Ring<kFastStages> ring;

  __device__ __forceinline__ FastKernel(const FastParams& params, std::uint32_t shared)
      : p(params.gemm),
        flags(params.flags),
        base(shared),
        ring{shared + kFastStages * kStageBytes + staging_bytes(kTile) + bias_bytes(kTile)} {}

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) {
      ptx::prefetch_map(&p.a);
      ptx::prefetch_map(&p.b);
      ring.init(4 * kTile.consumers);
    }
    __syncthreads();
    ptx::wait_for_dependencies();
    ptx::launch_dependents();
    if ((__ldcg(flags) | __ldcg(flags + 1)) != 0) return;
    const int warpgroup = __shfl_sync(0xFFFFFFFF, threadIdx.x / 128, 0);
    if (warpgroup == 0) {
      if constexpr (kTile.consumers == 2) ptx::registers_lower<40>();
      if (threadIdx.x == 0) produce();
      __syncwarp();
    } else {
      if constexpr (kTile.consumers == 2) ptx::registers_raise<232>();
      consume(warpgroup - 1);
    }
  }

 private:
  __device__ __forceinline__ void produce() {
    Cursor at;
    for (Scheduler scheduler(p); !scheduler.done(); scheduler.next()) {
      const TilePlace tile = scheduler.place();
      const Slice slice = scheduler.slice();
      const int row = tile.row_tile * kRows, col = tile.col_tile * kFastCols;
      const int batch_a = p.a_batched ? 3 * tile.batch : 0,
                batch_b = p.b_batched ? 3 * tile.batch : 0;
      for (int k = slice.begin; k < slice.begin + slice.count; ++k) {
        ring.wait_empty(at);
        const std::uint32_t full = ring.full(at.stage), stage = base + at.stage * kStageBytes;
        ptx::barrier_expect_bytes(full, kStageBytes);
#pragma unroll
        for (int part = 2; part >= 0; --part) {  // as the terms need them
          ptx::load_box(stage + part * TileA::kBytes, &p.a, full, k * kDepth, row, batch_a + part);
          ptx::load_box(stage + kB + part * TileB::kBytes, &p.b, full, k * kDepth, col,
                        batch_b + part);
        }
        at.advance();
      }
    }
  }

  __device__ __forceinline__ void consume(int consumer) {
    const int warp = threadIdx.x / 32 - 4;
    Output output{
        p, base + kFastStages * kStageBytes + warp * warp_staging_bytes(kFastCols),
        base + kFastStages * kStageBytes + staging_bytes(kTile) + consumer * kFastCols * 4};
    Cursor at;
    for (Scheduler scheduler(p); !scheduler.done(); scheduler.next()) {
      Sums sums;
#pragma unroll
      for (float& sum : sums[0]) sum = 0.0f;
      const int count = scheduler.slice().count;
#pragma unroll 1
      for (int k = 0; k < count; ++k) {
        Sums acc;
        multiply(acc, at, consumer);
#pragma unroll
        for (int i = 0; i < kFastCols / 2; ++i) sums[0][i] = __fadd_rn(sums[0][i], acc[0][i]);
      }
      const TilePlace tile = scheduler.place();
      const int batch = tile.batch * p.order.splits.value + tile.split;
      const int col = tile.col_tile * kFastCols;
      const ColumnTerms terms = output.load_terms(col, batch);
      output.store(sums, tile.row_tile * kRows + consumer * 64 + threadIdx.x / 32 % 4 * 16, col,
                   batch, terms);
    }
    output.drain();
  }

  // All products of one stage.
  __device__ __forceinline__ void multiply(Sums& acc, Cursor& at, int consumer) const {
    ring.wait_full(at);
    const std::uint32_t stage = base + at.stage * kStageBytes;
    const std::uint64_t a = TileA::descriptor(stage + TileA::offset(consumer * 64, 0));
    const std::uint64_t b = TileB::descriptor(stage + kB);
    ptx::wgmma_fence();
#pragma unroll
    for (int term = 0; term < kFastTerms; ++term) {
#pragma unroll
      for (int slice = 0; slice < kDepth / 16; ++slice) {
        Wgmma<kFastCols>::template multiply<Element::BF16, 0, 0>(
            acc[0], a + (fast_term(term).a * TileA::kBytes + TileA::offset(0, slice)) / 16,
            b + (fast_term(term).b * TileB::kBytes + TileB::offset(0, slice)) / 16,
            term != 0 || slice != 0);
      }
    }
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
#pragma unroll
    for (float& x : acc[0]) asm volatile("" : "+f"(x)::"memory");
    ring.release(at.stage, 1);
    at.advance();
  }
};

template <int kRows>
__global__ void __launch_bounds__(fast_threads(kRows), 1)
    gemm_fast_f32(const __grid_constant__ FastParams params) {
  extern __shared__ __align__(1024) unsigned char shared[];
  FastKernel<kRows>(params, ptx::shared_address(shared)).run();
}

}  // namespace

const void* gemm_fast_f32_kernel(int rows) {
  return rows == 128 ? reinterpret_cast<const void*>(&gemm_fast_f32<128>)
                     : reinterpret_cast<const void*>(&gemm_fast_f32<64>);
}

}  // namespace girih::inline v0::cuda
