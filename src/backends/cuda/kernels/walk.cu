#include "backends/cuda/kernels/convert.cuh"
#include "backends/cuda/kernels/walk_kernels.hpp"

// Copies, casts and fills over strided views. A warp takes a segment of the last dimension at a
// time, so that the divisions that find its place are paid once for 512 elements.

namespace girih::inline v0::cuda {
namespace {

/// Calls move(source index, destination index) for every element.
template <class Move>
__device__ __forceinline__ void walk(const WalkParams& p, Move move) {
  constexpr int kLast = WalkParams::kRank - 1;
  const int lane = threadIdx.x % 32;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (kWalkThreads / 32);
  std::int64_t segment =
      static_cast<std::int64_t>(blockIdx.x) * (kWalkThreads / 32) + threadIdx.x / 32;
  for (; segment < p.segments; segment += warps) {
    std::int64_t row = segment / p.segments_per_row;
    const std::int64_t first = (segment - row * p.segments_per_row) * kWalkSegment;
    std::int64_t source = 0, destination = 0;
#pragma unroll
    for (int d = kLast - 1; d >= 0; --d) {
      if (p.extents[d] == 1) continue;
      const std::int64_t next = row / p.extents[d], index = row - next * p.extents[d];
      source += index * p.source_strides[d];
      destination += index * p.destination_strides[d];
      row = next;
    }
    const std::int64_t left = p.extents[kLast] - first;
    const int count = static_cast<int>(left < kWalkSegment ? left : kWalkSegment);
#pragma unroll 4
    for (int i = lane; i < count; i += 32) {
      move(source + (first + i) * p.source_strides[kLast],
           destination + (first + i) * p.destination_strides[kLast]);
    }
  }
}

template <class T>
__device__ __forceinline__ void copy_as(const WalkParams& p) {
  const T* from = static_cast<const T*>(p.source);
  T* to = static_cast<T*>(p.destination);
  walk(p, [&](std::int64_t source, std::int64_t destination) { to[destination] = from[source]; });
}

template <class T>
__device__ __forceinline__ void fill_as(const WalkParams& p) {
  T* to = static_cast<T*>(p.destination);
  walk(p, [&](std::int64_t, std::int64_t at) { to[at] = static_cast<T>(p.pattern); });
}

__global__ void __launch_bounds__(kWalkThreads) copy_walk(const __grid_constant__ WalkParams p) {
  if (p.bytes == 1) return copy_as<std::uint8_t>(p);
  if (p.bytes == 2) return copy_as<std::uint16_t>(p);
  if (p.bytes == 4) return copy_as<std::uint32_t>(p);
  copy_as<std::uint64_t>(p);
}

__global__ void __launch_bounds__(kWalkThreads) fill_walk(const __grid_constant__ WalkParams p) {
  if (p.bytes == 1) return fill_as<std::uint8_t>(p);
  if (p.bytes == 2) return fill_as<std::uint16_t>(p);
  if (p.bytes == 4) return fill_as<std::uint32_t>(p);
  fill_as<std::uint64_t>(p);
}

__global__ void __launch_bounds__(kWalkThreads) cast_walk(const __grid_constant__ WalkParams p) {
  walk(p, [&](std::int64_t source, std::int64_t destination) {
    store_from_float(p.destination, p.destination_type, destination,
                     load_as_float(p.source, p.source_type, source));
  });
}

__global__ void __launch_bounds__(256) nibble_walk(const __grid_constant__ NibbleParams p) {
  const std::int64_t bytes = (p.count + 1) / 2;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * 256;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; i < bytes;
       i += step) {
    const unsigned value = p.source != nullptr ? p.source[i] : p.pattern;
    const bool half = i == bytes - 1 && p.count % 2 != 0;
    p.destination[i] =
        static_cast<std::uint8_t>(half ? (p.destination[i] & 0xF0u) | (value & 0x0Fu) : value);
  }
}

}  // namespace

const void* copy_kernel() {
  return reinterpret_cast<const void*>(&copy_walk);
}
const void* cast_kernel() {
  return reinterpret_cast<const void*>(&cast_walk);
}
const void* fill_kernel() {
  return reinterpret_cast<const void*>(&fill_walk);
}
const void* nibble_kernel() {
  return reinterpret_cast<const void*>(&nibble_walk);
}

}  // namespace girih::inline v0::cuda
