#include "backends/metal/device.hpp"

#include <cstring>
#include <new>

#include "backends/metal/queue.hpp"
#include "backends/metal/replay.hpp"
#include "core/error.hpp"

namespace girih::inline v0::metal {
namespace {

/// Encodes at once.
class QueueSink final : public LaunchSink {
 public:
  explicit QueueSink(Queue& queue) noexcept : queue_(queue) {}
  Status add(const Launch& launch) noexcept override { return queue_.encode(launch); }

 private:
  Queue& queue_;
};

class MetalDevice final : public Device {
 public:
  explicit MetalDevice(DeviceInfo info) noexcept : info_(std::move(info)) {}

  Status start() noexcept {
    const Pool pool;
    device_ = Ref(MTLCreateSystemDefaultDevice());
    if (!device_) return error(Code::BackendUnavailable, "no Metal device");
    GIRIH_TRY(memory_.start(device_.get()));
    GIRIH_TRY(pipelines_.start(device_.get()));
    return queue_.start(device_.get(), memory_, pipelines_);
  }

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::span<const KernelInfo> kernels() const noexcept override {
    return kernel_table();
  }
  [[nodiscard]] int threads() const noexcept override { return 1; }

  Result<std::byte*> allocate(std::int64_t bytes) noexcept override {
    const Pool pool;
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
    return bytes > 0 ? queue_.fill(data, bytes, 0) : Status{};
  }
  Status write(std::byte* destination, const void* source, std::int64_t bytes) noexcept override {
    if (bytes == 0) return {};
    GIRIH_TRY(queue_.drain());
    std::memcpy(destination, source, static_cast<std::size_t>(bytes));
    return {};
  }
  Status read(void* destination, const std::byte* source, std::int64_t bytes) noexcept override {
    GIRIH_TRY(queue_.drain());
    if (bytes > 0) std::memcpy(destination, source, static_cast<std::size_t>(bytes));
    return {};
  }

  Status launch(const Call& call) noexcept override {
    QueueSink sink(queue_);
    return lower(call, sink);
  }
  Result<std::unique_ptr<Executable>> instantiate(std::span<const Call> calls) noexcept override {
    std::unique_ptr<Replay> graph(new (std::nothrow) Replay(queue_, memory_, pipelines_));
    if (graph == nullptr) return error(Code::OutOfMemory, "no memory for a graph");
    GIRIH_TRY(graph->build(calls));
    return std::unique_ptr<Executable>(std::move(graph));
  }

  Status submit(std::uint64_t value) noexcept override { return queue_.submit(value); }
  Result<bool> completed(std::uint64_t value) noexcept override { return queue_.completed(value); }
  Status wait(std::uint64_t value) noexcept override { return queue_.wait(value); }

 private:
  const DeviceInfo info_;
  Ref device_;
  Memory memory_;
  Pipelines pipelines_;
  Queue queue_;
};

}  // namespace

Result<std::unique_ptr<Device>> open() noexcept try {
  Probe found = probe();
  if (found.presence != Presence::Usable) {
    return error(Code::BackendUnavailable, "backend metal: {}", found.reason);
  }
  auto device = std::make_unique<MetalDevice>(std::move(found.info));
  if (const Status started = device->start(); !started) {
    return error(Code::BackendUnavailable, "backend metal: {}", started.error().message);
  }
  return std::unique_ptr<Device>(std::move(device));
} catch (...) {
  return error(Code::OutOfMemory, "no memory to open the metal device");
}

}  // namespace girih::inline v0::metal
