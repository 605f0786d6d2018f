#pragma once
// Products with few rows, at the speed of memory: W is read once, through rings of the warps' own,
// which share K; their sums meet in shared memory, of a cluster if its blocks share K too.

#include "backends/cuda/kernels/ptx.cuh"
#include "backends/cuda/kernels/skinny_epilogue.cuh"
#include "backends/cuda/kernels/skinny_kernels.hpp"
#include "backends/cuda/kernels/skinny_warp.cuh"

namespace girih::inline v0::cuda {

// Orders the shared memory of the blocks of a cluster, unlike ptx::cluster_sync(). Clusters of more
// than one block are launched on 9.0 alone.
__device__ __forceinline__ void cluster_sync_memory() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
#endif
}
// Four neighbouring sums; `whole`: they begin at a multiple of 16 bytes.
template <class Sum>
struct SumQuad {
  Sum v[4];

  __device__ __forceinline__ static SumQuad load(const Sum* from, bool whole) {
    SumQuad q;
    if (whole) {
      const uint4 bits = *reinterpret_cast<const uint4*>(from);
      q.v[0] = of_bits(bits.x), q.v[1] = of_bits(bits.y);
      q.v[2] = of_bits(bits.z), q.v[3] = of_bits(bits.w);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) q.v[i] = from[i];
    }
    return q;
  }
  // Out of block `rank` of the cluster.
  __device__ __forceinline__ static SumQuad load_remote(const Sum* local, int rank) {
#if __CUDA_ARCH__ >= 900
    const std::uint32_t at = ptx::address_at(ptx::shared_address(local), rank);
    SumQuad q;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      std::uint32_t bits;
      asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(bits) : "r"(at + 4 * i) : "memory");
      q.v[i] = of_bits(bits);
    }
    return q;
#else
    return load(local, false);
#endif
  }
  __device__ __forceinline__ void add(const SumQuad& other) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (std::is_same_v<Sum, float>) {
        v[i] = __fadd_rn(v[i], other.v[i]);
      } else {
        v[i] += other.v[i];
      }
    }
  }

 private:
  __device__ __forceinline__ static Sum of_bits(std::uint32_t bits) {
    return reinterpret_cast<const Sum&>(bits);
  }
};

// `count` elements of C from their sums.
template <class Sum>
__device__ __forceinline__ void finish_quad(const SimtParams& p, std::int64_t batch, std::int64_t m,
                                            std::int64_t n, int count, const SumQuad<Sum>& sum) {
  if (p.c.type == Element::I32) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i >= count) continue;
      finish_i32(p, batch * p.c.batch + m * p.c.row + (n + i) * p.c.column,
                 static_cast<long long>(sum.v[i]));
    }
    return;
  }
  float v[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) v[i] = static_cast<float>(sum.v[i]);
  finish_elements(p, batch, m, n, count, v);
}

template <Element kType, SkinnyForm kForm, int kRows>
__global__ void __launch_bounds__(32 * kSkinnyWarps,
                                  skinny_least_blocks(element_bytes(kType), kRows))
    gemm_skinny(const __grid_constant__ SkinnyParams p) {
  using Warp = SkinnyWarp<kType, kForm, kRows>;
  using Sum = typename Warp::Sum;
  constexpr int kColumns = Warp::kColumns, kPitch = skinny_pitch(kColumns);
  constexpr int kWarpWords = skinny_warp_bytes(Warp::kBytes, kForm, kRows) / 4;
  // AlongK reads whole tiles: the last one begins where it ends with the columns.
  const auto excess = [](std::int64_t at, std::int64_t n) {
    if constexpr (kForm != SkinnyForm::AlongK) return 0;
    return static_cast<int>(max(at + kColumns - n, std::int64_t{0}));
  };
  extern __shared__ uint4 shared[];
  Sum* const partial = reinterpret_cast<Sum*>(shared);
  // The same in all lanes, which the compiler cannot know of threadIdx.
  const int warp = __shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / 32, 0);
  const int group = warp / p.slices, rank = static_cast<int>(blockIdx.x) % p.cluster;
  // Units of K of the slice: the first ones have one more.
  const auto depth =
      static_cast<int>((p.product.k + skinny_unit(Warp::kBytes) - 1) / skinny_unit(Warp::kBytes));
  const int slices = p.slices * p.cluster, slice = rank * p.slices + warp - group * p.slices;
  const int share = depth / slices, longer = depth - share * slices;
  const int first = slice * share + min(slice, longer), count = share + (slice < longer ? 1 : 0);
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  for (std::uint32_t unit = blockIdx.x / p.cluster; unit < p.units; unit += gridDim.x / p.cluster) {
    const std::uint32_t tile = unit % p.tiles, rest = unit / p.tiles;
    const std::int64_t batch = rest / p.chunks, row = std::int64_t{rest % p.chunks} * kRows;
    const std::int64_t column = std::int64_t{tile} * (kColumns * p.groups);
    if (const std::int64_t at = column + group * kColumns; at < p.product.n) {
      Warp part(p.product, batch, row, at - excess(at, p.product.n),
                shared + warp * (kWarpWords / 4));
      part.run(first, count);
      part.store(partial + warp * kWarpWords);
    }
    __syncthreads();
    const int rows = static_cast<int>(min(p.product.m - row, std::int64_t{kRows}));
    // Quads of a row: a power of two.
    const int quads_shift = 31 - __clz(kColumns / 4 * p.groups);
    const auto columns =
        static_cast<int>(min(p.product.n - column, std::int64_t{kColumns} * p.groups));
    const int threads = static_cast<int>(blockDim.x);
    // Calls each(row, column, its first partial sum) for the quads that block `part` of `parts`
    // has.
    const auto for_each_quad = [&](int part, int parts, auto each) {
#pragma unroll 1
      for (int e = part * threads + static_cast<int>(threadIdx.x); e >> quads_shift < rows;
           e += threads * parts) {
        const int s = e >> quads_shift, n = (e - (s << quads_shift)) * 4;
        if (n >= columns) continue;
        const int g = n / kColumns;
        each(s, n,
             partial + g * p.slices * kWarpWords + s * kPitch + n % kColumns +
                 excess(column + g * kColumns, p.product.n));
      }
    };
    const bool whole = kForm != SkinnyForm::AlongK || p.product.n % 4 == 0;
    const auto sum_slices = [&](const Sum* from) {
      SumQuad<Sum> sum = SumQuad<Sum>::load(from, whole);
#pragma unroll 2
      for (int i = 1; i < p.slices; ++i) sum.add(SumQuad<Sum>::load(from + i * kWarpWords, whole));
      return sum;
    };
    if (p.cluster > 1) {
      for_each_quad(0, 1, [&](int, int n, Sum* from) {
        const SumQuad<Sum> sum = sum_slices(from);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (n + i < columns) from[i] = sum.v[i];
        }
      });
      cluster_sync_memory();
    }
    for_each_quad(rank, p.cluster, [&](int s, int n, const Sum* from) {
      SumQuad<Sum> sum;
      if (p.cluster == 1) {
        sum = sum_slices(from);
      } else {
        sum = SumQuad<Sum>::load_remote(from, 0);
#pragma unroll 1
        for (int i = 1; i < p.cluster; ++i) sum.add(SumQuad<Sum>::load_remote(from, i));
      }
      finish_quad(p.product, batch, row + s, column + n, columns - n, sum);
    });
    if (p.cluster > 1) cluster_sync_memory();
    __syncthreads();
  }
}

template <Element kType, SkinnyForm kForm>
const void* skinny_kernel_of(int rows) {
  if (rows == 16) return reinterpret_cast<const void*>(&gemm_skinny<kType, kForm, 16>);
  if constexpr (kType == Element::F32) {
    if (rows == 4) return reinterpret_cast<const void*>(&gemm_skinny<kType, kForm, 4>);
  }
  return reinterpret_cast<const void*>(&gemm_skinny<kType, kForm, 8>);
}
template <Element kType>
const void* skinny_kernel_of(SkinnyForm form, int rows) {
  switch (form) {
    case SkinnyForm::AlongK:
      return skinny_kernel_of<kType, SkinnyForm::AlongK>(rows);
    case SkinnyForm::AlongColumns:
      return skinny_kernel_of<kType, SkinnyForm::AlongColumns>(rows);
    default:
      return reinterpret_cast<const void*>(&gemm_skinny<kType, SkinnyForm::Gathered, 16>);
  }
}

}  // namespace girih::inline v0::cuda
