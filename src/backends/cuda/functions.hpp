#pragma once

#include <unordered_map>

#include "backends/cuda/driver.hpp"
#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

/// Kernels that are ready to be launched. CUDA loads a kernel at its first launch unless asked to
/// earlier, and gives it more than 48 KiB of shared memory only when told: both are done here, once
/// a kernel, the latter again where a launch asks for more.
class Functions {
 public:
  /// `may_overlap`: kernels wait for their predecessors by themselves. Machine code of 9.0 does,
  /// the PTX that other devices compile does not.
  Functions(PFN_cuFuncLoad_v12040 load_function, bool may_overlap) noexcept
      : load_(load_function), may_overlap_(may_overlap) {}

  /// BackendUnavailable if the launch relies on what only code made for 9.0 does.
  Status require(const Launch& launch) noexcept;
  /// True if a kernel may be set up while the one before it drains.
  [[nodiscard]] bool may_overlap() const noexcept { return may_overlap_; }
  [[nodiscard]] std::uint64_t loaded() const noexcept { return loaded_.size(); }

 private:
  Status load(const Launch& launch) noexcept;

  const PFN_cuFuncLoad_v12040 load_;
  const bool may_overlap_;
  std::unordered_map<const void*, unsigned> loaded_;  ///< and the shared memory that they may have
};

}  // namespace girih::inline v0::cuda
