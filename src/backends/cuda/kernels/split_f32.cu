// f32 operands into three bf16 parts each, K contiguous: through shared memory, a tile at a time,
// so that reads follow whatever the operand has contiguous and writes follow K.

#include <cuda_bf16.h>

#include "backends/cuda/kernels/fast_f32_params.hpp"
#include "backends/cuda/kernels/move_params.hpp"
#include "backends/cuda/kernels/ptx.cuh"

namespace girih::inline v0::cuda {
namespace {

constexpr int kPitch = kSplitTile + 1;

struct Parts {
  std::uint32_t hi, mid, lo;
};

/// True if x has no exact parts: not finite, rounded to an infinity, or too small for the last part
/// to be a normal number.
__device__ __forceinline__ bool has_no_parts(float x) {
  const std::uint32_t magnitude = __float_as_uint(x) & 0x7FFFFFFFu;
  constexpr std::uint32_t kLeast = (127u - 100u) << 23, kInfinity = 0x7F7F8000u;
  return magnitude - kLeast >= kInfinity - kLeast && magnitude != 0;
}

__device__ __forceinline__ Parts split(float x) {
  const __nv_bfloat16 hi = __float2bfloat16_rn(x);
  const float rest = x - __bfloat162float(hi);
  const __nv_bfloat16 mid = __float2bfloat16_rn(rest);
  const __nv_bfloat16 lo = __float2bfloat16_rn(rest - __bfloat162float(mid));
  return {__bfloat16_as_ushort(hi), __bfloat16_as_ushort(mid), __bfloat16_as_ushort(lo)};
}

struct Place {
  std::int64_t matrix, extent, k;
};

__device__ __forceinline__ Place place_of(const SplitOperand& x, std::uint32_t unit) {
  const std::uint32_t beside = quotient(unit, x.tiles_k), matrix = quotient(beside, x.tiles_extent);
  return {matrix, std::int64_t{beside - matrix * x.tiles_extent.value} * kSplitTile,
          std::int64_t{unit - beside * x.tiles_k.value} * kSplitTile};
}

/// Returns whether an element had no parts.
__device__ __forceinline__ bool read(const SplitOperand& x, const Place& at,
                                     float (&tile)[kSplitTile][kPitch]) {
  const bool along_k = x.k_stride < x.extent_stride;
  const int fast = threadIdx.x % kSplitTile, slow = threadIdx.x / kSplitTile;
  constexpr int kStep = kSplitThreads / kSplitTile, kBatch = 8;
  const std::int64_t e = at.extent + (along_k ? slow : fast), k = at.k + (along_k ? fast : slow);
  const std::int64_t step = kStep * (along_k ? x.extent_stride : x.k_stride);
  const float* from = x.from + at.matrix * x.batch_stride + e * x.extent_stride + k * x.k_stride;
  const std::int64_t slow_left = along_k ? x.extent - e : x.k - k;
  const bool is_inside = along_k ? k < x.k : e < x.extent;
  int left = is_inside && slow_left > 0
                 ? static_cast<int>(slow_left < kSplitTile ? slow_left : kSplitTile)
                 : 0;
  bool found = false;
#pragma unroll 1
  for (int i = 0; i < kSplitTile / kStep; i += kBatch) {
    float v[kBatch];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) v[j] = j * kStep < left ? from[j * step] : 0.0f;
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      found = found || has_no_parts(v[j]);
      const int line = slow + (i + j) * kStep;
      if (along_k) {
        tile[line][fast] = v[j];
      } else {
        tile[fast][line] = v[j];
      }
    }
    from += kBatch * step;
    left -= kBatch * kStep;
  }
  return found;
}

/// Eight of K a thread: 16 bytes of each part.
__device__ __forceinline__ void write(const SplitOperand& x, const Place& at,
                                      const float (&tile)[kSplitTile][kPitch]) {
  constexpr int kGroups = kSplitTile / 8;
  for (int i = threadIdx.x; i < kSplitTile * kGroups; i += kSplitThreads) {
    const int row = i / kGroups, k = i % kGroups * 8;
    if (at.extent + row >= x.extent) continue;
    std::uint32_t words[3][4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const Parts first = split(tile[row][k + 2 * j]), second = split(tile[row][k + 2 * j + 1]);
      words[0][j] = first.hi | second.hi << 16;
      words[1][j] = first.mid | second.mid << 16;
      words[2][j] = first.lo | second.lo << 16;
    }
#pragma unroll
    for (int part = 0; part < 3; ++part) {
      std::uint16_t* const to =
          x.to + ((at.matrix * 3 + part) * x.extent + at.extent + row) * x.ld + at.k + k;
      *reinterpret_cast<uint4*>(to) = {words[part][0], words[part][1], words[part][2],
                                       words[part][3]};
    }
  }
}

__global__ void __launch_bounds__(kSplitThreads) split_f32(const __grid_constant__ SplitParams p) {
  __shared__ float tile[kSplitTile][kPitch];
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  const std::uint32_t first = p.operands[0].tiles, units = first + p.operands[1].tiles;
  for (std::uint32_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const SplitOperand& x = p.operands[unit >= first];
    const Place at = place_of(x, unit >= first ? unit - first : unit);
    const bool found = read(x, at, tile);
    if (__syncthreads_or(found) && threadIdx.x == 0) *x.flag = 1;
    write(x, at, tile);
    __syncthreads();
  }
}

}  // namespace

const void* split_f32_kernel() {
  return reinterpret_cast<const void*>(&split_f32);
}

}  // namespace girih::inline v0::cuda
