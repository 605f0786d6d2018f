#include <type_traits>

// Sums the partial products of a split GEMM and runs the epilogue. The order of a sum depends on
// the number of slices alone: up to 8 slices in order by one lane; more by four lanes, each over a
// quarter in order, then ((0+1)+(2+3)).

#include "backends/cuda/kernels/epilogue.cuh"
#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "backends/cuda/kernels/ptx.cuh"

namespace girih::inline v0::cuda {

template <class T>
struct QuadOf;
template <>
struct QuadOf<float> {
  using Type = float4;
};
template <>
struct QuadOf<int> {
  using Type = int4;
};

template <class T>
__device__ __forceinline__ void add(T (&sum)[4], const typename QuadOf<T>::Type& x) {
  sum[0] += x.x, sum[1] += x.y, sum[2] += x.z, sum[3] += x.w;
}

// Slices first .. last - 1. Eight are loaded before the first is added: the sum keeps its order,
// the loads overlap.
template <class T>
__device__ __forceinline__ void sum_partials(const T* from, std::int64_t stride, int first,
                                             int last, T (&sum)[4]) {
  using Loaded = typename QuadOf<T>::Type;
  for (int s = first; s < last; s += 8) {
    Loaded x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (s + i < last) x[i] = __ldcg(reinterpret_cast<const Loaded*>(from + (s + i) * stride));
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (s + i < last) add(sum, x[i]);
    }
  }
}

// T is what the partials are: f32, or i32 of int8 products.
template <class T>
__global__ void __launch_bounds__(128)
    gemm_split_reduce(const __grid_constant__ SplitReduceParams p) {
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  const int lanes = p.splits > 8 ? 4 : 1, part = threadIdx.x % lanes;
  const std::int64_t quads = (p.n + 3) / 4, plane = p.m * p.partial_ld,
                     total = p.batch * p.m * quads;
  const std::int64_t stride = gridDim.x * 128ll / lanes;
  // Whole warps go round together, because the lanes of a quad exchange their sums.
  for (std::int64_t i = (blockIdx.x * 128ll + threadIdx.x) / lanes;
       i - threadIdx.x % 32 / lanes < total; i += stride) {
    const bool real = i < total;
    const std::int64_t n = i % quads * 4, row = i / quads, m = row % p.m, b = row / p.m;
    T sum[4] = {};
    if (real) {
      sum_partials(static_cast<const T*>(p.partial) + b * p.splits * plane + m * p.partial_ld + n,
                   plane, p.splits * part / lanes, p.splits * (part + 1) / lanes, sum);
    }
    for (int step = 1; step < lanes; step *= 2) {
#pragma unroll
      for (T& x : sum) x += __shfl_xor_sync(0xFFFFFFFF, x, step);
    }
    if (!real || part != 0) continue;
    if constexpr (std::is_same_v<T, int>) {
      if (p.epilogue.out.type == Element::I32) {
        finish_integers(p.epilogue, static_cast<int>(m), static_cast<int>(n),
                        static_cast<int>(p.n - n), static_cast<int>(b),
                        {__int_as_float(sum[0]), __int_as_float(sum[1]), __int_as_float(sum[2]),
                         __int_as_float(sum[3])});
        continue;
      }
    }
    float v[1][4];
#pragma unroll
    for (int x = 0; x < 4; ++x) v[0][x] = static_cast<float>(sum[x]);
    const ColumnQuad q(p.epilogue, static_cast<int>(n), static_cast<int>(p.n - n),
                       static_cast<int>(b));
    finish(p.epilogue, q, v, static_cast<int>(m), 1, static_cast<int>(p.m));
  }
}

const void* gemm_split_reduce_kernel(bool integers) {
  return integers ? reinterpret_cast<const void*>(&gemm_split_reduce<int>)
                  : reinterpret_cast<const void*>(&gemm_split_reduce<float>);
}

}  // namespace girih::inline v0::cuda
