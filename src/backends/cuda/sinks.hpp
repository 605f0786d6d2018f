#pragma once

#include "backends/cuda/functions.hpp"
#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

/// Loads kernels and launches nothing.
class LoadSink final : public LaunchSink {
 public:
  explicit LoadSink(Functions& functions) noexcept : functions_(functions) {}
  Status add(const Launch& launch) noexcept override;

 private:
  Functions& functions_;
};

/// Runs kernels on a stream at once.
class StreamSink final : public LaunchSink {
 public:
  StreamSink(cudaStream_t stream, Functions& functions) noexcept
      : stream_(stream), functions_(functions) {}
  Status add(const Launch& launch) noexcept override;

 private:
  const cudaStream_t stream_;
  Functions& functions_;
};

/// Makes each kernel a node of a graph, after the one before it.
class GraphSink final : public LaunchSink {
 public:
  GraphSink(cudaGraph_t graph, Functions& functions) noexcept
      : graph_(graph), functions_(functions) {}
  Status add(const Launch& launch) noexcept override;
  [[nodiscard]] bool is_empty() const noexcept { return last_ == nullptr; }

 private:
  Status follow(cudaGraphNode_t node, bool waits_itself) noexcept;

  const cudaGraph_t graph_;
  Functions& functions_;
  cudaGraphNode_t last_ = nullptr;
  bool last_waits_itself_ = false;
};

}  // namespace girih::inline v0::cuda
