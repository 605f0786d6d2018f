#pragma once

#include <girih/foreign.hpp>

#include "backends/cuda/driver.hpp"

namespace girih::inline v0::cuda {

/// The context and the stream that a runtime works in: its own, or the caller's.
class Home {
 public:
  Home() = default;
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  /// Destroys the stream that it made and lets go of the primary context.
  ~Home();

  /// InvalidOption if the caller's handles do not belong together.
  Status open(const CudaHandles& handles) noexcept;

  [[nodiscard]] const DriverFunctions& driver() const noexcept { return driver_; }
  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] CUcontext context() const noexcept { return context_; }
  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }
  /// True while somebody records what is launched on the stream instead of running it.
  [[nodiscard]] bool is_captured() const noexcept;

 private:
  Status open_context(const CudaHandles& handles) noexcept;
  Status open_stream(const CudaHandles& handles) noexcept;

  DriverFunctions driver_;
  int device_ = 0;
  CUcontext context_ = nullptr;
  cudaStream_t stream_ = nullptr;
  bool owns_context_ = false;
  bool owns_stream_ = false;
};

/// The context of a home and tolerance of captures, for calls that are not about its stream alone.
struct Inside {
  explicit Inside(const Home& home) noexcept : current(home.driver(), home.context()) {}
  Current current;
  CaptureTolerant tolerant;
};

}  // namespace girih::inline v0::cuda
