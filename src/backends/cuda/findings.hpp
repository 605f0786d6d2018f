#pragma once

#include "backends/cuda/kernels/finding.hpp"
#include "backends/cuda/status.hpp"

namespace girih::inline v0::cuda {

/// The place where kernels tell of bad values, and what the host makes of it.
class Findings {
 public:
  Findings() = default;
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;
  ~Findings();

  Status open() noexcept;
  [[nodiscard]] Finding* place() const noexcept { return place_; }
  /// The error of the first bad value since the last call, if there was one: for when the device
  /// has finished what may have found it.
  Status take() noexcept;

 private:
  Finding* place_ = nullptr;  ///< pinned
};

/// What a finding means to the caller.
Status status_of(const Finding& finding) noexcept;

}  // namespace girih::inline v0::cuda
