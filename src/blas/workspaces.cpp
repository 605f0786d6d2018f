#include "blas/workspaces.hpp"

#include <new>

#include "core/checked.hpp"

namespace girih::inline v0::blas {
namespace {

constexpr std::align_val_t kAlignment{64};
/// Before each workspace, in its own cache line: how long it is.
constexpr std::int64_t kHeaderBytes = 64;
/// Blocks come in multiples of this, so that shapes of similar size share them.
constexpr std::int64_t kGranule = std::int64_t{64} << 10;

std::int64_t& size_of(std::byte* workspace) noexcept {
  return *reinterpret_cast<std::int64_t*>(workspace - kHeaderBytes);
}

void release(std::byte* workspace) noexcept {
  ::operator delete(workspace - kHeaderBytes, kAlignment);
}

}  // namespace

std::byte* Workspaces::take(std::int64_t bytes) noexcept {
  for (std::atomic<std::byte*>& slot : kept_) {
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    std::byte* const workspace = slot.exchange(nullptr, std::memory_order_acquire);
    if (workspace == nullptr) continue;
    if (size_of(workspace) >= bytes) return workspace;
    release(workspace);  // the larger one takes its place when it is given back
    break;
  }
  const std::int64_t size = round_up(bytes, kGranule);
  auto* const block = static_cast<std::byte*>(
      ::operator new(static_cast<std::size_t>(size + kHeaderBytes), kAlignment, std::nothrow));
  if (block == nullptr) return nullptr;
  std::byte* const workspace = block + kHeaderBytes;
  size_of(workspace) = size;
  return workspace;
}

void Workspaces::give_back(std::byte* workspace) noexcept {
  for (std::atomic<std::byte*>& slot : kept_) {
    std::byte* empty = nullptr;
    if (slot.load(std::memory_order_relaxed) == nullptr &&
        slot.compare_exchange_strong(empty, workspace, std::memory_order_release,
                                     std::memory_order_relaxed)) {
      return;
    }
  }
  release(workspace);
}

}  // namespace girih::inline v0::blas
