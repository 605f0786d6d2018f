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

/// What a thread of a move of rows takes at once: the elements of one access of up to 16 bytes to
/// the destination, `in_flight` times.
struct RowUnit {
  int source_bytes = 0;  ///< of an element; 0: a fill
  int destination_bytes = 0;
  int elements = 0;
  int in_flight = 0;

  [[nodiscard]] constexpr int written() const { return elements * destination_bytes; }
  [[nodiscard]] constexpr int read() const { return elements * source_bytes; }
  /// Bytes of one access to the source.
  [[nodiscard]] constexpr int word() const { return read() < 16 ? read() : 16; }
};
constexpr RowUnit row_unit(int source_bytes, int destination_bytes) {
  // 8 elements of f32 are two accesses, 16 would be four.
  const int elements = destination_bytes == 1 && source_bytes > 1 ? 8 : 16 / destination_bytes;
  return {source_bytes, destination_bytes, elements, 2};
}

/// Rows whose elements are neighbours on both sides, at any alignment, in pieces that `lanes`
/// neighbouring threads take: lanes * in_flight units. Fewer than 2^31 threads in all.
struct RowParams {
  const void* source = nullptr;
  void* destination = nullptr;
  OuterDimensions outer;
  std::uint32_t elements = 0;  ///< of a row, fewer than 2^31
  std::uint32_t pieces = 0;    ///< of all rows
  Divisor row_pieces;          ///< of one
  std::uint32_t lanes = 32;    ///< a power of two
  std::uint32_t lanes_log2 = 5;
  std::uint32_t line = 128;   ///< pieces begin at multiples of so many bytes of the destination
  std::uint64_t pattern = 0;  ///< of a fill, one element's repeated to fill the word
};

/// How one row divides: elements before the units, units, elements behind them. A unit is written
/// at a multiple of its size, and read as the words around it, none of which reaches out of the
/// row.
struct RowPlace {
  int head = 0, units = 0, tail = 0;
  int shift = 0;  ///< bytes from the beginning of a word to that of a unit of the source
  int skip = 0;   ///< units before the first that the first piece would have
};
constexpr RowPlace row_place(const RowUnit& unit, std::uintptr_t source, std::uintptr_t destination,
                             int elements, std::uint32_t line) {
  RowPlace place;
  const auto written = static_cast<std::uint32_t>(unit.written());
  place.head =
      static_cast<int>((written - destination % written) % written) / unit.destination_bytes;
  int units = (elements - place.head) / unit.elements;
  if (unit.source_bytes != 0) {
    const auto first = static_cast<std::uint32_t>(source) +
                       static_cast<std::uint32_t>(place.head * unit.source_bytes);
    place.shift = static_cast<int>(first % static_cast<std::uint32_t>(unit.word()));
    if (place.shift > place.head * unit.source_bytes) place.head += unit.elements;
    if (place.shift > 0) {
      const int behind = (elements - place.head) - (unit.word() - place.shift) / unit.source_bytes;
      units = behind / unit.elements;
      if (behind < 0) units = 0;
    }
  }
  if (place.head > elements) place.head = elements;
  place.units = units > 0 ? units : 0;
  place.tail = elements - place.head - place.units * unit.elements;
  const auto first = static_cast<std::uint32_t>(destination) +
                     static_cast<std::uint32_t>(place.head * unit.destination_bytes);
  place.skip = static_cast<int>(first % line / written);
  return place;
}
constexpr std::uint32_t row_threads(const RowParams& p) {
  return p.pieces * p.lanes;
}

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

struct TileSide {
  int x, y;  ///< elements
};
struct TilePlace {
  std::int64_t x, y;  ///< of its first element
  std::uint32_t row;  ///< of the outer dimensions
};
// Neighbouring tiles lie along y, where they are written: 0.93 of memcpy, and 0.87 along x.
constexpr TilePlace tile_place(const TransposeParams& p, std::uint32_t tile, TileSide side) {
  const std::uint32_t beside = quotient(tile, p.tiles_y), row = quotient(beside, p.tiles_x);
  return {std::int64_t{beside - row * p.tiles_x.value} * side.x,
          std::int64_t{tile - beside * p.tiles_y.value} * side.y, row};
}

// A transpose of rows that begin at multiples of 16 bytes on both sides: each thread turns a square
// of 16 bytes by as many rows in its registers. A block's are 16 squares along x and as many along
// y, a warp's 8 by 4: it reads whole 128-byte lines and writes halves of them.
struct SquarePlace {
  int x, y;  ///< in squares
};
constexpr SquarePlace square_place(int thread) {
  const int lane = thread % 32, warp = thread / 32;
  return {warp % 2 * 8 + lane % 8, warp / 2 * 4 + lane / 8};
}
constexpr int square_side(int bytes) {
  return 16 / bytes;
}

// Any other goes through a tile in shared memory: each row as the 16 words of 16 bytes around 15 of
// them, at any alignment. A column is written in pieces of 16 bytes from the last multiple of those
// before the tile on, so that it takes rows of up to a piece before. Words lie in an order that has
// eight pieces of a column, whose rows are `square_side` apart, in different banks.
constexpr TileSide tile_side(int bytes, bool is_aligned) {
  if (is_aligned) return {16 * square_side(bytes), 16 * square_side(bytes)};
  return {240 / bytes, bytes == 1 ? 128 : 256 / bytes};
}
constexpr int tile_rows(int bytes) {
  return tile_side(bytes, false).y + square_side(bytes) - 1;
}
constexpr int kTilePitch = 256;
constexpr int transpose_shared_bytes(int bytes, bool is_aligned) {
  return is_aligned ? 0 : tile_rows(bytes) * kTilePitch;
}
// Where byte `at` of a row lies in it; rows of a group are square_side.
constexpr int tile_byte(int group, int at) {
  return at ^ group % 8 * 16;
}

}  // namespace girih::inline v0::cuda
