#include "backends/cuda/functions.hpp"

namespace girih::inline v0::cuda {
namespace {

constexpr unsigned kSharedByDefault = 48U << 10;

}  // namespace

Status Functions::require(const void* function, unsigned shared) noexcept try {
  if (loaded_.contains(function)) return {};
  GIRIH_TRY(load(function, shared));
  loaded_.insert(function);
  return {};
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to remember a kernel");
}

Status Functions::load(const void* function, unsigned shared) noexcept {
  const CaptureTolerant tolerant;
  cudaFunction_t loaded = nullptr;
  GIRIH_CUDA_TRY(cudaGetFuncBySymbol(&loaded, function));
  if (const CUresult status = load_(loaded); status != CUDA_SUCCESS) {
    return error(Code::DeviceFailed, "the driver cannot load a kernel: code {}",
                 static_cast<int>(status));
  }
  if (shared > kSharedByDefault) {
    GIRIH_CUDA_TRY(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shared)));
  }
  return {};
}

}  // namespace girih::inline v0::cuda
