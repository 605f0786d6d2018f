#pragma once

#include "backends/cuda/kernels/gemm_params.hpp"

// What the copies, casts and fills that run at memory speed are given, by value. Plain C++: the
// arithmetic of places is tested on the host.

namespace girih::inline v0::cuda {

constexpr std::uint32_t quotient(std::uint32_t n, const Divisor& d) {
  return (static_cast<std::uint32_t>(std::uint64_t{n} * d.multiplier >> 32) + n) >> d.shift;
}

// The dimensions outside of those that a kernel walks itself, from the inside; strides in bytes.
struct OuterDimensions {
  static constexpr int kMost = 5;
  int count = 0;
  Divisor extents[kMost];
  std::int64_t source_strides[kMost] = {};
  std::int64_t destination_strides[kMost] = {};
};
struct MoveOffsets {
  std::int64_t source = 0, destination = 0;
};
constexpr MoveOffsets offsets_of(const OuterDimensions& outer, std::uint32_t row) {
  MoveOffsets at;
  for (int d = 0; d < outer.count; ++d) {
    const std::uint32_t next = quotient(row, outer.extents[d]);
    const std::int64_t index = row - next * outer.extents[d].value;
    at.source += index * outer.source_strides[d];
    at.destination += index * outer.destination_strides[d];
    row = next;
  }
  return at;
}

/// Rows whose elements are neighbours on both sides, in units: bytes that one access moves, or the
/// cast_unit elements of a cast. Fewer than 2^31 units in all.
struct MoveParams {
  const void* source = nullptr;
  void* destination = nullptr;
  OuterDimensions outer;
  std::uint32_t units = 0;  ///< in all rows
  Divisor row_units;        ///< in one
  /// Of copies of long rows: pieces of move_chunk units that a warp takes at a time; 0: none.
  std::uint32_t chunks = 0;
  Divisor row_chunks;
  std::uint32_t tails = 0;  ///< elements that no unit has, in all rows
  Divisor row_tails;
  /// So many of a row's lie before the units: what both sides have in front of a multiple of 16
  /// bytes.
  std::uint32_t heads = 0;
  std::int64_t head_bytes = 0;
  std::int64_t source_tail = 0;  ///< bytes from a row's start to what lies behind the units
  std::int64_t destination_tail = 0;
  std::uint64_t pattern = 0;  ///< of a fill, one element's repeated to fill the word
  int bytes = 4;              ///< of an element, for copies and fills
};

// Elements that a thread casts at a time. Four of f32 are 16 bytes: written 32 at a time, every
// store of a warp would leave half of each sector to the next.
constexpr int cast_unit(int destination_bytes) {
  return destination_bytes == 4 ? 4 : 8;
}
constexpr int kMoveThreads = 256;
// Units that a thread of a copy has under way, and that a warp takes at a time.
constexpr int move_in_flight(int unit) {
  return unit == 16 ? 4 : 8;
}
constexpr int move_chunk(int unit) {
  return 32 * move_in_flight(unit);
}
// Where in its row element `i` of those without a unit lies, bytes from the row's start.
constexpr std::int64_t tail_offset(const MoveParams& p, std::uint32_t i, std::int64_t behind,
                                   int bytes) {
  return i < p.heads ? std::int64_t{i} * bytes : behind + std::int64_t{i - p.heads} * bytes;
}

/// x is the source's contiguous dimension, y the destination's.
struct TransposeParams {
  const void* source = nullptr;
  void* destination = nullptr;
  OuterDimensions outer;
  std::int64_t x = 0, y = 0;         ///< extents
  std::int64_t source_row = 0;       ///< bytes from one y to the next
  std::int64_t destination_row = 0;  ///< bytes from one x to the next
  std::uint32_t tiles = 0;
  Divisor tiles_x, tiles_y;
};

// Elements along a side of the tile that a block transposes, 256 bytes, and bytes of its rows in
// shared memory: an odd number of 4-byte words, so that a column's elements lie in different banks.
constexpr int transpose_side(int bytes) {
  return 256 / bytes;
}
constexpr int transpose_pitch(int bytes) {
  return 256 + (bytes == 8 ? 8 : 4);
}
constexpr int transpose_shared_bytes(int bytes) {
  return transpose_side(bytes) * transpose_pitch(bytes);
}
// Where a lane of a warp's step writes. A warp writes `width` elements along y at a time, of as
// many columns x as makes each 4-byte word of shared memory one that several lanes share.
struct TransposePlace {
  int x, y;
};
constexpr TransposePlace transpose_place(int side, int width, int step, int lane) {
  const int groups = 32 / width, of_row = side / (groups * width);
  return {step / of_row * width + lane % width, (step % of_row * groups + lane / width) * width};
}
constexpr int transpose_steps(int side, int width) {
  return side * side / width / 32;
}

}  // namespace girih::inline v0::cuda
