#include "backends/cuda/driver.hpp"

namespace girih::inline v0::cuda {
namespace {

template <class Function>
Status find(const char* name, unsigned version, Function& function) noexcept {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  GIRIH_CUDA_TRY(
      cudaGetDriverEntryPointByVersion(name, &entry, version, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || entry == nullptr) {
    return error(Code::BackendUnavailable, "the driver has no {}", name);
  }
  function = reinterpret_cast<Function>(entry);
  return {};
}

}  // namespace

Result<DriverFunctions> find_driver_functions() noexcept {
  DriverFunctions f;
  GIRIH_TRY(find("cuTensorMapEncodeTiled", 12000, f.encode_map));
  GIRIH_TRY(find("cuFuncLoad", 12040, f.load_function));
  GIRIH_TRY(find("cuDevicePrimaryCtxRetain", 7000, f.retain_primary));
  GIRIH_TRY(find("cuDevicePrimaryCtxRelease", 11000, f.release_primary));
  GIRIH_TRY(find("cuCtxGetCurrent", 4000, f.current_context));
  GIRIH_TRY(find("cuCtxPushCurrent", 4000, f.push_context));
  GIRIH_TRY(find("cuCtxPopCurrent", 4000, f.pop_context));
  GIRIH_TRY(find("cuCtxGetDevice", 2000, f.context_device));
  GIRIH_TRY(find("cuStreamGetCtx", 9020, f.stream_context));
  GIRIH_TRY(find("cuKernelGetFunction", 12000, f.kernel_function));
  return f;
}

}  // namespace girih::inline v0::cuda
