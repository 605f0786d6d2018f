#pragma once

#include <memory>
#include <vector>

#include "backends/metal/queue.hpp"

namespace girih::inline v0::metal {

/// A captured sequence: pipelines made, arguments bound and constants written once. A replay
/// encodes three messages and a barrier a kernel, two more where one has threadgroup memory, and no
/// host memory is touched. It may go on any thread, while the GPU still works on it.
class Replay final : public Executable, private LaunchSink {
 public:
  Replay(Queue& queue, Memory& memory, Pipelines& pipelines) noexcept
      : queue_(queue), memory_(memory), pipelines_(pipelines) {}
  ~Replay() override;
  Status build(std::span<const Call> calls) noexcept;
  Status replay() noexcept override;

 private:
  Status add(const Launch& launch) noexcept override;

  Queue& queue_;
  Memory& memory_;
  Pipelines& pipelines_;
  std::unique_ptr<std::vector<Prepared>> launches_;
  std::vector<std::byte*> constants_;  ///< blocks of device memory
  std::size_t used_ = 0;               ///< of the last block
};

}  // namespace girih::inline v0::metal
