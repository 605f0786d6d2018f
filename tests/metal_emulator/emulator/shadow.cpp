#include "emulator/shadow.hpp"

#include <new>
#include <sys/mman.h>
#include <utility>

namespace girih::inline v0::emulator {
namespace {

std::size_t cell_count(std::size_t bytes, unsigned shift) noexcept {
  return (bytes >> shift) + 1;
}

/// Zero pages: an untouched cell is all zero.
Cell* map_cells(std::size_t bytes, unsigned shift) {
  void* const memory =
      mmap(nullptr, cell_count(bytes, shift) * sizeof(Cell), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<Cell*>(memory);
}

}  // namespace

Shadow::Shadow(std::size_t bytes) : bytes_(bytes), cells_(map_cells(bytes, shift_)) {}

Shadow::Shadow(Shadow&& other) noexcept
    : bytes_(other.bytes_), shift_(other.shift_), cells_(std::exchange(other.cells_, nullptr)) {}

Shadow& Shadow::operator=(Shadow&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(shift_, other.shift_);
  std::swap(cells_, other.cells_);
  return *this;
}

Shadow::~Shadow() {
  if (cells_ != nullptr) munmap(cells_, cell_count(bytes_, shift_) * sizeof(Cell));
}

/// Halves the granules: what was true of one is true of its parts.
void Shadow::refine() {
  Cell* const finer = map_cells(bytes_, shift_ - 1);
  const std::size_t last = cell_count(bytes_, shift_ - 1) - 1;
  for (std::size_t i = 0; i < cell_count(bytes_, shift_); ++i) {
    const Cell& cell = cells_[i];
    if (cell.write.simd_group == 0 && cell.reads[0].simd_group == 0) continue;
    finer[2 * i] = cell;
    if (2 * i + 1 <= last) finer[2 * i + 1] = cell;
  }
  munmap(cells_, cell_count(bytes_, shift_) * sizeof(Cell));
  cells_ = finer;
  --shift_;
}

}  // namespace girih::inline v0::emulator
