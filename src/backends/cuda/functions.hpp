#pragma once

#include <unordered_set>

#include "backends/cuda/driver.hpp"

namespace girih::inline v0::cuda {

/// Kernels that are ready to be launched. CUDA loads a kernel at its first launch unless asked to
/// earlier, and gives it more than 48 KiB of shared memory only when told: both are done here, once
/// a kernel.
class Functions {
 public:
  explicit Functions(PFN_cuFuncLoad_v12040 load_function) noexcept : load_(load_function) {}

  /// `shared`: dynamic shared memory of every launch of this kernel, bytes.
  Status require(const void* function, unsigned shared) noexcept;
  [[nodiscard]] std::uint64_t loaded() const noexcept { return loaded_.size(); }

 private:
  Status load(const void* function, unsigned shared) noexcept;

  const PFN_cuFuncLoad_v12040 load_;
  std::unordered_set<const void*> loaded_;
};

}  // namespace girih::inline v0::cuda
