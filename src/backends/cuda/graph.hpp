#pragma once

#include "backends/cuda/sinks.hpp"

namespace girih::inline v0::cuda {

/// A sequence as one graph on a stream. Its nodes hold their parameters, tensor maps among them.
class GraphExecutable final : public Executable {
 public:
  GraphExecutable(const DriverFunctions& driver, CUcontext context, cudaStream_t stream) noexcept
      : driver_(driver), context_(context), stream_(stream) {}
  GraphExecutable(const GraphExecutable&) = delete;
  GraphExecutable& operator=(const GraphExecutable&) = delete;
  ~GraphExecutable() override;

  Status build(std::span<const Call> calls, const Lowering& lowering,
               Functions& functions) noexcept;
  Status replay() noexcept override;

 private:
  Status fill(cudaGraph_t graph, std::span<const Call> calls, const Lowering& lowering,
              Functions& functions) noexcept;

  const DriverFunctions driver_;
  const CUcontext context_;
  const cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace girih::inline v0::cuda
