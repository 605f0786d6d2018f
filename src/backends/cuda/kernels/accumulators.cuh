#pragma once
// What the epilogues of single and grouped products share: parts of a warp's accumulators, taken so
// that a loop goes around one copy of the code for all of them. Written out chunk by chunk that
// code was 48 KB a kernel for f32 outputs and 26 KB for a bias and an activation, which a block
// runs once a tile and fetches as it goes, and two fifths of what a kernel took to compile.

#include <type_traits>

#include "backends/cuda/kernels/ptx.cuh"

namespace girih::inline v0::cuda {

// Calls take(i) with i = index < kCount as a constant. The last one takes no test: where a path
// assigned nothing, what is taken would stay alive from tile to tile.
template <int kCount, int kFirst = 0, class Take>
__device__ __forceinline__ void pick(int index, const Take& take) {
  if constexpr (kFirst + 1 == kCount) {
    take(std::integral_constant<int, kFirst>{});
  } else if (index == kFirst) {
    take(std::integral_constant<int, kFirst>{});
  } else {
    pick<kCount, kFirst + 1>(index, take);
  }
}

// The accumulators of chunk `step` of kWidth columns each, slab after slab.
template <int kWidth, int kSlabs, int kHeld>
__device__ __forceinline__ void take_chunk(const float (&acc)[kSlabs][kHeld], int step,
                                           float (&v)[kWidth / 2]) {
  constexpr int kChunks = kHeld / (kWidth / 2);
  pick<kSlabs * kChunks>(step, [&](auto s) {
    const float* from = acc[s() / kChunks] + s() % kChunks * kWidth / 2;
#pragma unroll
    for (int i = 0; i < kWidth / 2; ++i) v[i] = from[i];
  });
}

// Adds the bias of kWidth columns, f32 in shared memory, of which `from` is this lane's first.
template <int kWidth>
__device__ __forceinline__ void add_column_bias(float* v, std::uint32_t from) {
#pragma unroll
  for (int block = 0; block < kWidth / 8; ++block) {
    const float2 b = ptx::load_shared_pair(from + block * 32);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      v[block * 4 + i] = __fadd_rn(v[block * 4 + i], i & 1 ? b.y : b.x);
    }
  }
}

}  // namespace girih::inline v0::cuda
