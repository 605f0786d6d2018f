#include "backends/cuda/sinks.hpp"

#include <array>

namespace girih::inline v0::cuda {

Status StreamSink::add(const Launch& launch) noexcept {
  GIRIH_TRY(functions_.require(launch.function, launch.shared));
  std::array<cudaLaunchAttribute, 2> attributes;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(launch.grid);
  config.blockDim = dim3(launch.block);
  config.dynamicSmemBytes = launch.shared;
  config.stream = stream_;
  config.attrs = attributes.data();
  if (launch.cluster > 1) {  // even a cluster of one costs 0.15 us
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {launch.cluster, 1, 1};
  }
  if (launch.waits_itself) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  void* arguments[] = {const_cast<void*>(launch.params)};
  GIRIH_CUDA_TRY(cudaLaunchKernelExC(&config, launch.function, arguments));
  return {};
}

Status GraphSink::add(const Launch& launch) noexcept {
  GIRIH_TRY(functions_.require(launch.function, launch.shared));
  void* arguments[] = {const_cast<void*>(launch.params)};
  cudaKernelNodeParams params{};
  params.func = const_cast<void*>(launch.function);
  params.gridDim = dim3(launch.grid);
  params.blockDim = dim3(launch.block);
  params.sharedMemBytes = launch.shared;
  params.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  GIRIH_CUDA_TRY(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &params));
  if (launch.cluster > 1) {
    cudaKernelNodeAttrValue value{};
    value.clusterDim.x = launch.cluster;
    value.clusterDim.y = value.clusterDim.z = 1;
    GIRIH_CUDA_TRY(
        cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeClusterDimension, &value));
  }
  return follow(node, launch.waits_itself);
}

Status GraphSink::follow(cudaGraphNode_t node, bool waits_itself) noexcept {
  if (last_ != nullptr) {
    cudaGraphEdgeData edge{};
    // Such a kernel lets the next one start once all its blocks run and have waited for what came
    // before, so that the next one, which waits for this one's end, runs after all of it.
    if (waits_itself && last_waits_itself_) {
      edge.from_port = cudaGraphKernelNodePortProgrammatic;
      edge.type = cudaGraphDependencyTypeProgrammatic;
    }
    GIRIH_CUDA_TRY(cudaGraphAddDependencies(graph_, &last_, &node, &edge, 1));
  }
  last_ = node;
  last_waits_itself_ = waits_itself;
  return {};
}

}  // namespace girih::inline v0::cuda
