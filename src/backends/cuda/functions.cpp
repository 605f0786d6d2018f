#include "backends/cuda/functions.hpp"

namespace girih::inline v0::cuda {
namespace {

constexpr unsigned kSharedByDefault = 48U << 10;

}  // namespace

Status Functions::require(const Launch& launch) noexcept try {
  const auto found = loaded_.find(launch.function);
  if (found == loaded_.end()) GIRIH_TRY(load(launch));
  unsigned& shared = found == loaded_.end()
                         ? loaded_.emplace(launch.function, kSharedByDefault).first->second
                         : found->second;
  if (launch.shared <= shared) return {};
  const CaptureTolerant tolerant;
  GIRIH_CUDA_TRY(cudaFuncSetAttribute(launch.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(launch.shared)));
  shared = launch.shared;
  return {};
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to remember a kernel");
}

Status Functions::load(const Launch& launch) noexcept {
  const CaptureTolerant tolerant;
  cudaFunction_t loaded = nullptr;
  GIRIH_CUDA_TRY(cudaGetFuncBySymbol(&loaded, launch.function));
  if (const CUresult status = load_(loaded); status != CUDA_SUCCESS) {
    return error(Code::DeviceFailed, "the driver cannot load a kernel: code {}",
                 static_cast<int>(status));
  }
  if (!may_overlap_ || (!launch.waits_itself && !has_cluster(launch))) return {};
  // Made from PTX of 8.0 it would neither wait nor read its neighbours: wrong sums, without a word.
  cudaFuncAttributes attributes{};
  GIRIH_CUDA_TRY(cudaFuncGetAttributes(&attributes, launch.function));
  if (attributes.ptxVersion >= 90) return {};
  return error(Code::BackendUnavailable,
               "a kernel that needs code of 9.0 was made from PTX of {}.{}",
               attributes.ptxVersion / 10, attributes.ptxVersion % 10);
}

}  // namespace girih::inline v0::cuda
