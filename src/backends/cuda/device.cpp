#include "backends/cuda/device.hpp"

#include <array>
#include <limits>
#include <new>

#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {
namespace {

constexpr int kDevice = 0;
/// Submissions that may be under way before `submit` waits for the oldest.
constexpr std::uint64_t kEvents = 256;

/// Makes the device current, and afterwards again what the caller had.
class Current {
 public:
  Current() noexcept {
    if (cudaGetDevice(&before_) != cudaSuccess || before_ == kDevice) return;
    (void)cudaSetDevice(kDevice);
  }
  ~Current() {
    if (before_ != kDevice) (void)cudaSetDevice(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  int before_ = kDevice;
};

/// Runs kernels on a stream at once.
class StreamSink final : public LaunchSink {
 public:
  explicit StreamSink(cudaStream_t stream) noexcept : stream_(stream) {}
  Status add(const Launch& launch) noexcept override {
    std::array<cudaLaunchAttribute, 2> attributes;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(launch.grid);
    config.blockDim = dim3(launch.block);
    config.dynamicSmemBytes = launch.shared;
    config.stream = stream_;
    config.attrs = attributes.data();
    if (launch.cluster > 1) {  // even a cluster of one costs 0.15 us
      cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim = {launch.cluster, 1, 1};
    }
    if (launch.waits_itself) {
      cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
      attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attribute.val.programmaticStreamSerializationAllowed = 1;
    }
    void* arguments[] = {const_cast<void*>(launch.params)};
    GIRIH_CUDA_TRY(cudaLaunchKernelExC(&config, launch.function, arguments));
    return {};
  }

 private:
  const cudaStream_t stream_;
};

/// Makes each kernel a node of a graph, after the one before it.
class GraphSink final : public LaunchSink {
 public:
  explicit GraphSink(cudaGraph_t graph) noexcept : graph_(graph) {}
  Status add(const Launch& launch) noexcept override {
    void* arguments[] = {const_cast<void*>(launch.params)};
    cudaKernelNodeParams params{};
    params.func = const_cast<void*>(launch.function);
    params.gridDim = dim3(launch.grid);
    params.blockDim = dim3(launch.block);
    params.sharedMemBytes = launch.shared;
    params.kernelParams = arguments;
    cudaGraphNode_t node = nullptr;
    GIRIH_CUDA_TRY(
        cudaGraphAddKernelNode(&node, graph_, &last_, last_ != nullptr ? 1 : 0, &params));
    if (launch.cluster > 1) {
      cudaKernelNodeAttrValue value{};
      value.clusterDim.x = launch.cluster;
      value.clusterDim.y = value.clusterDim.z = 1;
      GIRIH_CUDA_TRY(
          cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeClusterDimension, &value));
    }
    last_ = node;
    return {};
  }
  [[nodiscard]] bool is_empty() const noexcept { return last_ == nullptr; }

 private:
  const cudaGraph_t graph_;
  cudaGraphNode_t last_ = nullptr;
};

/// A sequence as one graph. Its nodes hold their parameters, tensor maps among them.
class GraphExecutable final : public Executable {
 public:
  explicit GraphExecutable(cudaStream_t stream) noexcept : stream_(stream) {}
  ~GraphExecutable() override {
    const Current current;
    if (executable_ == nullptr) return;
    (void)cudaStreamSynchronize(stream_);
    (void)cudaGraphExecDestroy(executable_);
  }
  Status build(std::span<const Call> calls, Lowering& lowering) noexcept {
    cudaGraph_t graph = nullptr;
    GIRIH_CUDA_TRY(cudaGraphCreate(&graph, 0));
    const Status status = fill(graph, calls, lowering);
    (void)cudaGraphDestroy(graph);
    return status;
  }
  Status replay() noexcept override {
    const Current current;
    if (executable_ == nullptr) return {};
    GIRIH_CUDA_TRY(cudaGraphLaunch(executable_, stream_));
    return {};
  }

 private:
  Status fill(cudaGraph_t graph, std::span<const Call> calls, Lowering& lowering) noexcept {
    GraphSink sink(graph);
    for (const Call& call : calls) GIRIH_TRY(lower(call, lowering, sink));
    if (sink.is_empty()) return {};
    GIRIH_CUDA_TRY(cudaGraphInstantiate(&executable_, graph, 0));
    GIRIH_CUDA_TRY(cudaGraphUpload(executable_, stream_));
    return {};
  }

  const cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(DeviceInfo info) noexcept : info_(std::move(info)) {
    lowering_.multiprocessors = info_.multiprocessors;
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override {
    const Current current;
    if (stream_ != nullptr) (void)cudaStreamSynchronize(stream_);
    for (const cudaEvent_t event : events_) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
    if (pool_ != nullptr) (void)cudaMemPoolDestroy(pool_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status start() noexcept {
    const Current current;
    GIRIH_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, kDevice};
    GIRIH_CUDA_TRY(cudaMemPoolCreate(&pool_, &properties));
    // By default a pool gives everything back at each synchronisation.
    std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
    GIRIH_CUDA_TRY(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold));
    for (cudaEvent_t& event : events_) {
      GIRIH_CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    GIRIH_CUDA_TRY(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                                    cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess || entry == nullptr) {
      return error(Code::BackendUnavailable, "backend cuda: the driver has no tensor maps");
    }
    lowering_.encode_map = reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(entry);
    return {};
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
    const Current current;
    void* data = nullptr;
    GIRIH_CUDA_TRY(cudaMallocFromPoolAsync(&data, static_cast<std::size_t>(bytes), pool_, stream_));
    return static_cast<std::byte*>(data);
  }
  void release(std::byte* data, std::int64_t) noexcept override {
    const Current current;
    if (cudaFreeAsync(data, stream_) != cudaSuccess) (void)cudaGetLastError();
  }
  Status zero(std::byte* data, std::int64_t bytes) noexcept override {
    if (bytes == 0) return {};
    const Current current;
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
    const Current current;
    StreamSink sink(stream_);
    return lower(call, lowering_, sink);
  }

  Result<std::unique_ptr<Executable>> instantiate(std::span<const Call> calls) noexcept override {
    const Current current;
    std::unique_ptr<GraphExecutable> graph(new (std::nothrow) GraphExecutable(stream_));
    if (graph == nullptr) return error(Code::OutOfMemory, "no memory for a graph");
    GIRIH_TRY(graph->build(calls, lowering_));
    return std::unique_ptr<Executable>(std::move(graph));
  }

  Status submit(std::uint64_t value) noexcept override {
    const Current current;
    const cudaEvent_t event = events_[value % kEvents];
    // An event that is recorded again forgets the submission it stood for.
    if (value > kEvents) GIRIH_CUDA_TRY(cudaEventSynchronize(event));
    GIRIH_CUDA_TRY(cudaEventRecord(event, stream_));
    last_ = value;
    return {};
  }
  Result<bool> completed(std::uint64_t value) noexcept override {
    if (value + kEvents <= last_) return true;
    const Current current;
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
    const Current current;
    GIRIH_CUDA_TRY(cudaEventSynchronize(events_[value % kEvents]));
    return {};
  }

 private:
  /// A copy from pinned memory would return before it is done.
  Status transfer(void* destination, const void* source, std::int64_t bytes,
                  cudaMemcpyKind kind) noexcept {
    const Current current;
    if (bytes > 0) {
      GIRIH_CUDA_TRY(
          cudaMemcpyAsync(destination, source, static_cast<std::size_t>(bytes), kind, stream_));
    }
    GIRIH_CUDA_TRY(cudaStreamSynchronize(stream_));
    return {};
  }

  const DeviceInfo info_;
  Lowering lowering_;
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  std::array<cudaEvent_t, kEvents> events_{};
  std::uint64_t last_ = 0;
};

}  // namespace

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
