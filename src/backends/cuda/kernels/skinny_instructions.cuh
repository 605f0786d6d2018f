#pragma once
// Single instructions of skinny products. A test has another file of this name, for the host.

#include <cstdint>

#include "backends/cuda/kernels/async_copy.cuh"
#include "plan/cuda_gemm_tile.hpp"

namespace girih::inline v0::cuda {

// 16 bytes into shared memory, or zeros if they do not exist. Weights are read once, past L1; rows
// of K go on, so that L2 may ask memory for 256 bytes at once: 4 to 7 % faster.
template <bool kAlongK>
__device__ __forceinline__ void copy_streamed(uint4* to, const void* from, bool exists) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (kAlongK) {
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(at), "l"(from),
                 "r"(exists ? 16 : 0)
                 : "memory");
  } else {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from),
                 "r"(exists ? 16 : 0)
                 : "memory");
  }
}
// The short side is read by every block: through L1.
__device__ __forceinline__ void copy_kept(uint4* to, const void* from, bool exists) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(exists ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void warp_sync() {
  __syncwarp();
}
// d += a b: 16 columns of W by 8 rows of X over a depth of 32 bytes.
template <Element kType, class Sum>
__device__ __forceinline__ void multiply(Sum (&d)[4], std::uint32_t a0, std::uint32_t a1,
                                         std::uint32_t a2, std::uint32_t a3, std::uint32_t b0,
                                         std::uint32_t b1) {
  if constexpr (kType == Element::I8) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  } else if constexpr (kType == Element::BF16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
}

// The low (or high) two 8-bit floats of a word as f16, exactly.
template <Element kType, bool kHigh>
__device__ __forceinline__ std::uint32_t widen_pair(std::uint32_t word) {
  const auto half = static_cast<std::uint16_t>(kHigh ? word >> 16 : word);
#if __CUDA_ARCH__ >= 890
  std::uint32_t pair;
  if constexpr (kType == Element::F8E4M3) {
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(half));
  } else {
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(pair) : "h"(half));
  }
  return pair;
#else
  const std::uint32_t spread = (half & 0xFFu) | (half & 0xFF00u) << 8;
  if constexpr (kType == Element::F8E5M2) return spread << 8;
  // The exponent of e4m3 is biased by 8 less; 0x7F is NaN.
  const std::uint32_t magnitude = spread & 0x007F007Fu;
  std::uint32_t pair;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(magnitude << 7), "r"(0x5C005C00u));
  const std::uint32_t nan = ((magnitude + 0x00010001u) >> 7 & 0x00010001u) * 0x7E00u;
  return pair | nan | (spread & 0x00800080u) << 8;
#endif
}

}  // namespace girih::inline v0::cuda
