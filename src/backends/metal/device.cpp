#include "backends/metal/device.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <new>
#include <utility>
#include <vector>

#include "backends/metal/overlays.hpp"
#include "backends/metal/queue.hpp"
#include "backends/metal/replay.hpp"
#include "backends/metal/self_check.hpp"
#include "backends/metal/trial.hpp"
#include "core/checked.hpp"
#include "core/error.hpp"

namespace girih::inline v0::metal {
namespace {

/// Keeps the kernels of one operation, their pipelines made, until they are to be encoded.
class Staged final : public LaunchSink {
 public:
  explicit Staged(Pipelines& pipelines) noexcept : pipelines_(pipelines) {}
  void clear() noexcept {
    launches_.clear();
    parameters_.clear();
  }
  Status add(const Launch& launch) noexcept override try {
    const Result<id> pipeline = pipelines_.find(launch);
    if (!pipeline) return pipeline.error();
    launches_.push_back(launch);
    const auto* const bytes = static_cast<const std::byte*>(launch.parameters);
    parameters_.insert(parameters_.end(), bytes, bytes + launch.parameter_bytes);
    return {};
  } catch (...) {
    return error(Code::OutOfMemory, "no host memory to launch {}", launch.function);
  }
  Status encode(Queue& queue) noexcept {
    const std::byte* parameters = parameters_.data();
    for (Launch& launch : launches_) {
      launch.parameters = parameters;
      parameters += launch.parameter_bytes;
      GIRIH_TRY(queue.encode(launch));
    }
    return {};
  }

 private:
  Pipelines& pipelines_;
  std::vector<Launch> launches_;
  std::vector<std::byte> parameters_;
};

/// The widest elements that a copy to there can be counted in.
DType copied_as(const std::byte* destination, std::size_t bytes) noexcept {
  const std::uintptr_t units = reinterpret_cast<std::uintptr_t>(destination) | bytes;
  return units % 8 == 0 ? DType::F64 : units % 4 == 0 ? DType::F32 : DType::I8;
}

Family family_of(const KernelInfo& kernel) noexcept {
  if (kernel.op != Op::Gemm) return Family::Elementwise;
  return kernel.path == Path::Matrix ? Family::TensorOps : Family::Simdgroup;
}

class MetalDevice final : public Device {
 public:
  explicit MetalDevice(DeviceInfo info)
      : info_(std::move(info)),
        rows_(kernel_table().begin(), kernel_table().end()),
        tried_(rows_.size()) {}

  /// `given` may have the caller's queue, and a metallib.
  Status start(Ref device, const MetalHandles& given) noexcept {
    const Pool pool;
    device_ = std::move(device);
    GIRIH_TRY(memory_.start(device_.get()));
    GIRIH_TRY(pipelines_.start(device_.get(), given.library, embedded_metallib()));
    return queue_.start(device_.get(), given.queue.value_or(nullptr), memory_, pipelines_);
  }

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::span<const KernelInfo> kernels() const noexcept override { return rows_; }
  [[nodiscard]] int threads() const noexcept override { return 1; }

  Result<std::byte*> allocate(std::int64_t bytes) noexcept override {
    memory_.reap(queue_.completed_tick());
    Result<std::byte*> data = memory_.allocate(bytes);
    if (data || data.error().code != Code::OutOfMemory) return data;
    GIRIH_TRY(queue_.drain());  // what was released may still wait for its last use
    return memory_.allocate(bytes);
  }
  void release(std::byte* data, std::int64_t) noexcept override {
    memory_.retire(data, queue_.tick());
  }
  Status zero(std::byte* data, std::int64_t bytes) noexcept override {
    return bytes > 0 ? queue_.fill(data, round_up(bytes, kFillUnit), 0) : Status{};
  }
  Status write(std::byte* destination, const void* source, std::int64_t bytes) noexcept override {
    if (bytes == 0) return {};
    const auto size = static_cast<std::size_t>(bytes);
    if (size <= Queue::kMostStaged && !queue_.is_idle()) {
      Status queued = write_queued(destination, source, size);
      // Without a kernel that copies, an upload waits, as a long one does.
      if (queued || queued.error().code != Code::BackendUnavailable) return queued;
    }
    GIRIH_TRY(queue_.drain());
    std::memcpy(destination, source, size);
    return {};
  }
  Status read(void* destination, const std::byte* source, std::int64_t bytes) noexcept override {
    GIRIH_TRY(queue_.drain());
    if (bytes > 0) std::memcpy(destination, source, static_cast<std::size_t>(bytes));
    return {};
  }

  Status launch(const Call& call) noexcept override {
    GIRIH_TRY(prepare(call));
    return staged_.encode(queue_);
  }
  Result<std::unique_ptr<Executable>> instantiate(std::span<const Call> calls) noexcept override {
    for (const Call& call : calls) GIRIH_TRY(prepare(call));
    std::unique_ptr<Replay> graph(new (std::nothrow) Replay(queue_, memory_, pipelines_));
    if (graph == nullptr) return error(Code::OutOfMemory, "no memory for a graph");
    GIRIH_TRY(graph->build(calls));
    return std::unique_ptr<Executable>(std::move(graph));
  }
  /// Compiles, and puts a row of products on trial. A row that fails is turned off; the call
  /// that met it fails with the reason.
  Status prepare(const Call& call) noexcept override {
    staged_.clear();
    Status status = lower(call, staged_);
    if (!status) turn_off(call, status.error());
    if (!status) return status;
    const auto* const product = std::get_if<GemmCall>(&call);
    if (product == nullptr) return {};
    if (product->problem.skips_product()) return {};
    return try_row(*product->selection.kernel, product->problem);
  }

  Status submit(std::uint64_t value) noexcept override { return queue_.submit(value); }
  Result<bool> completed(std::uint64_t value) noexcept override { return queue_.completed(value); }
  Status wait(std::uint64_t value) noexcept override { return queue_.wait(value); }
  Status recover() noexcept override { return queue_.recover(); }

  Result<std::byte*> import(const NativeMemory& memory, std::int64_t bytes) noexcept override {
    const auto offset = static_cast<std::int64_t>(memory.byte_offset);
    memory_.reap(queue_.completed_tick());
    Result<std::byte*> data = memory_.import(memory.handle, offset, bytes);
    if (data || data.error().code != Code::OutOfMemory) return data;
    GIRIH_TRY(queue_.drain());
    return memory_.import(memory.handle, offset, bytes);
  }
  void end_import(std::byte* data, std::int64_t bytes, Done done, void* context) noexcept override {
    memory_.end_import(data, bytes, queue_.tick(), done, context);
  }
  Result<NativeMemory> native_memory(const std::byte* data) noexcept override {
    const Memory::Place place = memory_.place_of(data);
    if (place.buffer == nullptr) return error(Code::InvalidTensor, "not memory of this device");
    return NativeMemory{place.buffer, place.offset};
  }
  Result<void*> native_object(NativeObject object) noexcept override {
    if (object == NativeObject::MetalDevice) return device_.get();
    if (object == NativeObject::MetalQueue) return queue_.object();
    return Device::native_object(object);
  }
  Status record(const ForeignEvent& event) noexcept override {
    return queue_.signal(event.handle, event.value);
  }
  Status wait_for(const ForeignEvent& event) noexcept override {
    return queue_.await(event.handle, event.value);
  }
  Result<std::vector<std::string>> add_kernels(const KernelImage& image) noexcept override {
    return overlays_.add(image, rows_);
  }
  [[nodiscard]] const ForeignKernel* find_kernel(std::string_view name) const noexcept override {
    return overlays_.find(name);
  }

 private:
  /// A copy through the queue's own memory: what is queued already reads the old contents, and the
  /// host does not wait for it.
  Status write_queued(std::byte* destination, const void* source, std::size_t bytes) noexcept {
    const Result<const std::byte*> staged = queue_.stage(source, bytes);
    if (!staged) return staged.error();
    const DType dtype = copied_as(destination, bytes);
    const auto elements = static_cast<std::int64_t>(bytes) * 8 / bit_width(dtype);
    const MoveDimension line[] = {{elements, 1, 1}};
    QueueSink sink(queue_);
    return add_copy(*staged, destination, dtype, line, sink);
  }
  /// Rows of a family that failed; else, if a kernel of the call has no pipeline, its row alone.
  void turn_off(const Call& call, const Error& why) noexcept {
    for (KernelInfo& row : rows_) {
      const std::string& failure = pipelines_.failure(family_of(row));
      if (!failure.empty() && row.obstacle.empty()) row.obstacle = failure;
    }
    const KernelInfo* chosen = nullptr;
    if (const auto* product = std::get_if<GemmCall>(&call)) chosen = product->selection.kernel;
    if (const auto* walk = std::get_if<ElementwiseCall>(&call)) chosen = walk->selection.kernel;
    if (chosen == nullptr || why.code != Code::BackendUnavailable) return;
    KernelInfo& row = rows_[index_of(*chosen)];
    if (!row.obstacle.empty()) return;
    try {
      row.obstacle = reasons_.emplace_back(why.message);
    } catch (...) {
      row.obstacle = "it has no pipeline";
    }
  }
  [[nodiscard]] std::size_t index_of(const KernelInfo& kernel) const noexcept {
    return static_cast<std::size_t>(&kernel - rows_.data());
  }
  /// The row that any device with Metal 4 multiplies this type on.
  [[nodiscard]] const KernelInfo* portable_row(DType dtype) const noexcept {
    const auto row = std::ranges::find_if(rows_, [&](const KernelInfo& kernel) {
      return kernel.op == Op::Gemm && kernel.path == Path::Portable && kernel.operands.has(dtype);
    });
    return row == rows_.end() || !row->obstacle.empty() ? nullptr : &*row;
  }

  Status try_row(const KernelInfo& kernel, const GemmProblem& problem) noexcept {
    const std::size_t index = index_of(kernel);
    const DType dtype = problem.a.dtype;
    const TrialLayout layout = trial_layout(kernel, problem);
    std::uint64_t& tried = tried_[index];
    const std::uint64_t trial = std::uint64_t{1}
                                << (4 * static_cast<unsigned>(dtype) + layout.index());
    if ((tried & trial) != 0) return {};
    const KernelInfo* const portable = kernel.path == Path::Matrix ? portable_row(dtype) : nullptr;
    const Result<Trial> result = try_product(kernel, portable, dtype, layout, pipelines_);
    if (!result && result.error().kind() == ErrorKind::Failed) {
      // Of the trial's queue: the caller's is as it was.
      return error(Code::BackendUnavailable, "{}: its trial product did not run: {}", kernel.name,
                   result.error().message);
    }
    if (!result) return result.error();
    constexpr const char* kWrong = "its trial product was wrong";
    if (!result->is_portable_right) rows_[index_of(*portable)].obstacle = kWrong;
    if (!result->is_right) {
      rows_[index].obstacle = kWrong;
      return error(Code::BackendUnavailable, "{}: {}, it is turned off", kernel.name, kWrong);
    }
    tried |= trial;
    return {};
  }

  const DeviceInfo info_;
  std::vector<KernelInfo> rows_;
  std::vector<std::uint64_t> tried_;  ///< by row: a bit a type and layout
  std::list<std::string> reasons_;    ///< obstacles point into it
  Ref device_;
  Memory memory_;
  Pipelines pipelines_;
  Staged staged_{pipelines_};
  Overlays overlays_{pipelines_};
  Queue queue_;
};

/// The device to work on: the caller's, that of the caller's queue, or the default one; null if
/// there is none.
Result<Ref> find_device(const MetalHandles& given) noexcept {
  for (const auto& [object, what] : {std::pair{given.device, "device"}, {given.queue, "queue"}}) {
    if (object && *object == nullptr) {
      return error(Code::InvalidOption, "options.metal.{} is null", what);
    }
  }
  if (!given.queue) {
    return given.device ? Ref::retained(*given.device) : Ref(MTLCreateSystemDefaultDevice());
  }
  if (!object::responds_to(*given.queue, sel_registerName("commit:count:options:"))) {
    return error(Code::InvalidOption, "options.metal.queue is no MTL4CommandQueue");
  }
  const id owner = queue::device(*given.queue);
  if (given.device && *given.device != owner) {
    return error(Code::InvalidOption, "options.metal.queue is of another device");
  }
  return Ref::retained(owner);
}

}  // namespace

Result<std::unique_ptr<Device>> open(const std::optional<MetalHandles>& handles) noexcept try {
  const Pool pool;
  const MetalHandles given = handles.value_or(MetalHandles{});
  Result<Ref> object = find_device(given);
  if (!object) return object.error();
  if (*object && device::supports_family(object->get(), kFamilyMetal4)) {
    const Status same = check_binding(object->get());
    if (!same) return error(Code::BackendUnavailable, "backend metal: {}", same.error().message);
  }
  Probe found = probe(object->get());
  if (found.presence != Presence::Usable) {
    return error(Code::BackendUnavailable, "backend metal: {}", found.reason);
  }
  auto device = std::make_unique<MetalDevice>(std::move(found.info));
  if (const Status started = device->start(*std::move(object), given); !started) {
    return error(started.error().code, "backend metal: {}", started.error().message);
  }
  return std::unique_ptr<Device>(std::move(device));
} catch (...) {
  return error(Code::OutOfMemory, "no memory to open the metal device");
}

}  // namespace girih::inline v0::metal
