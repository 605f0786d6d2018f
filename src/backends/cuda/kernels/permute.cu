#include "backends/cuda/kernels/epilogue.cuh"
#include "backends/cuda/kernels/finding.cuh"
#include "backends/cuda/kernels/ptx.cuh"
#include "backends/cuda/kernels/routing_kernels.hpp"

// Rows gathered, and rows added up. Indices are checked by a kernel of their own first, so that
// nothing is written where one of them is bad.

namespace girih::inline v0::cuda {
namespace {

__device__ __forceinline__ std::int64_t at(const RowsRef& x, std::int64_t row,
                                           std::int64_t column) {
  return row * x.row + column * x.column;
}
__device__ __forceinline__ std::int64_t index_at(const RowsRef& x, std::int64_t row,
                                                 std::int64_t column) {
  return static_cast<const std::int32_t*>(x.data)[at(x, row, column)];
}

__device__ __forceinline__ std::uint64_t least(std::uint64_t x, std::uint64_t y) {
  return x < y ? x : y;
}

__global__ void __launch_bounds__(kRowThreads)
    index_check(const __grid_constant__ IndexCheckParams p) {
  __shared__ std::uint64_t of_warps[kRowThreads / 32];
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kRowThreads;
  std::uint64_t found = kNothingFound;
  const std::int64_t count = p.rows * p.columns;
#pragma unroll 4
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kRowThreads + threadIdx.x;
       i < count; i += step) {
    const std::int64_t row = p.columns == 1 ? i : i / p.columns;
    const std::int64_t index = index_at(p.indices, row, i - row * p.columns);
    if (index >= 0 && index < p.limit) continue;
    const auto place = static_cast<std::uint64_t>(i) << 32;
    found = least(found, place | static_cast<std::uint32_t>(index));
  }
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    found = least(found, __shfl_xor_sync(0xFFFFFFFF, found, lanes));
  }
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = found;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const std::uint64_t other : of_warps) found = least(found, other);
  p.found[blockIdx.x] = found;
}

/// Whether an index is bad; then the first block tells. Every thread calls it.
__device__ __forceinline__ bool is_refused(const IndexCheck& check) {
  bool bad = false;
  for (int i = static_cast<int>(threadIdx.x); i < check.blocks; i += kRowThreads) {
    bad |= check.found[i] != kNothingFound;
  }
  if (__syncthreads_or(bad) == 0) return false;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    std::uint64_t found = kNothingFound;
    for (int i = 0; i < check.blocks; ++i) found = least(found, check.found[i]);
    report(check.finding, {.kind = check.kind,
                           .index = static_cast<std::int64_t>(found >> 32),
                           .value = static_cast<std::int32_t>(static_cast<std::uint32_t>(found)),
                           .limit = check.limit,
                           .per = check.per});
  }
  return true;
}

/// Warps take units warp, warp + warps, ...: rows of `segments` segments each. Calls
/// take(row, segment).
template <class Take>
__device__ __forceinline__ void for_each_segment(std::int64_t rows, std::int64_t segments,
                                                 const Take& take) {
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (kRowThreads / 32);
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (kRowThreads / 32) + threadIdx.x / 32;
  if (rows * segments < 0x7FFFFFFF) {  // a division of 32 bits is four times as fast
    const auto units = static_cast<std::uint32_t>(rows * segments);
    for (auto unit = static_cast<std::uint32_t>(first); unit < units;
         unit += static_cast<std::uint32_t>(warps)) {
      const std::uint32_t row = unit / static_cast<std::uint32_t>(segments);
      take(row, unit - row * static_cast<std::uint32_t>(segments));
    }
    return;
  }
  for (std::int64_t unit = first; unit < rows * segments; unit += warps) {
    const std::int64_t row = unit / segments;
    take(row, unit - row * segments);
  }
}

template <class T>
__device__ __forceinline__ void permute_as(const PermuteParams& p) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const T* const x = static_cast<const T*>(p.x.data);
  T* const y = static_cast<T*>(p.y.data);
  for_each_segment(p.rows, (p.columns + kRowSegment - 1) / kRowSegment,
                   [&](std::int64_t row, std::int64_t segment) {
                     const std::int64_t source = index_at(p.sources, row, 0);
                     const std::int64_t begin = segment * kRowSegment;
                     const auto count =
                         static_cast<int>(min(p.columns - begin, std::int64_t{kRowSegment}));
#pragma unroll 4
                     for (int i = lane; i < count; i += 32) {
                       y[at(p.y, row, begin + i)] = x[at(p.x, source, begin + i)];
                     }
                   });
}

/// Four pieces of 16 bytes a lane are under way at once.
__device__ __forceinline__ void permute_pieces(const PermuteParams& p) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t pieces = p.columns * p.bytes / 16;
  for_each_segment(p.rows, (pieces + kPermuteSegment - 1) / kPermuteSegment,
                   [&](std::int64_t row, std::int64_t segment) {
                     const std::int64_t source = index_at(p.sources, row, 0);
                     const char* const x =
                         static_cast<const char*>(p.x.data) + source * p.x.row * p.bytes;
                     char* const y = static_cast<char*>(p.y.data) + row * p.y.row * p.bytes;
                     const std::int64_t first = segment * kPermuteSegment + lane;
                     uint4 held[kPermuteSegment / 32];
#pragma unroll
                     for (int i = 0; i < kPermuteSegment / 32; ++i) {
                       const std::int64_t piece = first + i * 32;
                       if (piece < pieces)
                         held[i] = *reinterpret_cast<const uint4*>(x + piece * 16);
                     }
#pragma unroll
                     for (int i = 0; i < kPermuteSegment / 32; ++i) {
                       const std::int64_t piece = first + i * 32;
                       if (piece < pieces) *reinterpret_cast<uint4*>(y + piece * 16) = held[i];
                     }
                   });
}

__global__ void __launch_bounds__(kRowThreads)
    permute_rows(const __grid_constant__ PermuteParams p) {
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  if (is_refused(p.check)) return;
  if (p.in_pieces) return permute_pieces(p);
  if (p.bytes == 1) return permute_as<std::uint8_t>(p);
  if (p.bytes == 2) return permute_as<std::uint16_t>(p);
  permute_as<std::uint32_t>(p);
}

/// Columns column .. column + count - 1 of a row, others 0.
__device__ __forceinline__ void load_eight(const RowsRef& x, std::int64_t row, std::int64_t column,
                                           int count, bool in_pieces, float (&v)[8]) {
  const std::int64_t first = at(x, row, column);
  if (in_pieces) {
    if (x.type == Element::F32) {
      const float4* const from =
          reinterpret_cast<const float4*>(static_cast<const float*>(x.data) + first);
      const float4 a = from[0], b = from[1];
      v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
      v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
      return;
    }
    const uint4 bits =
        *reinterpret_cast<const uint4*>(static_cast<const std::uint16_t*>(x.data) + first);
    const float2 a = unpack(x.type, bits.x), b = unpack(x.type, bits.y), c = unpack(x.type, bits.z),
                 d = unpack(x.type, bits.w);
    v[0] = a.x, v[1] = a.y, v[2] = b.x, v[3] = b.y;
    v[4] = c.x, v[5] = c.y, v[6] = d.x, v[7] = d.y;
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    v[i] = 0.0f;
    if (i >= count) continue;
    const std::int64_t j = first + i * x.column;
    v[i] = x.type == Element::F32 ? static_cast<const float*>(x.data)[j]
                                  : unpack(x.type, static_cast<const std::uint16_t*>(x.data)[j]).x;
  }
}
__device__ __forceinline__ void store_eight(const RowsRef& y, std::int64_t row, std::int64_t column,
                                            int count, bool in_pieces, const float (&v)[8]) {
  const std::int64_t first = at(y, row, column);
  if (in_pieces) {
    if (y.type == Element::F32) {
      float4* const to = reinterpret_cast<float4*>(static_cast<float*>(y.data) + first);
      to[0] = {v[0], v[1], v[2], v[3]};
      to[1] = {v[4], v[5], v[6], v[7]};
      return;
    }
    *reinterpret_cast<uint4*>(static_cast<std::uint16_t*>(y.data) + first) = {
        pack(y.type, v[0], v[1]), pack(y.type, v[2], v[3]), pack(y.type, v[4], v[5]),
        pack(y.type, v[6], v[7])};
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i >= count) continue;
    const std::int64_t j = first + i * y.column;
    if (y.type == Element::F32) {
      static_cast<float*>(y.data)[j] = v[i];
    } else {
      static_cast<std::uint16_t*>(y.data)[j] = static_cast<std::uint16_t>(pack(y.type, v[i], 0.0f));
    }
  }
}

__global__ void __launch_bounds__(kRowThreads)
    unpermute_rows(const __grid_constant__ UnpermuteParams p) {
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  if (is_refused(p.check)) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for_each_segment(
      p.tokens, (p.columns + kRowSegment - 1) / kRowSegment,
      [&](std::int64_t token, std::int64_t segment) {
        const std::int64_t column = segment * kRowSegment + lane * 8;
        const auto count = static_cast<int>(min(p.columns - column, std::int64_t{8}));
        const bool whole = count == 8;
        float sum[8] = {};
        // A lane each reads the indices of 32 slots, so that many rows are under way at once.
        for (std::int64_t first = 0; first < p.k; first += 32) {
          const auto slots = static_cast<int>(min(p.k - first, std::int64_t{32}));
          std::int32_t index = 0;
          float weight = 1.0f;
          if (lane < slots) {
            index = static_cast<std::int32_t>(index_at(p.indices, token, first + lane));
            if (p.weights.data != nullptr) {
              weight =
                  static_cast<const float*>(p.weights.data)[at(p.weights, token, first + lane)];
            }
          }
#pragma unroll 4
          for (int s = 0; s < slots; ++s) {
            const std::int32_t row = __shfl_sync(0xFFFFFFFF, index, s);
            const float factor = __shfl_sync(0xFFFFFFFF, weight, s);
            float v[8];
            load_eight(p.x, row, column, count, p.x_in_pieces && whole, v);
#pragma unroll
            for (int i = 0; i < 8; ++i) sum[i] = fmaf(factor, v[i], sum[i]);
          }
        }
        if (count <= 0) return;
        store_eight(p.y, token, column, count, p.y_in_pieces && whole, sum);
      });
}

}  // namespace

const void* index_check_kernel() {
  return reinterpret_cast<const void*>(&index_check);
}
const void* permute_kernel() {
  return reinterpret_cast<const void*>(&permute_rows);
}
const void* unpermute_kernel() {
  return reinterpret_cast<const void*>(&unpermute_rows);
}

}  // namespace girih::inline v0::cuda
