#include "backends/cuda/home.hpp"

namespace girih::inline v0::cuda {

Home::~Home() {
  if (owns_stream_) {
    const Inside inside(*this);
    (void)cudaStreamDestroy(stream_);
    (void)cudaGetLastError();
  }
  if (owns_context_) (void)driver_.release_primary(device_);
}

Status Home::open(const CudaHandles& handles) noexcept {
  device_ = handles.device;
  // Makes the runtime's own structures and the primary context, and makes nothing current.
  GIRIH_CUDA_TRY(cudaInitDevice(device_, 0, 0));
  const Result<DriverFunctions> driver = find_driver_functions();
  if (!driver) return driver.error();
  driver_ = *driver;
  GIRIH_TRY(open_context(handles));
  return open_stream(handles);
}

Status Home::open_context(const CudaHandles& handles) noexcept {
  if (!handles.context) {
    if (const CUresult status = driver_.retain_primary(&context_, device_);
        status != CUDA_SUCCESS) {
      return error(Code::BackendUnavailable, "device {} has no context: code {}", device_,
                   static_cast<int>(status));
    }
    owns_context_ = true;
    return {};
  }
  context_ = static_cast<CUcontext>(*handles.context);
  if (context_ == nullptr) return error(Code::InvalidOption, "options.cuda: the context is null");
  const Current current(driver_, context_);
  CUdevice device = -1;
  if (const CUresult status = driver_.context_device(&device); status != CUDA_SUCCESS) {
    return error(Code::InvalidOption, "options.cuda: the context cannot be used: code {}",
                 static_cast<int>(status));
  }
  if (device != device_) {
    return error(Code::InvalidOption, "options.cuda: the context is of device {}, not of {}",
                 device, device_);
  }
  return {};
}

Status Home::open_stream(const CudaHandles& handles) noexcept {
  const Current current(driver_, context_);
  if (!handles.stream) {
    GIRIH_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    owns_stream_ = true;
    return {};
  }
  stream_ = static_cast<cudaStream_t>(*handles.stream);
  if (stream_ == cudaStreamPerThread) {
    return error(Code::InvalidOption,
                 "options.cuda: the per-thread stream is another one on each thread");
  }
  CUcontext of_stream = nullptr;
  if (const CUresult status = driver_.stream_context(stream_, &of_stream); status != CUDA_SUCCESS) {
    return error(Code::InvalidOption, "options.cuda: the stream cannot be used: code {}",
                 static_cast<int>(status));
  }
  if (of_stream != context_) {
    return error(Code::InvalidOption, "options.cuda: the stream is of another context than {}",
                 handles.context ? "the one given" : "the device's primary one");
  }
  return {};
}

bool Home::is_captured() const noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream_, &status) != cudaSuccess) {
    (void)cudaGetLastError();
    return true;  // the legacy stream, while another one that it would wait for is captured
  }
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace girih::inline v0::cuda
