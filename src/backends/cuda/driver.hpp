#pragma once

#include <cudaTypedefs.h>

#include "backends/cuda/status.hpp"

namespace girih::inline v0::cuda {

/// Functions of the driver that the static runtime does not offer. The driver is never linked: they
/// are asked for when a device is opened.
struct DriverFunctions {
  PFN_cuTensorMapEncodeTiled_v12000 encode_map = nullptr;
  PFN_cuFuncLoad_v12040 load_function = nullptr;
  PFN_cuDevicePrimaryCtxRetain_v7000 retain_primary = nullptr;
  PFN_cuDevicePrimaryCtxRelease_v11000 release_primary = nullptr;
  PFN_cuCtxGetCurrent_v4000 current_context = nullptr;
  PFN_cuCtxPushCurrent_v4000 push_context = nullptr;
  PFN_cuCtxPopCurrent_v4000 pop_context = nullptr;
  PFN_cuCtxGetDevice_v2000 context_device = nullptr;  ///< of the current one
  PFN_cuStreamGetCtx_v9020 stream_context = nullptr;
  PFN_cuKernelGetFunction_v12000 kernel_function = nullptr;
};
/// BackendUnavailable with the name of the first one that the driver lacks.
Result<DriverFunctions> find_driver_functions() noexcept;

/// Makes a context current, and afterwards again what the caller had.
class Current {
 public:
  Current(const DriverFunctions& driver, CUcontext context) noexcept : driver_(driver) {
    CUcontext before = nullptr;
    if (driver.current_context(&before) == CUDA_SUCCESS && before == context) return;
    pushed_ = driver.push_context(context) == CUDA_SUCCESS;
  }
  ~Current() {
    CUcontext popped = nullptr;
    if (pushed_) (void)driver_.pop_context(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const DriverFunctions& driver_;
  bool pushed_ = false;
};

/// While it lives, this thread may allocate, load code and query events although a stream is being
/// captured, here or on another thread: calls that CUDA calls unsafe then, and that would end the
/// capture.
class CaptureTolerant {
 public:
  CaptureTolerant() noexcept { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~CaptureTolerant() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  CaptureTolerant(const CaptureTolerant&) = delete;
  CaptureTolerant& operator=(const CaptureTolerant&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace girih::inline v0::cuda
