#pragma once
// The ring of shared-memory stages between the producer and the consumers: one full and one empty
// barrier a stage.
//
// full:  one arrival (the producer's, with the bytes it expects) and the bytes themselves, from
// whichever block of the
//        cluster multicasts them.
// empty: one arrival a consumer warp of every block in the cluster, because a multicast writes into
// all of them.

#include <cstdint>

#include "backends/cuda/kernels/ptx.cuh"

namespace girih::inline v0::cuda {

template <int kStages>
struct RingCursor {
  int stage = 0;
  std::uint32_t phase = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
  __device__ __forceinline__ void advance(int steps) {
    const int next = stage + steps;
    phase ^= (next / kStages) & 1;
    stage = next % kStages;
  }
};

template <int kStages>
struct Ring {
  std::uint32_t barriers;  // shared address: kStages full, then kStages empty

  __device__ __forceinline__ std::uint32_t full(int stage) const { return barriers + 8 * stage; }
  __device__ __forceinline__ std::uint32_t empty(int stage) const {
    return barriers + 8 * (kStages + stage);
  }

  __device__ __forceinline__ void init(int consumer_warps) const {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::barrier_init(full(stage), 1);
      ptx::barrier_init(empty(stage), consumer_warps);
    }
    ptx::fence_barrier_init();
  }
  // Producer: a fresh ring counts as empty, hence the inverted phase.
  __device__ __forceinline__ void wait_empty(const RingCursor<kStages>& at) const {
    ptx::barrier_wait(empty(at.stage), at.phase ^ 1);
  }
  __device__ __forceinline__ void wait_full(const RingCursor<kStages>& at) const {
    ptx::barrier_wait(full(at.stage), at.phase);
  }
  // Consumer warp: lanes 0 .. blocks-1 each tell one block of the cluster.
  __device__ __forceinline__ void release(int stage, int blocks) const {
    const int lane = ptx::lane();
    if (blocks == 1) {
      if (lane == 0) ptx::barrier_arrive(empty(stage));
    } else if (lane < blocks) {
      ptx::barrier_arrive_at(empty(stage), lane);
    }
  }
};

}  // namespace girih::inline v0::cuda
