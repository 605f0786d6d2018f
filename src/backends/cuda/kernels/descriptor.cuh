#pragma once
// Where an operand tile lies in shared memory, and the 64-bit descriptors by which wgmma finds it.
//
// K-major: a panel for each 128 bytes of the depth; it is `extent` rows of 128 bytes (128-byte
// swizzle: 8 rows are one 1024-byte period). MN-major, 2-byte elements alone: panels of `width` of
// the extent; a panel is `depth` rows (one a K) of `width` elements, swizzled by its own 2 * width
// bytes, 8 rows a period.

#include <cstdint>

#include "plan/cuda_gemm_tile.hpp"

namespace girih::inline v0::cuda {

template <Major kMajor, int kExtent, int kDepth, int kElementBytes = 2>
struct OperandTile {
  static_assert(kMajor == Major::K || kElementBytes == 2, "wgmma transposes 16-bit operands alone");
  static constexpr int kWidth = box_width(kMajor, kExtent, kElementBytes);
  static constexpr int kRowBytes = kElementBytes * kWidth;
  static constexpr int kPanels =
      kMajor == Major::K ? kDepth / kWidth : loaded_extent(kMajor, kExtent) / kWidth;
  static constexpr int kPanelBytes = kRowBytes * (kMajor == Major::K ? kExtent : kDepth);
  static constexpr int kBytes = loaded_extent(kMajor, kExtent) * kDepth * kElementBytes;
  static constexpr int kTransposed = kMajor == Major::MN ? 1 : 0;

  // Byte offset of the slice `slice` of K (32 bytes of it), `first` elements into the extent (a
  // multiple of 64). A sixteenth of it may be added to a descriptor: the address is the lowest
  // field, and 227 KiB never carry out of its 14 bits.
  static __device__ __forceinline__ constexpr std::uint32_t offset(int first, int slice) {
    if constexpr (kMajor == Major::K) {
      return (slice / 4) * kPanelBytes + first * 128 + (slice % 4) * 32;
    } else {
      return (first / kWidth) * kPanelBytes + slice * 16 * kRowBytes;
    }
  }

  // Everything but the address: stride between 8-row periods, stride between panels (MN-major
  // only), swizzle.
  static constexpr std::uint64_t kFixed =
      (static_cast<std::uint64_t>(8 * kRowBytes / 16) << 32) |
      (static_cast<std::uint64_t>(kMajor == Major::MN ? kPanelBytes / 16 : 1) << 16) |
      (static_cast<std::uint64_t>(kRowBytes == 128  ? 1
                                  : kRowBytes == 64 ? 2
                                                    : 3)
       << 62);

  static __device__ __forceinline__ std::uint64_t descriptor(std::uint32_t base) {
    return kFixed | ((base & 0x3FFFF) >> 4);
  }
};

}  // namespace girih::inline v0::cuda
