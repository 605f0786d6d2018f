#pragma once

#include <cuda_runtime_api.h>

#include <girih/status.hpp>

#include "core/error.hpp"

namespace girih::inline v0::cuda {

/// What a failed call of the CUDA runtime means: OutOfMemory, or DeviceFailed with CUDA's name for
/// it. Also takes it off the runtime's list, so that it is reported once.
inline Error failure(cudaError_t status, const char* what) noexcept {
  (void)cudaGetLastError();
  const Code code = status == cudaErrorMemoryAllocation ? Code::OutOfMemory : Code::DeviceFailed;
  return error(code, "{}: {}, {}", what, cudaGetErrorName(status), cudaGetErrorString(status));
}

#define GIRIH_CUDA_TRY(call)                                                                 \
  do {                                                                                       \
    if (const cudaError_t girih_status = (call); girih_status != cudaSuccess) [[unlikely]] { \
      return ::girih::cuda::failure(girih_status, #call);                                    \
    }                                                                                        \
  } while (false)

}  // namespace girih::inline v0::cuda
