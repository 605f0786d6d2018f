#pragma once

#include <cuda_runtime_api.h>

#include <girih/status.hpp>

#include "core/error.hpp"

namespace girih::inline v0::cuda {

/// What a failed call of the CUDA runtime means: OutOfMemory, CaptureMisuse where a stream capture
/// cannot hold the call or somebody has ended it, and else DeviceFailed.
inline Code code_of(cudaError_t status) noexcept {
  if (status == cudaErrorMemoryAllocation) return Code::OutOfMemory;
  const bool of_capture =
      status >= cudaErrorStreamCaptureUnsupported && status <= cudaErrorStreamCaptureWrongThread;
  return of_capture ? Code::CaptureMisuse : Code::DeviceFailed;
}

/// `code_of` with CUDA's name for it. Also takes it off the runtime's list, so that it is reported
/// once.
inline Error failure(cudaError_t status, const char* what) noexcept {
  (void)cudaGetLastError();
  const Code code = code_of(status);
  return error(code, "{}: {}, {}", what, cudaGetErrorName(status), cudaGetErrorString(status));
}

#define GIRIH_CUDA_TRY(call)                                                                 \
  do {                                                                                       \
    if (const cudaError_t girih_status = (call); girih_status != cudaSuccess) [[unlikely]] { \
      return ::girih::cuda::failure(girih_status, #call);                                    \
    }                                                                                        \
  } while (false)

}  // namespace girih::inline v0::cuda
