#include "backends/cuda/device.hpp"

#include <array>
#include <limits>
#include <new>
#include <optional>

#include "backends/cuda/findings.hpp"
#include "backends/cuda/graph.hpp"
#include "backends/cuda/kernels/walk_kernels.hpp"
#include "backends/cuda/overlays.hpp"
#include "backends/cuda/retired.hpp"

namespace girih::inline v0::cuda {
namespace {

/// Submissions that may be under way before `submit` waits for the oldest.
constexpr std::uint64_t kEvents = 256;

Status check_handle(const ForeignEvent& event, const char* what) noexcept {
  if (event.handle != nullptr) return {};
  return error(Code::InvalidOption, "{}: the event is null", what);
}

/// A foreign event that CUDA refuses is the caller's mistake, not a failure of the device.
Status check_event(cudaError_t status, const char* what) noexcept {
  if (status != cudaErrorInvalidValue && status != cudaErrorInvalidResourceHandle) {
    return status == cudaSuccess ? Status{} : Status(failure(status, what));
  }
  (void)cudaGetLastError();
  return error(Code::InvalidOption, "{}: CUDA refuses the event, {}", what,
               cudaGetErrorName(status));
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(DeviceInfo info) noexcept : info_(std::move(info)) {}
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override;
  Status start(const CudaHandles& handles) noexcept;
  [[nodiscard]] Counters counters() const noexcept;

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::span<const KernelInfo> kernels() const noexcept override {
    return kernel_table();
  }
  [[nodiscard]] int threads() const noexcept override { return 1; }

  Result<std::byte*> allocate(std::int64_t bytes) noexcept override;
  void release(std::byte* data, std::int64_t) noexcept override { retired_.add_block(data); }
  Status trim() noexcept override;
  Status zero(std::byte* data, std::int64_t bytes) noexcept override;
  Status write(std::byte* destination, const void* source, std::int64_t bytes) noexcept override {
    return transfer(destination, source, bytes, cudaMemcpyHostToDevice);
  }
  Status read(void* destination, const std::byte* source, std::int64_t bytes) noexcept override {
    GIRIH_TRY(transfer(destination, source, bytes, cudaMemcpyDeviceToHost));
    return findings_->take();
  }

  Status launch(const Call& call) noexcept override {
    const Current current(home_.driver(), home_.context());
    StreamSink sink(home_.stream(), *functions_);
    return lower(call, lowering_, sink);
  }
  Status prepare(const Call& call) noexcept override;
  Result<std::unique_ptr<Executable>> instantiate(std::span<const Call> calls) noexcept override;

  Status submit(std::uint64_t value) noexcept override;
  Result<bool> completed(std::uint64_t value) noexcept override;
  Status wait(std::uint64_t value) noexcept override;

  Result<std::byte*> import(const NativeMemory& memory, std::int64_t bytes) noexcept override;
  void end_import(std::byte*, std::int64_t, Done done, void* context) noexcept override;
  Result<NativeMemory> native_memory(const std::byte* data) noexcept override {
    return NativeMemory{.handle = const_cast<std::byte*>(data)};
  }
  Result<void*> native_object(NativeObject object) noexcept override;
  Status record(const ForeignEvent& event) noexcept override;
  Status wait_for(const ForeignEvent& event) noexcept override;
  [[nodiscard]] std::uint64_t caller_capture() noexcept override;
  Status hold_for_capture(std::shared_ptr<void> what) noexcept override;
  Result<std::vector<std::string>> add_kernels(const KernelImage& image) noexcept override {
    return overlays_.add(image, kernel_table());
  }
  [[nodiscard]] const ForeignKernel* find_kernel(std::string_view name) const noexcept override {
    return overlays_.find(name);
  }
  void close() noexcept override;

 private:
  /// What a captured graph holds.
  struct Held {
    CudaDevice& device;
    std::shared_ptr<void> what;  ///< keeps the device alive, too
  };

  Status make_pool() noexcept;
  Status load_copies() noexcept;
  Status refuse_while_captured(const char* what) const noexcept;
  Status transfer(void* destination, const void* source, std::int64_t bytes,
                  cudaMemcpyKind kind) noexcept;
  static void release_held(void* held) noexcept;

  const DeviceInfo info_;
  Home home_;
  Overlays overlays_{home_};
  std::optional<Functions> functions_;
  std::optional<TensorMaps> maps_;
  std::optional<Findings> findings_;
  Lowering lowering_;
  Retired retired_;
  cudaMemPool_t pool_ = nullptr;
  cudaStream_t side_stream_ = nullptr;  ///< for memory, while the stream is captured
  std::array<cudaEvent_t, kEvents> events_{};
  std::uint64_t last_ = 0;
  bool may_be_captured_ = false;  ///< somebody else has the stream
  std::atomic<bool> closed_ = false;
  std::uint64_t allocations_ = 0, synchronisations_ = 0;
};

CudaDevice::~CudaDevice() {
  if (home_.context() == nullptr) return;
  const Inside inside(home_);
  if (!home_.is_captured()) (void)cudaStreamSynchronize(home_.stream());
  retired_.finish(home_);
  overlays_.unload();
  for (const cudaEvent_t event : events_) {
    if (event != nullptr) (void)cudaEventDestroy(event);
  }
  if (side_stream_ != nullptr) (void)cudaStreamDestroy(side_stream_);
  if (pool_ != nullptr) (void)cudaMemPoolDestroy(pool_);
  findings_.reset();
  (void)cudaGetLastError();
}

Status CudaDevice::start(const CudaHandles& handles) noexcept try {
  GIRIH_TRY(home_.open(handles));
  may_be_captured_ = handles.stream.has_value();
  functions_.emplace(home_.driver().load_function, info_.features.has(Feature::Sm90a));
  maps_.emplace(home_.driver().encode_map);
  const Inside inside(home_);
  GIRIH_TRY(findings_.emplace().open());
  lowering_ = {info_.multiprocessors, info_.features.has(Feature::Sm90a), &*maps_,
               findings_->place()};
  GIRIH_TRY(make_pool());
  GIRIH_CUDA_TRY(cudaStreamCreateWithFlags(&side_stream_, cudaStreamNonBlocking));
  for (cudaEvent_t& event : events_) {
    GIRIH_CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }
  return load_copies();
} catch (...) {
  return error(Code::OutOfMemory, "no host memory for a device");
}

Status CudaDevice::make_pool() noexcept {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, home_.device()};
  GIRIH_CUDA_TRY(cudaMemPoolCreate(&pool_, &properties));
  // By default a pool gives everything back at each synchronisation.
  std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
  GIRIH_CUDA_TRY(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold));
  return {};
}

/// What uploads, downloads and packing need of any call; one small module.
Status CudaDevice::load_copies() noexcept {
  for (const void* function : {copy_kernel(), cast_kernel(), fill_kernel(), nibble_kernel()}) {
    GIRIH_TRY(functions_->require({.function = function}));
  }
  return {};
}

Counters CudaDevice::counters() const noexcept {
  return {.maps_encoded = maps_->encoded(),
          .functions_loaded = functions_->loaded(),
          .allocations = allocations_,
          .synchronisations = synchronisations_};
}

Status CudaDevice::refuse_while_captured(const char* what) const noexcept {
  if (!may_be_captured_ || !home_.is_captured()) return {};
  return error(Code::CaptureMisuse, "{} while the stream is captured: a graph cannot hold it",
               what);
}

Result<std::byte*> CudaDevice::allocate(std::int64_t bytes) noexcept {
  if (bytes > info_.memory_bytes) {
    return error(Code::OutOfMemory, "{} bytes asked, {} has {}", bytes, info_.name,
                 info_.memory_bytes);
  }
  retired_.collect(home_);
  const Inside inside(home_);
  ++allocations_;
  // On a stream that is captured the memory would be the graph's alone.
  const bool is_captured = may_be_captured_ && home_.is_captured();
  const cudaStream_t stream = is_captured ? side_stream_ : home_.stream();
  void* data = nullptr;
  GIRIH_CUDA_TRY(cudaMallocFromPoolAsync(&data, static_cast<std::size_t>(bytes), pool_, stream));
  if (is_captured) GIRIH_CUDA_TRY(cudaStreamSynchronize(stream));
  return static_cast<std::byte*>(data);
}

Status CudaDevice::trim() noexcept {
  retired_.collect(home_);
  const Inside inside(home_);
  ++synchronisations_;
  // Memory that was freed behind queued work is the pool's until that has run.
  GIRIH_CUDA_TRY(cudaStreamSynchronize(home_.stream()));
  GIRIH_CUDA_TRY(cudaStreamSynchronize(side_stream_));
  GIRIH_CUDA_TRY(cudaMemPoolTrimTo(pool_, 0));
  return {};
}

Status CudaDevice::zero(std::byte* data, std::int64_t bytes) noexcept {
  GIRIH_TRY(refuse_while_captured("a new tensor"));
  if (bytes == 0) return {};
  const Current current(home_.driver(), home_.context());
  GIRIH_CUDA_TRY(cudaMemsetAsync(data, 0, static_cast<std::size_t>(bytes), home_.stream()));
  return {};
}

Status CudaDevice::transfer(void* destination, const void* source, std::int64_t bytes,
                            cudaMemcpyKind kind) noexcept {
  GIRIH_TRY(refuse_while_captured(kind == cudaMemcpyHostToDevice ? "upload" : "download"));
  const Inside inside(home_);
  ++synchronisations_;
  if (bytes > 0) {
    GIRIH_CUDA_TRY(cudaMemcpyAsync(destination, source, static_cast<std::size_t>(bytes), kind,
                                   home_.stream()));
  }
  // A copy from pinned memory would return before it is done.
  GIRIH_CUDA_TRY(cudaStreamSynchronize(home_.stream()));
  return {};
}

Status CudaDevice::prepare(const Call& call) noexcept {
  const Inside inside(home_);
  LoadSink sink(*functions_);
  Lowering loading = lowering_;
  loading.maps = nullptr;
  return lower(call, loading, sink);
}

Result<std::unique_ptr<Executable>> CudaDevice::instantiate(std::span<const Call> calls) noexcept {
  std::unique_ptr<GraphExecutable> graph(new (std::nothrow) GraphExecutable(home_));
  if (graph == nullptr) return error(Code::OutOfMemory, "no memory for a graph");
  GIRIH_TRY(graph->build(calls, lowering_, *functions_));
  return std::unique_ptr<Executable>(std::move(graph));
}

Status CudaDevice::submit(std::uint64_t value) noexcept {
  GIRIH_TRY(refuse_while_captured("submit"));
  retired_.collect(home_);
  const Inside inside(home_);
  const cudaEvent_t event = events_[value % kEvents];
  // An event that is recorded again forgets the submission it stood for.
  if (value > kEvents) GIRIH_CUDA_TRY(cudaEventSynchronize(event));
  GIRIH_CUDA_TRY(cudaEventRecord(event, home_.stream()));
  last_ = value;
  return {};
}

Result<bool> CudaDevice::completed(std::uint64_t value) noexcept {
  if (value + kEvents <= last_) return true;
  const Inside inside(home_);
  const cudaError_t status = cudaEventQuery(events_[value % kEvents]);
  if (status == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  if (status != cudaSuccess) return failure(status, "cudaEventQuery");
  retired_.collect(home_);
  return true;
}

Status CudaDevice::wait(std::uint64_t value) noexcept {
  if (value + kEvents <= last_) return findings_->take();
  const Inside inside(home_);
  ++synchronisations_;
  GIRIH_CUDA_TRY(cudaEventSynchronize(events_[value % kEvents]));
  retired_.collect(home_);
  return findings_->take();
}

Result<std::byte*> CudaDevice::import(const NativeMemory& memory, std::int64_t bytes) noexcept {
  retired_.collect(home_);
  const Inside inside(home_);
  std::byte* const first = static_cast<std::byte*>(memory.handle) + memory.byte_offset;
  for (const std::byte* at : {first, first + bytes - 1}) {
    cudaPointerAttributes found{};
    if (cudaPointerGetAttributes(&found, at) != cudaSuccess ||
        found.type == cudaMemoryTypeUnregistered || found.devicePointer == nullptr) {
      (void)cudaGetLastError();
      return error(Code::Unwrappable, "wrap: {} is not memory that the device can use",
                   static_cast<const void*>(at));
    }
    if (found.type == cudaMemoryTypeDevice && found.device != home_.device()) {
      return error(Code::Unwrappable, "wrap: {} lies on device {}, the runtime is on {}",
                   static_cast<const void*>(at), found.device, home_.device());
    }
    if (found.devicePointer != at) {
      return error(Code::Unwrappable, "wrap: {} has another address on the device: pass {}",
                   static_cast<const void*>(at), static_cast<const void*>(found.devicePointer));
    }
  }
  return first;
}

void CudaDevice::end_import(std::byte*, std::int64_t, Done done, void* context) noexcept {
  const Inside inside(home_);
  const bool waits = closed_ && !home_.is_captured();  // nobody would call it later
  if (waits) (void)cudaStreamSynchronize(home_.stream());
  const bool is_idle = !home_.is_captured() && cudaStreamQuery(home_.stream()) == cudaSuccess;
  (void)cudaGetLastError();
  if (waits || is_idle) return done(context);
  retired_.add_import(done, context);
}

Result<void*> CudaDevice::native_object(NativeObject object) noexcept {
  switch (object) {
    case NativeObject::CudaContext:
      return home_.context();
    case NativeObject::CudaStream:
      may_be_captured_ = true;
      return home_.stream();
    default:
      return Device::native_object(object);
  }
}

Status CudaDevice::record(const ForeignEvent& event) noexcept {
  GIRIH_TRY(check_handle(event, "record"));
  const Current current(home_.driver(), home_.context());
  return check_event(cudaEventRecord(static_cast<cudaEvent_t>(event.handle), home_.stream()),
                     "record");
}

Status CudaDevice::wait_for(const ForeignEvent& event) noexcept {
  GIRIH_TRY(check_handle(event, "wait_for"));
  const Current current(home_.driver(), home_.context());
  return check_event(cudaStreamWaitEvent(home_.stream(), static_cast<cudaEvent_t>(event.handle), 0),
                     "wait_for");
}

std::uint64_t CudaDevice::caller_capture() noexcept {
  if (!may_be_captured_) return 0;
  cudaStreamCaptureStatus status{};
  unsigned long long id = 0;
  if (cudaStreamGetCaptureInfo(home_.stream(), &status, &id) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return status == cudaStreamCaptureStatusActive ? id : 0;
}

Status CudaDevice::hold_for_capture(std::shared_ptr<void> what) noexcept {
  Held* const held = new (std::nothrow) Held{*this, std::move(what)};
  if (held == nullptr) return error(Code::OutOfMemory, "no host memory to capture a call");
  const Inside inside(home_);
  return cuda::hold_for_capture(home_.stream(), held, release_held);
}

/// On a thread of CUDA's. After `close` nobody would collect, and what a graph held may be all that
/// keeps the device, which cannot be closed here: it goes with the process.
void CudaDevice::release_held(void* pointer) noexcept {
  auto* const held = static_cast<Held*>(pointer);
  if (held->device.closed_) return;
  held->device.retired_.add_held(std::move(held->what));
  delete held;
}

void CudaDevice::close() noexcept {
  closed_ = true;
  retired_.collect(home_);
}

}  // namespace

Counters counters(const Device& device) noexcept {
  return static_cast<const CudaDevice&>(device).counters();
}

Result<std::unique_ptr<Device>> open(const std::optional<CudaHandles>& handles) noexcept try {
  const CaptureTolerant tolerant;
  const CudaHandles wanted = handles.value_or(CudaHandles{});
  Probe found = probe(wanted.device);
  if (found.presence != Presence::Usable) {
    return error(Code::BackendUnavailable, "backend cuda: {}", found.reason);
  }
  auto device = std::make_unique<CudaDevice>(std::move(found.info));
  if (const Status started = device->start(wanted); !started) {
    if (started.error().kind() == ErrorKind::Invalid) return started.error();
    return error(Code::BackendUnavailable, "backend cuda: {}", started.error().message);
  }
  return std::unique_ptr<Device>(std::move(device));
} catch (...) {
  return error(Code::OutOfMemory, "no memory to open the cuda device");
}

}  // namespace girih::inline v0::cuda
