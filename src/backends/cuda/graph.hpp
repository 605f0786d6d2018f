#pragma once

#include "backends/cuda/home.hpp"
#include "backends/cuda/sinks.hpp"

namespace girih::inline v0::cuda {

/// A sequence as one graph. Its nodes hold their parameters, tensor maps among them.
class GraphExecutable final : public Executable {
 public:
  explicit GraphExecutable(const Home& home) noexcept : home_(home) {}
  GraphExecutable(const GraphExecutable&) = delete;
  GraphExecutable& operator=(const GraphExecutable&) = delete;
  ~GraphExecutable() override;

  Status build(std::span<const Call> calls, const Lowering& lowering,
               Functions& functions) noexcept;
  Status replay() noexcept override;

 private:
  Status fill(cudaGraph_t graph, std::span<const Call> calls, const Lowering& lowering,
              Functions& functions) noexcept;

  const Home& home_;  ///< of the device, which outlives its graphs
  cudaGraphExec_t executable_ = nullptr;
};

/// Has the graph that `stream` is being captured into keep `held` until it and everything made of
/// it are gone, then calls `release` with it: on a thread of CUDA's, which may not call CUDA. On
/// failure that happens at once.
using Release = void (*)(void* held);
Status hold_for_capture(cudaStream_t stream, void* held, Release release) noexcept;

}  // namespace girih::inline v0::cuda
