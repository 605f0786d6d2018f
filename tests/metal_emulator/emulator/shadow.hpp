#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace girih::inline v0::emulator {

/// Who touched memory, and when in the terms that a GPU orders by. 8 bytes: half of the checker's
/// time goes into fetching them.
struct Access {
  /// Numbers rise from 32 with each threadgroup that runs, in all dispatches; the low 5 bits are
  /// its SIMD groups. 0: nobody.
  std::uint32_t simd_group = 0;
  /// Barriers for this kind of memory that the lane had passed. 16 and 10 bits: two accesses would
  /// have to be exactly 65536, or 1024 of the SIMD group, apart to look unordered.
  std::uint16_t group_barriers = 0;
  std::uint16_t simd_barriers : 10 = 0;
  std::uint16_t lane : 5 = 0;  ///< of the SIMD group
  std::uint16_t is_atomic : 1 = 0;

  [[nodiscard]] bool is_same(const Access& other) const noexcept {
    return std::bit_cast<std::uint64_t>(*this) == std::bit_cast<std::uint64_t>(other);
  }
  [[nodiscard]] bool is_of_threadgroup(const Access& other) const noexcept {
    return (simd_group ^ other.simd_group) < 32;
  }
};
static_assert(sizeof(Access) == 8);

/// The history of one granule: the last write and three readers, so that a write which follows
/// reads of two SIMD groups meets both.
struct Cell {
  Access write;
  Access reads[3];  ///< the last; the last by another lane of its SIMD group; by another SIMD group
};

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
