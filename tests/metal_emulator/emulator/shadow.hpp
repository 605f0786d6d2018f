#pragma once

#include <cstddef>
#include <cstdint>

namespace girih::inline v0::emulator {

/// Who touched memory, and when in the terms that a GPU orders by. 16 bytes.
struct Access {
  std::uint32_t dispatch = 0;  ///< 0: nobody
  std::uint32_t threadgroup = 0;
  std::uint16_t lane = 0;
  /// Barriers for this kind of memory that the lane had passed. 16 bits: two accesses would have to
  /// be exactly 65536 barriers apart to look unordered.
  std::uint16_t group_barriers = 0;
  std::uint16_t simd_barriers = 0;
  bool is_atomic = false;
};

/// The history of one granule: the last write and three readers, so that a write which follows
/// reads of two SIMD groups meets both. One cache line.
struct Cell {
  Access write;
  Access reads[3];  ///< the last; the last by another lane of its SIMD group; by another SIMD group
};
static_assert(sizeof(Cell) == 64);

/// Shadow of a range of memory. Granules are 4 bytes until something smaller is accessed.
class Shadow {
 public:
  Shadow() noexcept = default;
  /// `bytes` of memory, all untouched. Pages of the shadow are made as they are used.
  explicit Shadow(std::size_t bytes);
  Shadow(Shadow&& other) noexcept;
  Shadow& operator=(Shadow&& other) noexcept;
  ~Shadow();

  /// The cells of [offset, offset + bytes): the first, and how many.
  struct Cells {
    Cell* first;
    std::size_t count;
  };
  Cells at(std::size_t offset, std::size_t bytes) {
    while (((offset | bytes) & ((std::size_t{1} << shift_) - 1)) != 0) refine();
    return {cells_ + (offset >> shift_), bytes >> shift_};
  }

 private:
  void refine();

  std::size_t bytes_ = 0;
  unsigned shift_ = 2;  ///< a granule has 2^shift bytes
  Cell* cells_ = nullptr;
};

}  // namespace girih::inline v0::emulator
