#pragma once

#include <cuda_runtime_api.h>
#include <functional>
#include <memory>
#include <string>

#include <girih/status.hpp>

namespace girih::cli {

/// A stream of a peer's own, which waits for no other.
class PeerStream {
 public:
  static Result<std::unique_ptr<PeerStream>> create();
  ~PeerStream();
  PeerStream(const PeerStream&) = delete;
  PeerStream& operator=(const PeerStream&) = delete;

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  [[nodiscard]] Status synchronize() const;

 private:
  explicit PeerStream(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t stream_;
};

/// What `body` queues on the stream, as one graph.
class Burst {
 public:
  static Result<std::unique_ptr<Burst>> record(const PeerStream& stream,
                                               const std::function<Status()>& body);
  ~Burst();
  Burst(const Burst&) = delete;
  Burst& operator=(const Burst&) = delete;

  [[nodiscard]] Status replay() const;
  /// "first + second": its kernels as the driver names them, in the order that the graph lists.
  [[nodiscard]] std::string kernels() const;

 private:
  Burst(cudaStream_t stream, cudaGraph_t graph) : stream_(stream), graph_(graph) {}
  cudaStream_t stream_;
  cudaGraph_t graph_;
  cudaGraphExec_t executable_ = nullptr;
};

/// DeviceFailed with CUDA's own words; success for cudaSuccess.
Status cuda_status(cudaError_t status, const char* what);

}  // namespace girih::cli
