#pragma once
// The GEMM of sm_90a: tensor copies into a ring of stages, wgmma out of it, one persistent block an
// SM. 16-bit operands in every layout, int8, 8-bit floats and tf32 with K contiguous.
//
// Roles: warpgroup 0 gives its registers away and one of its threads is the producer; warpgroup 1,
// and 2 in tiles of two consumers, consume. In a cluster of two, each block loads half of the
// operand both need and multicasts it.

#include <cstdint>
#include <type_traits>

#include "backends/cuda/kernels/block_scaling.cuh"
#include "backends/cuda/kernels/cluster_split.cuh"
#include "backends/cuda/kernels/descriptor.cuh"
#include "backends/cuda/kernels/gemm_params.hpp"
#include "backends/cuda/kernels/gemm_tiles.hpp"
#include "backends/cuda/kernels/pipeline.cuh"
#include "backends/cuda/kernels/ptx.cuh"
#include "backends/cuda/kernels/scheduler.cuh"
#include "backends/cuda/kernels/tile_output.cuh"
#include "backends/cuda/kernels/wgmma.cuh"

namespace girih::inline v0::cuda {

template <TileConfig kTile, Element kType, Major kMajorA, Major kMajorB>
struct GemmKernel {
  static constexpr bool kPingPong = kTile.form == TileForm::PingPong;
  static constexpr bool kClusterSplit = kTile.form == TileForm::ClusterSplit;
  using TileA = OperandTile<kMajorA, kTile.rows, kTile.depth, kTile.bytes>;
  using TileB = OperandTile<kMajorB, kTile.cols, kTile.depth, kTile.bytes>;
  static constexpr bool kIntegers = kType == Element::I8;
  static constexpr int kStages = stage_count(kTile, kMajorA, kMajorB);
  static constexpr int kStageBytes = stage_bytes(kTile, kMajorA, kMajorB);
  static constexpr int kConsumerRows = consumer_rows(kTile);
  static constexpr int kSlabs =
      kConsumerRows / 64;  // 64-row products a consumer makes of each slice
  static constexpr int kReleasingWarps = kPingPong ? 4 : 4 * kTile.consumers;  // a stage
  static constexpr int kSlices = kTile.depth * kTile.bytes / kSliceBytes;
  static constexpr int kPanelDepth = kSwizzleBytes / kTile.bytes;  // of K in a panel
  static constexpr bool kGates = gates_in_registers(kTile);
  // Sums of 128 of K, beside the accumulators that they are added to: one set of a slab's, or two.
  static constexpr int kSlicesOfPanel = kSwizzleBytes / kSliceBytes;
  static constexpr bool kTwoParts = promotes_in_turns(kTile);
  static constexpr int kParts = !kTile.promotes ? 0 : kTwoParts ? 2 : 1;
  static constexpr int kSums = (kSlabs + kParts) * kTile.cols / 2;
  // Producer + 2 * consumer = 504: what 384 threads at the launch bound of 168 own together. Beside
  // 192 accumulators the epilogues spill at 232.
  static constexpr bool kTight = kSums >= 192;
  static constexpr int kProducerRegisters = kTight ? 24 : 40;
  static constexpr int kConsumerRegisters = kTight ? 240 : 232;
  using Cursor = RingCursor<kStages>;
  using Accumulators = std::conditional_t<kIntegers, std::int32_t, float>[kSlabs][kTile.cols / 2];
  using Output =
      WarpOutput<kSlabs, kTile.cols, kClusterSplit, kGates, scales_in_boxes(kTile), kIntegers>;

  const GemmParams& p;
  std::uint32_t base;  // shared address of stage 0
  Ring<kStages> ring;

  __device__ __forceinline__ GemmKernel(const GemmParams& params, std::uint32_t shared)
      : p(params),
        base(shared),
        ring{shared + kStages * kStageBytes + staging_bytes(kTile) + bias_bytes(kTile)} {}

  // Blocks that multicast to one another.
  __device__ __forceinline__ int sharing_blocks() const { return p.cluster_rows * p.cluster_cols; }

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) {
      ptx::prefetch_map(&p.a);
      ptx::prefetch_map(&p.b);
      ring.init(kReleasingWarps * sharing_blocks());
      if constexpr (kClusterSplit) {
        cluster_sum().init();
        ptx::fence_barrier_init();
      }
    }
    sync_all();
    ptx::wait_for_dependencies();
    ptx::launch_dependents();
    const int warpgroup = __shfl_sync(0xFFFFFFFF, threadIdx.x / 128, 0);
    if (warpgroup == 0) {
      if constexpr (kTile.consumers == 2) ptx::registers_lower<kProducerRegisters>();
      if (threadIdx.x == 0) produce();
      __syncwarp();
    } else {
      if constexpr (kTile.consumers == 2) ptx::registers_raise<kConsumerRegisters>();
      consume(warpgroup - 1);
    }
    // A block may not exit while its neighbour can still arrive at its barriers or write its
    // stages.
    if (sharing_blocks() > 1) ptx::cluster_sync();
  }

 private:
  __device__ __forceinline__ ClusterSum<kTile> cluster_sum() const {
    return {base, ring.barriers + 16 * kStages, p.cluster_split,
            static_cast<int>(ptx::cluster_rank())};
  }
  __device__ __forceinline__ void sync_all() const {
    if (p.cluster_shift > 0) {
      ptx::cluster_sync();
    } else {
      __syncthreads();
    }
  }

  // Producer

  // The test is outside of the loops: inside, it cost a 64 x 128 tile 7 to 15 %.
  __device__ __forceinline__ void produce() {
    if constexpr (kGates) {
      if (p.store == StoreMode::GatedBoxes) return produce_tiles<true>();
    }
    produce_tiles<false>();
  }
  template <bool kGated>
  __device__ __forceinline__ void produce_tiles() {
    Cursor at;
    for (Scheduler scheduler(p); !scheduler.done(); scheduler.next()) {
      const TilePlace tile = scheduler.place();
      const Slice slice = scheduler.slice();
      const int row = tile.row_tile * kTile.rows, col = tile.col_tile * kTile.cols;
      if (p.store == StoreMode::FusedBoxes) {
        if (p.transposed) {
          prefetch_bias<kTile.rows>(row, static_cast<int>(p.rows), tile.batch);
        } else {
          prefetch_bias<kTile.cols>(col, static_cast<int>(p.cols), tile.batch);
        }
      }
      const int batch_a = p.a_batched ? tile.batch : 0, batch_b = p.b_batched ? tile.batch : 0;
      for (int k = slice.begin; k < slice.begin + slice.count; ++k) {
        ring.wait_empty(at);
        ptx::barrier_expect_bytes(ring.full(at.stage), kStageBytes);
        const std::uint32_t stage = base + at.stage * kStageBytes;
        // Blocks in one column of the cluster share B; blocks in one row share A.
        load<TileA, kMajorA, kTile.rows>(stage, &p.a, ring.full(at.stage), row, k, batch_a,
                                         p.cluster_cols);
        if constexpr (kGated) {
          load_halves(stage + TileA::kBytes, ring.full(at.stage), col / 2, k);
        } else {
          load<TileB, kMajorB, kTile.cols>(stage + TileA::kBytes, &p.b, ring.full(at.stage), col, k,
                                           batch_b, p.cluster_rows);
        }
        at.advance();
      }
    }
  }

  // Towards L2, while the products are made.
  template <int kExtent>
  __device__ __forceinline__ void prefetch_bias(int first, int end, int batch) const {
    const VectorRef& bias = p.epilogue.bias;
    if (bias.data == nullptr) return;
    const int bytes = bias.type == Element::F32 ? 4 : 2;
    const char* from =
        static_cast<const char*>(bias.data) + (batch * bias.batch_stride + first) * bytes;
    for (int i = 0; i < kExtent && first + i < end; i += 32) ptx::prefetch_l2(from + i * bytes);
  }

  template <class Tile, Major kMajor, int kExtent>
  __device__ __forceinline__ void load(std::uint32_t to, const CUtensorMap* map, std::uint32_t full,
                                       int first, int k, int batch, int share) const {
    if (share == 1) {
      load_panels<Tile, kMajor, kExtent, 1>(to, map, full, first, k, batch, 0);
    } else {
      load_panels<Tile, kMajor, kExtent, 2>(to, map, full, first, k, batch, ptx::cluster_rank());
    }
  }
  // All panels of an operand, or this block's half of each, sent to both.
  template <class Tile, Major kMajor, int kExtent, int kShare>
  __device__ __forceinline__ void load_panels(std::uint32_t to, const CUtensorMap* map,
                                              std::uint32_t full, int first, int k, int batch,
                                              int part) const {
    constexpr Box kBox = operand_box(kMajor, kExtent, kTile.depth, kShare, kTile.bytes);
    const std::uint32_t at = to + part * kBox.outer * Tile::kRowBytes;
#pragma unroll
    for (int panel = 0; panel < Tile::kPanels; ++panel) {
      int x, y;
      if constexpr (kMajor == Major::K) {
        x = k * kTile.depth + panel * kPanelDepth;
        y = first + part * kBox.outer;
      } else {
        x = first + panel * Tile::kWidth;
        y = k * kTile.depth + part * kBox.outer;
      }
      if constexpr (kShare == 1) {
        ptx::load_box(at + panel * Tile::kPanelBytes, map, full, x, y, batch);
      } else {
        ptx::load_box_multicast(at + panel * Tile::kPanelBytes, map, full, 3, x, y, batch);
      }
    }
  }

  // A gate's tile of B: columns g, then as many columns u, of the columns of C from `first` on. A
  // K-major box is one half.
  __device__ __forceinline__ void load_halves(std::uint32_t to, std::uint32_t full, int first,
                                              int k) const {
    constexpr bool kWholeDepth = kMajorB == Major::K;
    constexpr int kOfHalf = kWholeDepth ? TileB::kPanels : TileB::kPanels / 2;
    constexpr int kHalfBytes =
        kWholeDepth ? kTile.cols / 2 * TileB::kRowBytes : kOfHalf * TileB::kPanelBytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int panel = 0; panel < kOfHalf; ++panel) {
        const int x = kWholeDepth ? k * kTile.depth + panel * 64 : first + panel * 64;
        const int y = kWholeDepth ? first : k * kTile.depth;
        ptx::load_box(to + half * kHalfBytes + panel * TileB::kPanelBytes, &p.b, full, x, y, half);
      }
    }
  }

  // Consumers

  __device__ __forceinline__ void consume(int consumer) {
    Output output{p, staging_at(), bias_at()};
    Scheduler scheduler(p);
    if (kClusterSplit && p.cluster_split > 1)
      output.owners = p.cluster_split - 1, output.owner = scheduler.rank();
    Cursor at;
    if (kPingPong && consumer == 1) {
      ptx::named_arrive(1, 256);  // the first turn is consumer 0's
      skip(scheduler, at);
    }
    while (!scheduler.done()) {
      Accumulators acc;
      if constexpr (kPingPong) ptx::named_sync(1 + consumer, 256);
      if constexpr (kTile.promotes) {
        multiply_promoted(acc, at, scheduler);
      } else {
        multiply(acc, at, scheduler.slice().count, first_row());
      }
      if constexpr (kPingPong) ptx::named_arrive(1 + (consumer ^ 1), 256);
      // The bias comes under the last products, but beside 192 accumulators there is no register
      // for it.
      ColumnTerms terms;
      if constexpr (!kTight) terms = load_terms(output, scheduler.place());
      if constexpr (!kTile.promotes) finish_products(acc, at);
      if constexpr (kClusterSplit) {
        if (p.cluster_split > 1) cluster_sum().reduce(acc);
      }
      const TilePlace tile = scheduler.place();
      if constexpr (kTight) terms = load_terms(output, tile);
      const int row = tile.row_tile * kTile.rows + first_row() + threadIdx.x / 32 % 4 * 16;
      if constexpr (kIntegers) {
        float sums[kSlabs][kTile.cols / 2];
        read_integers(acc, sums);
        output.store(sums, row, tile.col_tile * kTile.cols, output_batch(tile), terms);
      } else {
        output.store(acc, row, tile.col_tile * kTile.cols, output_batch(tile), terms);
      }
      scheduler.next();
      if constexpr (kPingPong) skip(scheduler, at);
    }
    output.drain();
    if (kClusterSplit && p.cluster_split > 1) cluster_sum().leave();
  }
  __device__ __forceinline__ int output_batch(const TilePlace& tile) const {
    return tile.batch * p.order.splits.value + tile.split;
  }
  __device__ __forceinline__ ColumnTerms load_terms(const Output& output,
                                                    const TilePlace& tile) const {
    return output.load_terms(tile.col_tile * kTile.cols, output_batch(tile));
  }
  // Sums as the epilogue takes them: rounded to f32, or as they are for an i32 C.
  __device__ __forceinline__ void read_integers(const Accumulators& acc,
                                                float (&sums)[kSlabs][kTile.cols / 2]) const {
    const int whole = p.epilogue.out.type == Element::I32;
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
#pragma unroll
      for (int i = 0; i < kTile.cols / 2; ++i) {
        // Volatile: what the compiler moves into the branches of the epilogue stays alive twice.
        asm volatile(
            "{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\nmov.b32 %0, %1;\n@!p cvt.rn.f32.s32 %0, "
            "%1;\n}"
            : "=f"(sums[slab][i])
            : "r"(acc[slab][i]), "r"(whole));
      }
    }
  }
  // Ping-pong: past the other consumer's tile.
  __device__ __forceinline__ void skip(Scheduler& scheduler, Cursor& at) const {
    if (scheduler.done()) return;
    at.advance(scheduler.slice().count);
    scheduler.next();
  }
  // This consumer's first row of a tile.
  static __device__ __forceinline__ int first_row() {
    return kPingPong ? 0 : (threadIdx.x / 128 - 1) * kConsumerRows;
  }
  __device__ __forceinline__ std::uint32_t staging_at() const {
    return base + kStages * kStageBytes + (threadIdx.x / 32 - 4) * warp_staging_bytes(kTile.cols);
  }
  __device__ __forceinline__ std::uint32_t bias_at() const {
    return base + kStages * kStageBytes + staging_bytes(kTile) +
           (threadIdx.x / 128 - 1) * (bias_bytes(kTile) / kTile.consumers);
  }

  // Issues every product of a tile. One stage stays in flight: it is released when the next one has
  // been issued.
  __device__ __forceinline__ void multiply(Accumulators& acc, Cursor& at, int k_count,
                                           int first_row) {
    // The first product overwrites them, but what it reads would stay alive from tile to tile,
    // beside the f32 that the epilogue has of it.
    if constexpr (kIntegers) clear(acc);
    int before = -1;
    for (int k = 0; k < k_count; ++k) {
      ring.wait_full(at);
      const std::uint32_t stage = base + at.stage * kStageBytes;
      const std::uint64_t a = TileA::descriptor(stage + TileA::offset(first_row, 0));
      const std::uint64_t b = TileB::descriptor(stage + TileA::kBytes);
      ptx::wgmma_fence();
#pragma unroll
      for (int slice = 0; slice < kSlices; ++slice) {
#pragma unroll
        for (int slab = 0; slab < kSlabs; ++slab) {
          Wgmma<kTile.cols>::template multiply<kType, TileA::kTransposed, TileB::kTransposed>(
              acc[slab], a + TileA::offset(slab * 64, slice) / 16, b + TileB::offset(0, slice) / 16,
              k != 0 || slice != 0);
        }
      }
      ptx::wgmma_commit();
      if (before >= 0) {
        ptx::wgmma_wait<1>();
        ring.release(before, sharing_blocks());
      }
      before = at.stage;
      at.advance();
    }
  }

  // Sums of 128 of K are made in registers of their own, then added in f32: the unit keeps some 14
  // bits of what it adds up. Where two such sets fit, one is added while the next is made; else the
  // other consumer's products run meanwhile.
  using Part = float[kTile.cols / 2];
  using Scaling = BlockScaling<kTile.scales_blocks>;

  __device__ __forceinline__ void multiply_promoted(Accumulators& acc, Cursor& at,
                                                    const Scheduler& scheduler) {
    Scaling scaling;
    if constexpr (kTile.scales_blocks) {
      const TilePlace tile = scheduler.place();
      scaling.begin(tile.row_tile * kTile.rows + first_row() + threadIdx.x / 32 % 4 * 16,
                    tile.col_tile * kTile.cols, scheduler.slice().begin * kTile.depth / 128);
    }
    clear(acc);
    if constexpr (kTwoParts) {
      promote_in_turns(acc, at, scheduler.slice().count, scaling);
    } else {
      promote_each(acc, at, scheduler.slice().count, scaling);
    }
  }
  // The products of 64 rows and 128 of K, from slice `first` of a stage on.
  __device__ __forceinline__ void issue_part(Part& part, int stage, int slab, int first) const {
    const std::uint32_t from = base + stage * kStageBytes;
    const std::uint64_t a = TileA::descriptor(from + TileA::offset(first_row(), 0));
    const std::uint64_t b = TileB::descriptor(from + TileA::kBytes);
    ptx::wgmma_fence();
#pragma unroll
    for (int slice = first; slice < first + kSlicesOfPanel; ++slice) {
      Wgmma<kTile.cols>::template multiply<kType, 0, 0>(
          part, a + TileA::offset(slab * 64, slice) / 16, b + TileB::offset(0, slice) / 16,
          slice != first);
    }
    ptx::wgmma_commit();
  }
  __device__ __forceinline__ void add_part(Part& sums, const Part& part,
                                           const Scaling& scaling) const {
    if constexpr (kTile.scales_blocks) {
      scaling.template add<kTile.cols>(p, sums, part);
    } else {
#pragma unroll
      for (int i = 0; i < kTile.cols / 2; ++i) sums[i] = __fadd_rn(sums[i], part[i]);
    }
  }
  __device__ __forceinline__ void promote_each(Accumulators& acc, Cursor& at, int k_count,
                                               Scaling& scaling) {
    for (int k = 0; k < k_count; ++k) {
      ring.wait_full(at);
#pragma unroll
      for (int first = 0; first < kSlices; first += kSlicesOfPanel) {
#pragma unroll
        for (int slab = 0; slab < kSlabs; ++slab) {
          Part part;
          if constexpr (kTile.scales_blocks) scaling.load(p, slab * 64);
          issue_part(part, at.stage, slab, first);
          ptx::wgmma_wait<0>();
          hold(part);
          if (first + kSlicesOfPanel == kSlices && slab + 1 == kSlabs) {
            ring.release(at.stage, sharing_blocks());
          }
          add_part(acc[slab], part, scaling);
        }
        if constexpr (kTile.scales_blocks) scaling.next();
      }
      at.advance();
    }
  }
  __device__ __forceinline__ void promote_in_turns(Accumulators& acc, Cursor& at, int k_count,
                                                   Scaling& scaling) {
    Part even, odd;
    int before = -1;
    const auto issue = [&](Part& part) {
      ring.wait_full(at);
      issue_part(part, at.stage, 0, 0);
    };
    const auto retire = [&](Part& part) {
      hold(part);
      ring.release(before, sharing_blocks());
      add_part(acc[0], part, scaling);
      if constexpr (kTile.scales_blocks) scaling.next();
    };
    // The sums of `done` are added while those of `next` are made.
    const auto turn = [&](Part& next, Part& done) {
      issue(next);
      if constexpr (kTile.scales_blocks) scaling.load(p, 0);
      ptx::wgmma_wait<1>();
      retire(done);
      before = at.stage;
      at.advance();
    };
    const auto last = [&](Part& done) {
      if constexpr (kTile.scales_blocks) scaling.load(p, 0);
      ptx::wgmma_wait<0>();
      retire(done);
    };
    issue(even);
    before = at.stage;
    at.advance();
    int k = 1;
    for (; k + 1 < k_count; k += 2) {
      turn(odd, even);
      turn(even, odd);
    }
    if (k < k_count) {
      turn(odd, even);
      last(odd);
    } else {
      last(even);
    }
  }

  static __device__ __forceinline__ void clear(Accumulators& acc) {
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
#pragma unroll
      for (auto& sum : acc[slab]) sum = 0;
    }
  }
  // Empty statements that keep the compiler from reading sums before the products are awaited.
  static __device__ __forceinline__ void hold(float (&sums)[kTile.cols / 2]) {
#pragma unroll
    for (float& sum : sums) asm volatile("" : "+f"(sum)::"memory");
  }
  static __device__ __forceinline__ void hold(std::int32_t (&sums)[kTile.cols / 2]) {
#pragma unroll
    for (std::int32_t& sum : sums) asm volatile("" : "+r"(sum)::"memory");
  }

  // Waits for the last stage.
  __device__ __forceinline__ void finish_products(Accumulators& acc, const Cursor& at) {
    ptx::wgmma_wait<0>();
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) hold(acc[slab]);
    ring.release(at.stage == 0 ? kStages - 1 : at.stage - 1, sharing_blocks());
  }
};

// By position in the tile table: nvcc 13.0 writes host stubs that do not compile for a struct
// template argument.
template <int kTile, Element kType, Major kMajorA, Major kMajorB>
__global__ void __launch_bounds__(tile_threads(kTiles[kTile]), 1)
    gemm_wgmma(const __grid_constant__ GemmParams params) {
  extern __shared__ __align__(1024) unsigned char shared[];
  GemmKernel<kTiles[kTile], kType, kMajorA, kMajorB>(params, ptx::shared_address(shared)).run();
}

}  // namespace girih::inline v0::cuda
