#include "girih/bench_burst.hpp"

#include <cudaTypedefs.h>
#include <vector>

#include "core/error.hpp"

namespace girih::cli {
namespace {

template <class Function>
Function driver_entry(const char* name, unsigned version) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaGetDriverEntryPointByVersion(name, &entry, version, cudaEnableDefault, &found) !=
          cudaSuccess ||
      found != cudaDriverEntryPointSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<Function>(entry);
}

/// A kernel that another library launched is known to the driver only, as a function or a kernel.
std::string kernel_name(cudaGraphNode_t node) {
  static const auto kParams =
      driver_entry<PFN_cuGraphKernelNodeGetParams_v12000>("cuGraphKernelNodeGetParams", 12000);
  static const auto kOfFunction = driver_entry<PFN_cuFuncGetName_v12030>("cuFuncGetName", 12030);
  static const auto kOfKernel = driver_entry<PFN_cuKernelGetName_v12030>("cuKernelGetName", 12030);
  CUDA_KERNEL_NODE_PARAMS params{};
  const char* name = nullptr;
  if (kParams == nullptr || kParams(node, &params) != CUDA_SUCCESS) return "unknown";
  if (params.func != nullptr && kOfFunction != nullptr) (void)kOfFunction(&name, params.func);
  if (name == nullptr && params.kern != nullptr && kOfKernel != nullptr) {
    (void)kOfKernel(&name, params.kern);
  }
  return name != nullptr ? name : "unknown";
}

}  // namespace

Status cuda_status(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return {};
  (void)cudaGetLastError();
  return error(Code::DeviceFailed, "{}: {} ({})", what, cudaGetErrorString(status),
               static_cast<int>(status));
}

Result<std::unique_ptr<PeerStream>> PeerStream::create() {
  cudaStream_t stream = nullptr;
  GIRIH_TRY(cuda_status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                        "cudaStreamCreateWithFlags"));
  return std::unique_ptr<PeerStream>(new PeerStream(stream));
}
PeerStream::~PeerStream() {
  (void)cudaStreamDestroy(stream_);
}
Status PeerStream::synchronize() const {
  return cuda_status(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

Result<std::unique_ptr<Burst>> Burst::record(const PeerStream& stream,
                                             const std::function<Status()>& body) {
  GIRIH_TRY(
      cuda_status(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed), "capture"));
  const Status recorded = body();
  cudaGraph_t graph = nullptr;
  const Status ended = cuda_status(cudaStreamEndCapture(stream.get(), &graph), "capture");
  std::unique_ptr<Burst> burst(new Burst(stream.get(), graph));
  GIRIH_TRY(recorded);
  GIRIH_TRY(ended);
  GIRIH_TRY(
      cuda_status(cudaGraphInstantiate(&burst->executable_, graph, 0), "cudaGraphInstantiate"));
  GIRIH_TRY(cuda_status(cudaGraphUpload(burst->executable_, stream.get()), "cudaGraphUpload"));
  return burst;
}

Burst::~Burst() {
  if (executable_ != nullptr) {
    (void)cudaStreamSynchronize(stream_);
    (void)cudaGraphExecDestroy(executable_);
  }
  if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
}

Status Burst::replay() const {
  return cuda_status(cudaGraphLaunch(executable_, stream_), "cudaGraphLaunch");
}

std::string Burst::kernels() const {
  std::size_t count = 0;
  if (cudaGraphGetNodes(graph_, nullptr, &count) != cudaSuccess) return {};
  std::vector<cudaGraphNode_t> nodes(count);
  if (cudaGraphGetNodes(graph_, nodes.data(), &count) != cudaSuccess) return {};
  std::string names;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    if (cudaGraphNodeGetType(node, &type) != cudaSuccess) continue;
    if (!names.empty()) names += " + ";
    names += type == cudaGraphNodeTypeKernel   ? kernel_name(node)
             : type == cudaGraphNodeTypeMemset ? "memset"
                                               : "another node";
  }
  return names;
}

}  // namespace girih::cli
