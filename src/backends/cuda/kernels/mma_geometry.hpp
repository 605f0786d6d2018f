#pragma once

#include <cstdint>

#include "plan/cuda_gemm_tile.hpp"

// Where the operands of a warp's matrix products lie in shared memory. Plain C++.
//
// A stage of one operand has `extent` x 128 bytes, in rows of 128 bytes:
//   K-major   a row for each of M (or N), 128 bytes of K
//   MN-major  panels of 64 of M (or N), each of 64 rows, one for each of K, of 2-byte elements
// The 16-byte pieces of row r are stored in the order piece ^ (r % 8), so that the eight rows that
// ldmatrix reads at once, and those that eight threads write, lie in different banks.

namespace girih::inline v0::cuda {

constexpr int kMmaRowBytes = 128;
constexpr int kMmaPanelExtent = 64;  // MN-major
constexpr int kMmaPanelBytes = 64 * kMmaRowBytes;
constexpr int kMmaStages = 3;

/// A block's part of C, which `rows / 32 x cols / 32`, or half as many, warps share.
struct MmaTile {
  int extent;  ///< of both sides
  int warps_m, warps_n;
};
constexpr MmaTile kMmaTiles[] = {{64, 2, 2}, {128, 2, 4}};

constexpr int mma_threads(MmaTile t) {
  return 32 * t.warps_m * t.warps_n;
}
/// Of C in shared memory on the way out, in 4-byte sums: 8 more than a multiple of 32 keep the
/// pairs that half a warp writes in different banks.
constexpr int mma_sum_stride(MmaTile t) {
  return t.extent + 8;
}
constexpr int mma_shared_bytes(MmaTile t) {
  const int stages = kMmaStages * 2 * t.extent * kMmaRowBytes;
  const int sums = t.extent * mma_sum_stride(t) * 4;
  return stages > sums ? stages : sums;
}

/// Of 16 bytes in a row of a stage.
constexpr int mma_piece_offset(int row, int piece) {
  return row * kMmaRowBytes + ((piece ^ (row & 7)) << 4);
}
/// Of the piece that holds elements `at` .. of M (or N) at depth k, MN-major.
constexpr int mma_panel_offset(int k, int at) {
  return at / kMmaPanelExtent * kMmaPanelBytes + mma_piece_offset(k, at % kMmaPanelExtent / 8);
}

/// What one lane hands to ldmatrix.x4 for 16 of M (or N) by 32 bytes of K: the address of part
/// `tile` (of 16) of a warp's rows from `first` on and step `step` (of 32 bytes) is
///   K-major   base + tile * 2048 + (turn ^ step << 5)
///   MN-major  base + step * 2048 + (turn ^ tile << 5)
/// The four registers are those of an m16n8k16 A fragment, or the B fragments of two neighbouring
/// n8. `first` is a multiple of 64, or of 32 if `tile` stays below 2.
struct MmaLane {
  int base, turn;
};
constexpr MmaLane mma_lane(Major major, bool is_a, int first, int lane) {
  const int row = lane % 8, matrix = lane / 8;
  const int upper = is_a ? matrix & 1 : matrix >> 1;  // half of the 16
  const int deeper = is_a ? matrix >> 1 : matrix & 1;
  if (major == Major::K) {
    return {(first + upper * 8 + row) * kMmaRowBytes, (deeper ^ row) << 4};
  }
  const int piece = first % kMmaPanelExtent / 8 + upper;
  return {first / kMmaPanelExtent * kMmaPanelBytes + (deeper * 8 + row) * kMmaRowBytes,
          (piece ^ row) << 4};
}
constexpr int mma_address(Major major, MmaLane lane, int tile, int step) {
  return major == Major::K ? lane.base + tile * 2048 + (lane.turn ^ (step << 5))
                           : lane.base + step * 2048 + (lane.turn ^ (tile << 5));
}

/// An 8-bit float as the f16 of the same value: there is one for each.
constexpr std::uint16_t f16_of_f8e5m2(std::uint8_t x) {
  return static_cast<std::uint16_t>(x << 8);
}
constexpr std::uint16_t f16_of_f8e4m3(std::uint8_t x) {
  const unsigned sign = (x & 0x80u) << 8, magnitude = x & 0x7Fu;
  if (magnitude == 0x7F) return static_cast<std::uint16_t>(sign | 0x7E00u);
  if (magnitude >= 8) return static_cast<std::uint16_t>(sign | ((magnitude << 7) + (8u << 10)));
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  const unsigned lead = magnitude >= 4 ? 2 : magnitude >= 2 ? 1 : 0;  // m 2^-9
  return static_cast<std::uint16_t>(sign |
                                    (((lead + 6) << 10) + ((magnitude << (10 - lead)) & 0x3FFu)));
}

}  // namespace girih::inline v0::cuda
