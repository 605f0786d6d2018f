#pragma once

#include <list>
#include <string_view>

#include "backends/cuda/home.hpp"
#include "backends/device.hpp"

namespace girih::inline v0::cuda {

/// Kernels that the caller added, loaded for as long as the device is open.
class Overlays {
 public:
  explicit Overlays(const Home& home) noexcept : home_(home) {}
  Overlays(const Overlays&) = delete;
  Overlays& operator=(const Overlays&) = delete;

  /// Before the end, inside the context, when nothing that was added runs.
  void unload() noexcept;
  Result<std::vector<std::string>> add(const KernelImage& image,
                                       std::span<const KernelInfo> own) noexcept;
  [[nodiscard]] const ForeignKernel* find(std::string_view name) const noexcept;

 private:
  Result<cudaLibrary_t> load(const KernelImage& image) noexcept;
  Result<std::list<ForeignKernel>> kernels_of(cudaLibrary_t library);
  Status describe(cudaKernel_t function, ForeignKernel& kernel);

  const Home& home_;
  std::vector<cudaLibrary_t> libraries_;
  std::list<ForeignKernel> kernels_;  ///< calls point into it
};

}  // namespace girih::inline v0::cuda
