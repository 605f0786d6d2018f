#include "backends/cuda/retired.hpp"

#include <utility>

namespace girih::inline v0::cuda {
namespace {

/// Appends; what there is no host memory to remember is never given back.
template <class T>
void remember(std::vector<T>& list, T item) noexcept {
  try {
    list.push_back(std::move(item));
  } catch (...) {
  }
}

void free_block(std::byte* data, cudaStream_t stream) noexcept {
  if (cudaFreeAsync(data, stream) != cudaSuccess) (void)cudaGetLastError();
}

}  // namespace

void Retired::add_block(std::byte* data) noexcept {
  const std::lock_guard lock(mutex_);
  remember(blocks_, data);
  has_any_ = true;
}

void Retired::add_import(Device::Done done, void* context) noexcept {
  const std::lock_guard lock(mutex_);
  remember(imports_, Import{done, context});
  has_any_ = true;
}

void Retired::add_held(std::shared_ptr<void> held) noexcept {
  const std::lock_guard lock(mutex_);
  remember(held_, std::move(held));
  has_any_ = true;
}

bool Retired::is_over(Import& import, const Home& home) noexcept {
  if (import.after == nullptr) {
    if (cudaStreamQuery(home.stream()) == cudaErrorNotReady) {
      (void)cudaGetLastError();
      if (cudaEventCreateWithFlags(&import.after, cudaEventDisableTiming) == cudaSuccess &&
          cudaEventRecord(import.after, home.stream()) == cudaSuccess) {
        return false;
      }
    }
  } else if (cudaEventQuery(import.after) == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  // Idle, or failed, so that nothing will run any more.
  if (import.after != nullptr) (void)cudaEventDestroy(import.after);
  (void)cudaGetLastError();
  return true;
}

void Retired::collect(const Home& home) noexcept {
  if (!has_any_ || home.is_captured()) return;
  const Inside inside(home);
  std::vector<std::shared_ptr<void>> held;
  std::vector<Import> over;
  {
    const std::lock_guard lock(mutex_);
    held.swap(held_);
    for (std::byte* const block : blocks_) free_block(block, home.stream());
    blocks_.clear();
    std::size_t kept = 0;
    for (Import& import : imports_) {
      if (is_over(import, home)) {
        remember(over, import);
      } else {
        imports_[kept++] = import;
      }
    }
    imports_.resize(kept);
    has_any_ = !imports_.empty();
  }
  // Outside the lock: both may retire more.
  for (const Import& import : over) import.done(import.context);
}

void Retired::finish(const Home& home) noexcept {
  collect(home);
  std::vector<Import> imports;
  {
    const std::lock_guard lock(mutex_);
    imports.swap(imports_);
    for (std::byte* const block : blocks_) free_block(block, home.stream());
    blocks_.clear();
  }
  for (const Import& import : imports) {
    if (import.after != nullptr) (void)cudaEventDestroy(import.after);
    import.done(import.context);
  }
}

}  // namespace girih::inline v0::cuda
