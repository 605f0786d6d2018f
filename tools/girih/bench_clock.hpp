#pragma once

#include <functional>

#include <girih/runtime.hpp>

#include "measure/rounds.hpp"

namespace girih::cli {

/// Seconds that a stream takes for what a function queues on it. The stream is held back until all
/// of it is queued, or for a few milliseconds, so that the host's part is not in the time.
using StreamClock = std::function<Result<double>(const std::function<Status()>& queue)>;

/// The clock of a cudaStream_t; empty if this build has none.
Result<StreamClock> stream_clock(void* stream);

/// Queues CUDA's own copy between two places on its device. BackendUnavailable if this build has
/// none.
Status stream_copy(void* stream, void* destination, const void* source, std::size_t bytes);

/// The clock of a runtime's queue; empty if its backend has none.
inline Result<StreamClock> clock_of(Runtime& runtime) {
  if (runtime.backend() != Backend::Cuda) return StreamClock{};
  const Result<void*> stream = runtime.native_handle(NativeObject::CudaStream);
  if (!stream) return stream.error();
  return stream_clock(*stream);
}

/// Has a contender timed by the clock of the stream that its `run` queues on. Nothing happens
/// without one.
inline void use_clock(Contender& contender, StreamClock clock) {
  if (!clock) return;
  contender.clock = [run = contender.run, clock = std::move(clock)](std::int64_t first,
                                                                    std::int64_t runs) {
    return clock([&]() -> Status {
      for (std::int64_t i = 0; i < runs; ++i) {
        if (Status status = run(first + i); !status) return status;
      }
      return {};
    });
  };
}

}  // namespace girih::cli
