#pragma once
// What a lane of a skinny product loads and multiplies. Lane 4 g + t of a warp has the pieces of K
// number t of every four, of columns that g decides. The four elements (of 4 bytes) of a piece are
// what matrix instructions take as K: which K meet in one instruction is free as long as both
// operands agree, so that pieces need no exchange between lanes.

#include "backends/cuda/kernels/skinny_instructions.cuh"
#include "backends/cuda/kernels/skinny_params.hpp"

namespace girih::inline v0::cuda {

template <int kBytes>
__device__ __forceinline__ std::uint32_t load_bits(const void* data, std::int64_t at) {
  if constexpr (kBytes == 1) return static_cast<const std::uint8_t*>(data)[at];
  if constexpr (kBytes == 2) return static_cast<const std::uint16_t*>(data)[at];
  return static_cast<const std::uint32_t*>(data)[at];
}
// A piece of elements `stride` apart, of which the first `left` exist; the others are 0.
template <int kBytes>
__device__ __forceinline__ uint4 gather(const void* data, std::int64_t at, std::int64_t stride,
                                        std::int64_t left) {
  constexpr int kPerWord = 4 / kBytes;
  std::uint32_t words[4] = {};
#pragma unroll
  for (int e = 0; e < skinny_piece(kBytes); ++e) {
    if (e < left) {
      words[e / kPerWord] |= load_bits<kBytes>(data, at + e * stride)
                             << (8 * kBytes * (e % kPerWord));
    }
  }
  return {words[0], words[1], words[2], words[3]};
}

constexpr bool is_f8(Element type) {
  return type == Element::F8E4M3 || type == Element::F8E5M2;
}

__device__ __forceinline__ std::uint32_t word(const uint4& v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
__device__ __forceinline__ std::uint32_t word(const uint2& v, int i) {
  return i == 0 ? v.x : v.y;
}

// Byte i of column b of four rows, as word b: the transpose of 4 x 4 bytes.
__device__ __forceinline__ void transpose_bytes(const std::uint32_t (&rows)[4],
                                                std::uint32_t (&columns)[4]) {
  const std::uint32_t low01 = __byte_perm(rows[0], rows[1], 0x5140),
                      high01 = __byte_perm(rows[0], rows[1], 0x7362),
                      low23 = __byte_perm(rows[2], rows[3], 0x5140),
                      high23 = __byte_perm(rows[2], rows[3], 0x7362);
  columns[0] = __byte_perm(low01, low23, 0x5410);
  columns[1] = __byte_perm(low01, low23, 0x7632);
  columns[2] = __byte_perm(high01, high23, 0x5410);
  columns[3] = __byte_perm(high01, high23, 0x7632);
}

}  // namespace girih::inline v0::cuda
