#include "backends/cuda/graph.hpp"

namespace girih::inline v0::cuda {

GraphExecutable::~GraphExecutable() {
  if (executable_ == nullptr) return;
  const Inside inside(home_);
  // A launch under way goes on: the driver frees a graph when it has ended.
  if (cudaGraphExecDestroy(executable_) != cudaSuccess) (void)cudaGetLastError();
}

Status GraphExecutable::build(std::span<const Call> calls, const Lowering& lowering,
                              Functions& functions) noexcept {
  const Inside inside(home_);
  cudaGraph_t graph = nullptr;
  GIRIH_CUDA_TRY(cudaGraphCreate(&graph, 0));
  Status status = fill(graph, calls, lowering, functions);
  (void)cudaGraphDestroy(graph);
  return status;
}

Status GraphExecutable::fill(cudaGraph_t graph, std::span<const Call> calls,
                             const Lowering& lowering, Functions& functions) noexcept {
  GraphSink sink(graph, functions);
  for (const Call& call : calls) GIRIH_TRY(lower(call, lowering, sink));
  if (sink.is_empty()) return {};
  GIRIH_CUDA_TRY(cudaGraphInstantiate(&executable_, graph, 0));
  if (!home_.is_captured()) GIRIH_CUDA_TRY(cudaGraphUpload(executable_, home_.stream()));
  return {};
}

Status GraphExecutable::replay() noexcept {
  if (executable_ == nullptr) return {};
  const Current current(home_.driver(), home_.context());
  if (home_.is_captured()) {
    return error(Code::CaptureMisuse, "replay while the stream is captured: record the calls anew");
  }
  GIRIH_CUDA_TRY(cudaGraphLaunch(executable_, home_.stream()));
  return {};
}

Status hold_for_capture(cudaStream_t stream, void* held, Release release) noexcept {
  cudaStreamCaptureStatus status{};
  cudaGraph_t graph = nullptr;
  cudaUserObject_t object = nullptr;
  cudaError_t result = cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph);
  if (result == cudaSuccess && status != cudaStreamCaptureStatusActive) {
    result = cudaErrorStreamCaptureInvalidated;
  }
  if (result == cudaSuccess) {
    result = cudaUserObjectCreate(&object, held, release, 1, cudaUserObjectNoDestructorSync);
  }
  if (result != cudaSuccess) {
    release(held);
    return failure(result, "keeping memory for a captured graph");
  }
  result = cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
  if (result == cudaSuccess) return {};
  (void)cudaUserObjectRelease(object, 1);  // which releases `held`
  return failure(result, "keeping memory for a captured graph");
}

}  // namespace girih::inline v0::cuda
