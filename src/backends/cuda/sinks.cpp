#include "backends/cuda/sinks.hpp"

#include <array>

namespace girih::inline v0::cuda {
Status LoadSink::add(const Launch& launch) noexcept {
  return launch.is_loaded ? Status{} : functions_.require(launch);
}

Status StreamSink::add(const Launch& launch) noexcept {
  if (!launch.is_loaded) GIRIH_TRY(functions_.require(launch));
  std::array<cudaLaunchAttribute, 2> attributes;
  cudaLaunchConfig_t config{};
  config.gridDim = launch.grid;
  config.blockDim = launch.block;
  config.dynamicSmemBytes = launch.shared;
  config.stream = stream_;
  config.attrs = attributes.data();
  if (has_cluster(launch)) {  // even a cluster of one costs 0.15 us
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
  }
  if (launch.waits_itself && functions_.may_overlap()) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  void* argument[] = {const_cast<void*>(launch.params)};
  GIRIH_CUDA_TRY(cudaLaunchKernelExC(&config, launch.function,
                                     launch.arguments != nullptr ? launch.arguments : argument));
  return {};
}

Status GraphSink::add(const Launch& launch) noexcept {
  if (!launch.is_loaded) GIRIH_TRY(functions_.require(launch));
  void* argument[] = {const_cast<void*>(launch.params)};
  cudaKernelNodeParams params{};
  params.func = const_cast<void*>(launch.function);
  params.gridDim = launch.grid;
  params.blockDim = launch.block;
  params.sharedMemBytes = launch.shared;
  params.kernelParams = launch.arguments != nullptr ? launch.arguments : argument;
  cudaGraphNode_t node = nullptr;
  GIRIH_CUDA_TRY(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &params));
  if (has_cluster(launch)) {
    cudaKernelNodeAttrValue value{};
    value.clusterDim = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
    GIRIH_CUDA_TRY(
        cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeClusterDimension, &value));
  }
  return follow(node, launch.waits_itself && functions_.may_overlap());
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
