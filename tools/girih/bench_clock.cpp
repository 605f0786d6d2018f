#include "girih/bench_clock.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "core/error.hpp"
#include "girih/bench_burst.hpp"

namespace girih::cli {
namespace {

/// A stream is held no longer: what is queued behind may be more than its queue takes.
constexpr std::chrono::milliseconds kLongestHold{3};

/// Two events, and a gate between the host and the stream.
class EventClock {
 public:
  explicit EventClock(cudaStream_t stream) : stream_(stream) {}
  ~EventClock() {
    for (const cudaEvent_t event : {begin_, end_}) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
  }
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  Status create() {
    GIRIH_TRY(cuda_status(cudaEventCreate(&begin_), "cudaEventCreate"));
    return cuda_status(cudaEventCreate(&end_), "cudaEventCreate");
  }

  Result<double> time(const std::function<Status()>& queue) {
    is_open_.store(false, std::memory_order_release);
    GIRIH_TRY(cuda_status(cudaLaunchHostFunc(stream_, hold, this), "cudaLaunchHostFunc"));
    const Status queued = queue_between_events(queue);
    is_open_.store(true, std::memory_order_release);
    const Status done = cuda_status(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    GIRIH_TRY(queued);
    GIRIH_TRY(done);
    float milliseconds = 0;
    GIRIH_TRY(
        cuda_status(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime"));
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  /// Runs on a thread of CUDA's, which must not call it.
  static void CUDART_CB hold(void* self) {
    const auto& clock = *static_cast<EventClock*>(self);
    const auto deadline = std::chrono::steady_clock::now() + kLongestHold;
    while (!clock.is_open_.load(std::memory_order_acquire) &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  }

  Status queue_between_events(const std::function<Status()>& queue) {
    GIRIH_TRY(cuda_status(cudaEventRecord(begin_, stream_), "cudaEventRecord"));
    GIRIH_TRY(queue());
    return cuda_status(cudaEventRecord(end_, stream_), "cudaEventRecord");
  }

  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::atomic<bool> is_open_{true};
};

}  // namespace

Result<StreamClock> stream_clock(void* stream) {
  const auto clock = std::make_shared<EventClock>(static_cast<cudaStream_t>(stream));
  GIRIH_TRY(clock->create());
  return StreamClock{[clock](const std::function<Status()>& queue) { return clock->time(queue); }};
}

Status stream_copy(void* stream, void* destination, const void* source, std::size_t bytes) {
  return cuda_status(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToDevice,
                                     static_cast<cudaStream_t>(stream)),
                     "cudaMemcpyAsync");
}

}  // namespace girih::cli
