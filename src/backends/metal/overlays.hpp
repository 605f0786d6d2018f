#pragma once

#include <list>
#include <string_view>

#include "backends/device.hpp"
#include "backends/metal/pipelines.hpp"

namespace girih::inline v0::metal {

/// Kernels that the caller added, compiled for as long as the device is open.
class Overlays {
 public:
  explicit Overlays(const Pipelines& pipelines) noexcept : pipelines_(pipelines) {}

  /// Errors as `girih::add_kernels` has them.
  Result<std::vector<std::string>> add(const KernelImage& image,
                                       std::span<const KernelInfo> own) noexcept;
  [[nodiscard]] const ForeignKernel* find(std::string_view name) const noexcept;

 private:
  struct Added {
    ForeignKernel kernel;
    Ref pipeline;
  };
  Result<std::list<Added>> kernels_of(id library) const;

  const Pipelines& pipelines_;
  std::list<Added> added_;  ///< calls point into it
};

}  // namespace girih::inline v0::metal
