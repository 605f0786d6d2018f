#include "backends/cuda/graph.hpp"

namespace girih::inline v0::cuda {

GraphExecutable::~GraphExecutable() {
  if (executable_ == nullptr) return;
  const Current current(driver_, context_);
  const CaptureTolerant tolerant;
  // The driver keeps what a launch under way needs.
  if (cudaGraphExecDestroy(executable_) != cudaSuccess) (void)cudaGetLastError();
}

Status GraphExecutable::build(std::span<const Call> calls, const Lowering& lowering,
                              Functions& functions) noexcept {
  cudaGraph_t graph = nullptr;
  GIRIH_CUDA_TRY(cudaGraphCreate(&graph, 0));
  const Status status = fill(graph, calls, lowering, functions);
  (void)cudaGraphDestroy(graph);
  return status;
}

Status GraphExecutable::fill(cudaGraph_t graph, std::span<const Call> calls,
                             const Lowering& lowering, Functions& functions) noexcept {
  GraphSink sink(graph, functions);
  for (const Call& call : calls) GIRIH_TRY(lower(call, lowering, sink));
  if (sink.is_empty()) return {};
  GIRIH_CUDA_TRY(cudaGraphInstantiate(&executable_, graph, 0));
  GIRIH_CUDA_TRY(cudaGraphUpload(executable_, stream_));
  return {};
}

Status GraphExecutable::replay() noexcept {
  if (executable_ == nullptr) return {};
  const Current current(driver_, context_);
  GIRIH_CUDA_TRY(cudaGraphLaunch(executable_, stream_));
  return {};
}

}  // namespace girih::inline v0::cuda
