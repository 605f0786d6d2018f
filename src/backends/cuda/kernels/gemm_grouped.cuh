#pragma once
// Grouped 16-bit products of sm_90a, on the ring, the tiles and the instructions of gemm_wgmma.cuh.
// Which tile a block works on comes from the table that grouped_table.cu writes, so that no launch
// depends on the offsets.
//
// Rows grouped: one tensor map over all rows of A. A tile that passes its group's end multiplies
// rows of the next ones, which it does not store.
// Depth grouped: a tile whose first or last stage passes its group's ends clears what is beyond
// them in both operands: a zero beside what lies there, which may be NaN, would not do.
//
// The address of a box must be a multiple of 16 bytes, or the copy is an illegal instruction: where
// the grouped extent is the contiguous one a group begins up to seven elements early.

#include "backends/cuda/kernels/descriptor.cuh"
#include "backends/cuda/kernels/grouped_kernels.hpp"
#include "backends/cuda/kernels/grouped_output.cuh"
#include "backends/cuda/kernels/pipeline.cuh"
#include "backends/cuda/kernels/ptx.cuh"
#include "backends/cuda/kernels/scheduler.cuh"
#include "backends/cuda/kernels/wgmma.cuh"

namespace girih::inline v0::cuda {

/// A tile, and what it is of.
struct GroupedPlace {
  int group;
  int row;         ///< the tile's first: of all rows, or of one group's C
  int begin, end;  ///< the group's rows of C
  int column_tile;
};

/// A group's part of the depth, of which the first `head` are not its own.
struct GroupedDepth {
  int begin;
  int head;
  int length;
};

/// Holds one register, as Scheduler does. Blocks take units b, b + blocks, ... `kAligns`: groups
/// begin at whole copies.
template <TileConfig kTile, bool kByDepth, bool kAligns>
struct GroupedScheduler {
  const GroupedParams& params;
  std::uint32_t unit = blockIdx.x;

  __device__ __forceinline__ bool done() const {
    if constexpr (kByDepth) {
      return params.header->is_valid == 0 || unit >= params.groups * params.plane.value;
    }
    return unit >= params.header->units * params.column_tiles.value;
  }
  __device__ __forceinline__ void next() { unit += gridDim.x; }

  static __device__ __forceinline__ int aligned(int at) { return kAligns ? at & -kCopyRows : at; }

  __device__ __forceinline__ GroupedPlace place() const {
    GroupedPlace place;
    std::uint32_t inside, row_tiles;
    int first = 0;
    if constexpr (kByDepth) {
      place.group = static_cast<int>(divide(unit, params.plane));
      inside = unit - place.group * params.plane.value;
      row_tiles = params.row_tiles;
      place.begin = 0;
      place.end = static_cast<int>(params.rows);
    } else {
      const int4 entry = *reinterpret_cast<const int4*>(
          &params.units[divide(unit, params.column_tiles)]);  // a GroupedUnit
      place.group = entry.x;
      inside = unit - entry.y * params.column_tiles.value;
      place.begin = entry.z;
      place.end = entry.w;
      first = aligned(place.begin);
      row_tiles = static_cast<std::uint32_t>(place.end - first + kTile.rows - 1) / kTile.rows;
    }
    const std::uint32_t band = divide(inside, params.band);
    const std::uint32_t in_band = inside - band * params.band.value;
    const std::uint32_t height = min(kGroupedBand, row_tiles - band * kGroupedBand);
    const std::uint32_t column = in_band / height;
    place.column_tile = static_cast<int>(column);
    place.row =
        first + static_cast<int>(band * kGroupedBand + in_band - column * height) * kTile.rows;
    return place;
  }

  __device__ __forceinline__ GroupedDepth depth() const {
    const std::int64_t at = divide(unit, params.plane) * params.offset_stride;
    const int own = params.offsets[at], begin = aligned(own);
    return {begin, own - begin, params.offsets[at + params.offset_stride] - begin};
  }
  /// Stages of K of the unit. An empty group has one, all of which is cleared.
  __device__ __forceinline__ int stages() const {
    if constexpr (kByDepth) return max((depth().length + kTile.depth - 1) / kTile.depth, 1);
    return params.k_stages;
  }
};

template <TileConfig kTile, Element kType, Major kMajorA, Major kMajorB, bool kByDepth>
struct GroupedKernel {
  using TileA = OperandTile<kMajorA, kTile.rows, kTile.depth>;
  using TileB = OperandTile<kMajorB, kTile.cols, kTile.depth>;
  static constexpr bool kAligns =
      kByDepth ? kMajorA == Major::K || kMajorB == Major::K : kMajorA == Major::MN;
  using Scheduler = GroupedScheduler<kTile, kByDepth, kAligns>;
  static constexpr int kStages = stage_count(kTile, kMajorA, kMajorB);
  static constexpr int kStageBytes = stage_bytes(kTile, kMajorA, kMajorB);
  static constexpr int kConsumerRows = consumer_rows(kTile);
  static constexpr int kSlabs = kConsumerRows / 64;
  static constexpr int kSlices = kTile.depth / 16;
  static constexpr int kThreads = 128 * kTile.consumers;  // of the consumers
  using Cursor = RingCursor<kStages>;
  using Accumulators = float[kSlabs][kTile.cols / 2];
  using Output = GroupedOutput<kSlabs, kTile.cols, kAligns && !kByDepth>;

  const GroupedParams& p;
  std::uint32_t base;  // shared address of stage 0
  Ring<kStages> ring;

  __device__ __forceinline__ GroupedKernel(const GroupedParams& params, std::uint32_t shared)
      : p(params),
        base(shared),
        ring{shared + kStages * kStageBytes + staging_bytes(kTile) + bias_bytes(kTile)} {}

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) {
      ptx::prefetch_map(&p.a);
      ptx::prefetch_map(&p.b);
      ring.init(4 * kTile.consumers);
    }
    __syncthreads();
    ptx::wait_for_dependencies();
    ptx::launch_dependents();
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
  // Producer

  __device__ __forceinline__ void produce() {
    Cursor at;
    for (Scheduler scheduler{p}; !scheduler.done(); scheduler.next()) {
      const GroupedPlace tile = scheduler.place();
      const int begin = kByDepth ? scheduler.depth().begin : 0;
      const int batch = !kByDepth && p.b_grouped ? tile.group : 0;
      const int stages = scheduler.stages();
      for (int k = 0; k < stages; ++k) {
        ring.wait_empty(at);
        ptx::barrier_expect_bytes(ring.full(at.stage), kStageBytes);
        const std::uint32_t stage = base + at.stage * kStageBytes;
        const int depth = begin + k * kTile.depth;
        load<TileA, kMajorA>(stage, &p.a, ring.full(at.stage), tile.row, depth, 0);
        if (p.gated == GroupedGate::Concatenated) {
          load_halves(stage + TileA::kBytes, ring.full(at.stage),
                      tile.column_tile * (kTile.cols / 2), depth, batch);
        } else {
          load<TileB, kMajorB>(stage + TileA::kBytes, &p.b, ring.full(at.stage),
                               tile.column_tile * kTile.cols, depth, batch);
        }
        at.advance();
      }
    }
  }

  template <class Tile, Major kMajor>
  __device__ __forceinline__ void load(std::uint32_t to, const CUtensorMap* map, std::uint32_t full,
                                       int first, int depth, int batch) const {
#pragma unroll
    for (int panel = 0; panel < Tile::kPanels; ++panel) {
      const int along = kMajor == Major::K ? depth + panel * 64 : first + panel * Tile::kWidth;
      ptx::load_box(to + panel * Tile::kPanelBytes, map, full, along,
                    kMajor == Major::K ? first : depth, batch);
    }
  }

  // Columns g, then as many u, which lie p.columns further on. A K-major box is one half.
  __device__ __forceinline__ void load_halves(std::uint32_t to, std::uint32_t full, int first,
                                              int depth, int batch) const {
    constexpr bool kWholeDepth = kMajorB == Major::K;
    constexpr int kOfHalf = kWholeDepth ? TileB::kPanels : TileB::kPanels / 2;
    constexpr int kHalfBytes =
        kWholeDepth ? kTile.cols / 2 * TileB::kRowBytes : kOfHalf * TileB::kPanelBytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = first + half * static_cast<int>(p.columns);
#pragma unroll
      for (int panel = 0; panel < kOfHalf; ++panel) {
        ptx::load_box(to + half * kHalfBytes + panel * TileB::kPanelBytes, &p.b, full,
                      kWholeDepth ? depth + panel * 64 : column + panel * 64,
                      kWholeDepth ? column : depth, batch);
      }
    }
  }

  // Consumers

  __device__ __forceinline__ void consume(int consumer) {
    Cursor at;
    for (Scheduler scheduler{p}; !scheduler.done(); scheduler.next()) {
      Accumulators acc;
      const int stages = scheduler.stages();
      int head = 0, tail = kTile.depth;  // of the first and the last stage
      bool is_empty = false;
      if constexpr (kByDepth) {
        const GroupedDepth depth = scheduler.depth();
        head = depth.head;
        tail = depth.length - (stages - 1) * kTile.depth;
        is_empty = depth.length == depth.head;
      }
      multiply(acc, at, stages, head, tail, consumer * kConsumerRows);
      finish_products(acc, at);
      const GroupedPlace tile = scheduler.place();
      const int row =
          tile.row + consumer * kConsumerRows + static_cast<int>(threadIdx.x) / 32 % 4 * 16;
      const Output output{p, staging_at(), bias_at(consumer), is_empty};
      output.store(acc,
                   {row, tile.begin, tile.end, tile.column_tile * output_columns(), tile.group});
    }
  }
  __device__ __forceinline__ int output_columns() const {
    return p.gated == GroupedGate::None ? kTile.cols : kTile.cols / 2;
  }
  __device__ __forceinline__ std::uint32_t staging_at() const {
    return base + kStages * kStageBytes + (threadIdx.x / 32 - 4) * warp_staging_bytes(kTile.cols);
  }
  __device__ __forceinline__ std::uint32_t bias_at(int consumer) const {
    return base + kStages * kStageBytes + staging_bytes(kTile) + consumer * kTile.cols * 4;
  }

  // As of GemmKernel. The depth of the first stage before `head` and that of the last from `tail`
  // on are not the group's.
  __device__ __forceinline__ void multiply(Accumulators& acc, Cursor& at, int stages, int head,
                                           int tail, int first_row) {
    int before = -1;
    for (int k = 0; k < stages; ++k) {
      ring.wait_full(at);
      const std::uint32_t stage = base + at.stage * kStageBytes;
      if constexpr (kByDepth) {
        const bool clears_head = kAligns && k == 0 && head > 0;
        const bool clears_tail = k == stages - 1 && tail < kTile.depth;
        if (clears_head) clear_stage(stage, 0, head);
        if (clears_tail) clear_stage(stage, tail, kTile.depth);
        if (clears_head || clears_tail) {
          ptx::fence_async_proxy();
          ptx::named_sync(5, kThreads);
        }
      }
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
        ring.release(before, 1);
      }
      before = at.stage;
      at.advance();
    }
  }
  __device__ __forceinline__ void finish_products(Accumulators& acc, const Cursor& at) {
    ptx::wgmma_wait<0>();
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
#pragma unroll
      for (int i = 0; i < kTile.cols / 2; ++i) asm volatile("" : "+f"(acc[slab][i])::"memory");
    }
    ring.release(at.stage == 0 ? kStages - 1 : at.stage - 1, 1);
  }

  // The consumers together clear the depth from `first` to `end` of a stage, before any of them
  // multiplies it.
  __device__ __forceinline__ void clear_stage(std::uint32_t stage, int first, int end) const {
    clear<TileA, kMajorA>(stage, first, end);
    clear<TileB, kMajorB>(stage + TileA::kBytes, first, end);
    __syncwarp();
  }
  template <class Tile, Major kMajor>
  static __device__ __forceinline__ void clear(std::uint32_t operand, int first, int end) {
    const int thread = static_cast<int>(threadIdx.x) - 128;
    if constexpr (kMajor == Major::MN) {
      // Whole rows, whatever their swizzle.
      const int pieces = (end - first) * (Tile::kRowBytes / 16);
      const std::uint32_t at = operand + first * Tile::kRowBytes;
#pragma unroll 1
      for (int panel = 0; panel < Tile::kPanels; ++panel) {
#pragma unroll 1
        for (int i = thread; i < pieces; i += kThreads) {
          ptx::store_shared(at + panel * Tile::kPanelBytes + i * 16, 0.0f, 0.0f, 0.0f, 0.0f);
        }
      }
    } else {
      constexpr int kRows = Tile::kPanelBytes / 128;
#pragma unroll 1
      for (int i = thread; i < kRows * Tile::kPanels * 8; i += kThreads) {
        const int piece = i % 8, row = i / 8 % kRows, panel = i / 8 / kRows;
        const int depth = panel * 64 + piece * 8;  // of the first of eight elements
        if (depth + 8 > first && depth < end) {
          const std::uint32_t at =
              operand + panel * Tile::kPanelBytes + row * 128 + ((piece ^ (row & 7)) << 4);
          float4 x = ptx::load_shared(at);
          x.x = cleared(x.x, depth, first, end), x.y = cleared(x.y, depth + 2, first, end);
          x.z = cleared(x.z, depth + 4, first, end), x.w = cleared(x.w, depth + 6, first, end);
          ptx::store_shared(at, x.x, x.y, x.z, x.w);
        }
      }
    }
  }
  // Two 16-bit elements, of depths `depth` and the next.
  static __device__ __forceinline__ float cleared(float pair, int depth, int first, int end) {
    const std::uint32_t low = depth >= first && depth < end ? 0u : 0xFFFFu;
    const std::uint32_t high = depth + 1 >= first && depth + 1 < end ? 0u : 0xFFFF0000u;
    return __uint_as_float(__float_as_uint(pair) & (low | high));
  }
};

template <int kTile, Element kType, Major kMajorA, Major kMajorB, bool kByDepth>
__global__ void __launch_bounds__(tile_threads(kGroupedTiles[kTile]), 1)
    gemm_grouped(const __grid_constant__ GroupedParams params) {
  extern __shared__ __align__(1024) unsigned char shared[];
  GroupedKernel<kGroupedTiles[kTile], kType, kMajorA, kMajorB, kByDepth>(
      params, ptx::shared_address(shared))
      .run();
}

}  // namespace girih::inline v0::cuda
