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
/// kCastUnit elements of a cast. Fewer than 2^31 units in all.
struct MoveParams {
  const void* source = nullptr;
  void* destination = nullptr;
  OuterDimensions outer;
  std::uint32_t units = 0;  ///< in all rows
  Divisor row_units;        ///< in one
  std::uint32_t tails = 0;  ///< elements that are left behind the units, in all rows
  Divisor row_tails;
  std::int64_t source_tail = 0;  ///< bytes from a row's start to what is left
  std::int64_t destination_tail = 0;
  std::uint64_t pattern = 0;  ///< of a fill, one element's repeated to fill the word
  int bytes = 4;              ///< of an element, for copies and fills
};

constexpr int kCastUnit = 8;
constexpr int kMoveThreads = 256;

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

// Elements along a side of the tile that a block transposes, and bytes of its rows in shared
// memory: an odd number of 4-byte words, so that a column's elements lie in different banks.
constexpr int transpose_side(int bytes) {
  return bytes == 1 ? 128 : bytes == 8 ? 32 : 64;
}
constexpr int transpose_pitch(int bytes) {
  return transpose_side(bytes) * bytes + (bytes == 8 ? 8 : 4);
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
