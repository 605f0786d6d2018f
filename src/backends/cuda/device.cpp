#include "backends/cuda/device.hpp"

#include <array>
#include <limits>
#include <new>
#include <optional>

#include "backends/cuda/graph.hpp"
#include "backends/cuda/kernels/walk_kernels.hpp"

namespace girih::inline v0::cuda {
namespace {

constexpr int kDevice = 0;
/// Submissions that may be under way before `submit` waits for the oldest.
constexpr std::uint64_t kEvents = 256;

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(DeviceInfo info) noexcept : info_(std::move(info)) {}
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override {
    if (context_ == nullptr) return;
    {
      const Inside inside(*this);
      if (stream_ != nullptr) (void)cudaStreamSynchronize(stream_);
      for (const cudaEvent_t event : events_) {
        if (event != nullptr) (void)cudaEventDestroy(event);
      }
      if (pool_ != nullptr) (void)cudaMemPoolDestroy(pool_);
      if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
      (void)cudaGetLastError();
    }
    (void)driver_.release_primary(kDevice);
  }

  Status start() noexcept try {
    GIRIH_CUDA_TRY(cudaInitDevice(kDevice, 0, 0));
    const Result<DriverFunctions> driver = find_driver_functions();
    if (!driver) return driver.error();
    driver_ = *driver;
    if (const CUresult status = driver_.retain_primary(&context_, kDevice);
        status != CUDA_SUCCESS) {
      return error(Code::BackendUnavailable, "the device has no context: code {}",
                   static_cast<int>(status));
    }
    functions_.emplace(driver_.load_function);
    maps_.emplace(driver_.encode_map);
    lowering_ = {info_.multiprocessors, &*maps_};
    const Inside inside(*this);
    GIRIH_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GIRIH_TRY(make_pool());
    for (cudaEvent_t& event : events_) {
      GIRIH_CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    return load_copies();
  } catch (...) {
    return error(Code::OutOfMemory, "no host memory for a device");
  }

  [[nodiscard]] Counters counters() const noexcept {
    return {.maps_encoded = maps_->encoded(),
            .functions_loaded = functions_->loaded(),
            .allocations = allocations_,
            .synchronisations = synchronisations_};
  }

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::span<const KernelInfo> kernels() const noexcept override {
    return kernel_table();
  }
  [[nodiscard]] int threads() const noexcept override { return 1; }

  Result<std::byte*> allocate(std::int64_t bytes) noexcept override {
    if (bytes > info_.memory_bytes) {
      return error(Code::OutOfMemory, "{} bytes asked, {} has {}", bytes, info_.name,
                   info_.memory_bytes);
    }
    const Inside inside(*this);
    ++allocations_;
    void* data = nullptr;
    GIRIH_CUDA_TRY(cudaMallocFromPoolAsync(&data, static_cast<std::size_t>(bytes), pool_, stream_));
    return static_cast<std::byte*>(data);
  }
  void release(std::byte* data, std::int64_t) noexcept override {
    const Inside inside(*this);
    if (cudaFreeAsync(data, stream_) != cudaSuccess) (void)cudaGetLastError();
  }
  Status zero(std::byte* data, std::int64_t bytes) noexcept override {
    if (bytes == 0) return {};
    const Current current(driver_, context_);
    GIRIH_CUDA_TRY(cudaMemsetAsync(data, 0, static_cast<std::size_t>(bytes), stream_));
    return {};
  }
  Status write(std::byte* destination, const void* source, std::int64_t bytes) noexcept override {
    return transfer(destination, source, bytes, cudaMemcpyHostToDevice);
  }
  Status read(void* destination, const std::byte* source, std::int64_t bytes) noexcept override {
    return transfer(destination, source, bytes, cudaMemcpyDeviceToHost);
  }

  Status launch(const Call& call) noexcept override {
    const Current current(driver_, context_);
    StreamSink sink(stream_, *functions_);
    return lower(call, lowering_, sink);
  }

  Result<std::unique_ptr<Executable>> instantiate(std::span<const Call> calls) noexcept override {
    const Inside inside(*this);
    std::unique_ptr<GraphExecutable> graph(new (std::nothrow)
                                               GraphExecutable(driver_, context_, stream_));
    if (graph == nullptr) return error(Code::OutOfMemory, "no memory for a graph");
    GIRIH_TRY(graph->build(calls, lowering_, *functions_));
    return std::unique_ptr<Executable>(std::move(graph));
  }

  Status submit(std::uint64_t value) noexcept override {
    const Inside inside(*this);
    const cudaEvent_t event = events_[value % kEvents];
    // An event that is recorded again forgets the submission it stood for.
    if (value > kEvents) GIRIH_CUDA_TRY(cudaEventSynchronize(event));
    GIRIH_CUDA_TRY(cudaEventRecord(event, stream_));
    last_ = value;
    return {};
  }
  Result<bool> completed(std::uint64_t value) noexcept override {
    if (value + kEvents <= last_) return true;
    const Inside inside(*this);
    const cudaError_t status = cudaEventQuery(events_[value % kEvents]);
    if (status == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return false;
    }
    if (status != cudaSuccess) return failure(status, "cudaEventQuery");
    return true;
  }
  Status wait(std::uint64_t value) noexcept override {
    if (value + kEvents <= last_) return {};
    const Inside inside(*this);
    ++synchronisations_;
    GIRIH_CUDA_TRY(cudaEventSynchronize(events_[value % kEvents]));
    return {};
  }

 private:
  /// The context, and tolerance of captures, for calls that are not about one stream alone.
  struct Inside {
    explicit Inside(const CudaDevice& device) noexcept : current(device.driver_, device.context_) {}
    Current current;
    CaptureTolerant tolerant;
  };

  Status make_pool() noexcept {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, kDevice};
    GIRIH_CUDA_TRY(cudaMemPoolCreate(&pool_, &properties));
    // By default a pool gives everything back at each synchronisation.
    std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
    GIRIH_CUDA_TRY(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold));
    return {};
  }
  /// What uploads, downloads and packing need of any call; one small module.
  Status load_copies() noexcept {
    for (const void* function : {copy_kernel(), cast_kernel(), fill_kernel(), nibble_kernel()}) {
      GIRIH_TRY(functions_->require(function, 0));
    }
    return {};
  }

  /// A copy from pinned memory would return before it is done.
  Status transfer(void* destination, const void* source, std::int64_t bytes,
                  cudaMemcpyKind kind) noexcept {
    const Inside inside(*this);
    ++synchronisations_;
    if (bytes > 0) {
      GIRIH_CUDA_TRY(
          cudaMemcpyAsync(destination, source, static_cast<std::size_t>(bytes), kind, stream_));
    }
    GIRIH_CUDA_TRY(cudaStreamSynchronize(stream_));
    return {};
  }

  const DeviceInfo info_;
  DriverFunctions driver_;
  CUcontext context_ = nullptr;
  std::optional<Functions> functions_;
  std::optional<TensorMaps> maps_;
  Lowering lowering_;
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  std::array<cudaEvent_t, kEvents> events_{};
  std::uint64_t last_ = 0;
  std::uint64_t allocations_ = 0, synchronisations_ = 0;
};

}  // namespace

Counters counters(const Device& device) noexcept {
  return static_cast<const CudaDevice&>(device).counters();
}

Result<std::unique_ptr<Device>> open(const std::optional<CudaHandles>& handles) noexcept try {
  if (handles) return error(Code::BackendLacks, "backend cuda: takes no handles yet");
  Probe found = probe();
  if (found.presence != Presence::Usable) {
    return error(Code::BackendUnavailable, "backend cuda: {}", found.reason);
  }
  auto device = std::make_unique<CudaDevice>(std::move(found.info));
  if (const Status started = device->start(); !started) {
    return error(Code::BackendUnavailable, "backend cuda: {}", started.error().message);
  }
  return std::unique_ptr<Device>(std::move(device));
} catch (...) {
  return error(Code::OutOfMemory, "no memory to open the cuda device");
}

}  // namespace girih::inline v0::cuda
