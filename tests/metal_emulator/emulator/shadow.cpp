#include "emulator/shadow.hpp"

#include <algorithm>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace girih::inline v0::emulator {
namespace {

std::size_t mapped_bytes(std::size_t bytes, std::size_t granule) noexcept {
  return (bytes / granule + 1) * sizeof(Cell);
}

/// Zero pages: an untouched cell is all zero.
Cell* map_cells(std::size_t bytes, std::size_t granule) {
  void* const memory = mmap(nullptr, mapped_bytes(bytes, granule), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<Cell*>(memory);
}

}  // namespace

Shadow::Shadow(std::size_t bytes) : bytes_(bytes), cells_(map_cells(bytes, granule_)) {}

Shadow::Shadow(Shadow&& other) noexcept
    : bytes_(other.bytes_),
      granule_(other.granule_),
      cells_(std::exchange(other.cells_, nullptr)) {}

Shadow& Shadow::operator=(Shadow&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(granule_, other.granule_);
  std::swap(cells_, other.cells_);
  return *this;
}

Shadow::~Shadow() {
  if (cells_ != nullptr) munmap(cells_, mapped_bytes(bytes_, granule_));
}

Shadow::Cells Shadow::at(std::size_t offset, std::size_t bytes) {
  while (offset % granule_ != 0 || (offset + bytes) % granule_ != 0) refine(granule_ / 2);
  return {cells_ + offset / granule_, bytes / granule_};
}

/// What was true of a granule is true of its parts.
void Shadow::refine(std::size_t granule) {
  Cell* const finer = map_cells(bytes_, granule);
  const std::size_t parts = granule_ / granule;
  for (std::size_t i = 0; i < bytes_ / granule_ + 1; ++i) {
    const Cell& cell = cells_[i];
    const bool touched = cell.write.dispatch != 0 || cell.reads[0].dispatch != 0;
    const std::size_t first = i * parts;
    if (touched) std::fill_n(finer + first, std::min(parts, bytes_ / granule + 1 - first), cell);
  }
  munmap(cells_, mapped_bytes(bytes_, granule_));
  cells_ = finer;
  granule_ = granule;
}

}  // namespace girih::inline v0::emulator
