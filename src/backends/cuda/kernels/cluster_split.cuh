#pragma once
// The end of a product whose K is split over the blocks of a cluster: partial sums meet in shared
// memory, none goes through global memory, and nothing waits for a second kernel.
//
// A chunk is one warp's 16 rows by kChunk columns of one slab, in fragment order. Chunk g belongs
// to block g % blocks, which keeps a place for it from every other block: [place][owned
// chunk][warp][quad of registers][lane]. Two barriers: `ready` counts the consumer warps of the
// cluster that have finished with their stages (first phase) and with what they collected (second),
// `arrived` the bytes that other blocks send.

#include <cstdint>

#include "backends/cuda/kernels/ptx.cuh"
#include "plan/cuda_gemm_tile.hpp"

namespace girih::inline v0::cuda {

template <TileConfig kTile>
struct ClusterSum {
  static constexpr int kSlabs = consumer_rows(kTile) / 64;
  static constexpr int kChunk = store_columns(kTile.cols);
  static constexpr int kChunksPerSlab = kTile.cols / kChunk;
  static constexpr int kChunks = chunk_count(kTile);
  static constexpr int kQuads = kChunk / 8;  // of a lane's registers
  static constexpr int kWarps = kTile.consumers * 4;
  using Accumulators = float[kSlabs][kTile.cols / 2];

  std::uint32_t base;      // the ring of stages
  std::uint32_t barriers;  // ready, arrived
  int blocks;              // a power of two
  int rank;

  __device__ __forceinline__ bool mine(int chunk) const { return (chunk & (blocks - 1)) == rank; }

  // One thread, before the first synchronisation of the cluster.
  __device__ __forceinline__ void init() const {
    ptx::barrier_init(barriers, blocks * kWarps);
    ptx::barrier_init(barriers + 8, 1);
    ptx::barrier_expect_bytes(barriers + 8, collected_bytes());
  }

  // Every consumer warp, once, when its products are done.
  __device__ __forceinline__ void reduce(Accumulators& acc) const {
    if (ptx::lane() < blocks) ptx::barrier_arrive_at(barriers, ptx::lane());
    ptx::barrier_wait(barriers, 0);
    send(acc);
    ptx::barrier_wait(barriers + 8, 0);
    collect(acc);
    // `ready` again, now as "everything I sent has arrived": a source may not go away under a copy.
    if (ptx::lane() < blocks) ptx::barrier_arrive_at(barriers, ptx::lane());
  }

  // Before the block ends.
  __device__ __forceinline__ void leave() const { ptx::barrier_wait(barriers, 1); }

 private:
  static constexpr int kWarpBytes = kQuads * 512;  // one warp's part of a chunk

  // 0 for the last blocks where blocks outnumber chunks.
  __device__ __forceinline__ int collected_bytes() const {
    return owned(rank) * (blocks - 1) * chunk_bytes(kTile);
  }
  __device__ __forceinline__ int owned(int owner) const {
    return max(0, (kChunks - owner + blocks - 1) / blocks);
  }
  // Where block `from` puts quad 0 of chunk `chunk` in the memory of its owner.
  __device__ __forceinline__ std::uint32_t place(int chunk, int from, int owner) const {
    const int slot = from < owner ? from : from - 1, warp = threadIdx.x / 32 - 4;
    return base + (((slot * owned(owner) + chunk / blocks) * kWarps + warp) * kQuads * 32) * 16;
  }
  // Each warp stages a chunk behind what this block collects, then one copy takes it to its owner.
  // (Remote stores that each count 16 bytes at the owner's barrier took 5 us for a 128 x 160 tile.)
  __device__ __forceinline__ void send(const Accumulators& acc) const {
    const int warp = threadIdx.x / 32 - 4, lane = ptx::lane();
    std::uint32_t spot = base + collected_bytes() + warp * kWarpBytes;
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      if (mine(chunk)) continue;
      const float* v = acc[chunk / kChunksPerSlab] + chunk % kChunksPerSlab * kChunk / 2;
#pragma unroll
      for (int q = 0; q < kQuads; ++q) {
        ptx::store_shared(spot + q * 512 + lane * 16, v[4 * q], v[4 * q + 1], v[4 * q + 2],
                          v[4 * q + 3]);
      }
      ptx::fence_async_proxy();
      __syncwarp();
      if (lane == 0) {
        const int owner = chunk & (blocks - 1);
        ptx::copy_remote(ptx::address_at(place(chunk, rank, owner), owner), spot, kWarpBytes,
                         ptx::address_at(barriers + 8, owner));
      }
      spot += kWarps * kWarpBytes;
    }
  }
  // In slice order, so that the sum does not depend on who makes it.
  __device__ __forceinline__ void collect(Accumulators& acc) const {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      if (!mine(chunk)) continue;
      float* v = acc[chunk / kChunksPerSlab] + chunk % kChunksPerSlab * kChunk / 2;
      float sum[kQuads * 4] = {};
#pragma unroll 1
      for (int from = 0; from < blocks; ++from) {
        const std::uint32_t at = place(chunk, from, rank) + ptx::lane() * 16;
#pragma unroll
        for (int q = 0; q < kQuads; ++q) {
          float4 x{v[4 * q], v[4 * q + 1], v[4 * q + 2], v[4 * q + 3]};
          if (from != rank) x = ptx::load_shared(at + q * 512);
          sum[4 * q] += x.x, sum[4 * q + 1] += x.y, sum[4 * q + 2] += x.z, sum[4 * q + 3] += x.w;
        }
      }
#pragma unroll
      for (int i = 0; i < kQuads * 4; ++i) v[i] = sum[i];
    }
  }
};

}  // namespace girih::inline v0::cuda
