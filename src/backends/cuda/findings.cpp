#include "backends/cuda/findings.hpp"

#include <atomic>
#include <new>

#include "ops/grouped.hpp"
#include "ops/permute.hpp"

namespace girih::inline v0::cuda {

Findings::~Findings() {
  if (place_ != nullptr) (void)cudaFreeHost(place_);
}

Status Findings::open() noexcept {
  void* memory = nullptr;
  GIRIH_CUDA_TRY(cudaHostAlloc(&memory, sizeof(Finding), cudaHostAllocMapped));
  place_ = new (memory) Finding;
  return {};
}

Status Findings::take() noexcept {
  const std::atomic_ref kind(place_->kind);
  if (kind.load(std::memory_order_acquire) == FindingKind::None) return {};
  Status status = status_of(*place_);
  kind.store(FindingKind::None, std::memory_order_release);
  return status;
}

Status status_of(const Finding& finding) noexcept {
  switch (finding.kind) {
    case FindingKind::None:
      return {};
    case FindingKind::Offset:
      return bad_offset(finding.index, finding.value, finding.before, finding.limit);
    case FindingKind::Source:
      return bad_source(finding.index, finding.value, finding.limit);
    case FindingKind::Row:
      return bad_row(finding.index / finding.per, finding.index % finding.per, finding.value,
                     finding.limit);
  }
  return {};
}

}  // namespace girih::inline v0::cuda
