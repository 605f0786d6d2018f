#pragma once

#include "backends/cuda/kernels/finding.hpp"
#include "backends/cuda/status.hpp"
#include "backends/cuda/tensor_maps.hpp"
#include "backends/device.hpp"

namespace girih::inline v0::cuda {

/// One kernel, ready to run on a stream or to become a node of a graph.
struct Launch {
  const void* function = nullptr;
  dim3 grid = 1, block = 1;
  unsigned shared = 0;
  dim3 cluster = 1;  ///< blocks of a cluster
  /// The kernel waits for what came before by itself, so it may be set up while that drains.
  bool waits_itself = false;
  const void* params = nullptr;  ///< the one argument, which the sink copies
  void** arguments = nullptr;    ///< of a kernel that has others, instead of `params`
  bool is_loaded = false;        ///< already, with all the shared memory that it may ask for
};

inline bool has_cluster(const Launch& launch) noexcept {
  return launch.cluster.x * launch.cluster.y * launch.cluster.z > 1;
}

class LaunchSink {
 public:
  virtual ~LaunchSink() = default;
  virtual Status add(const Launch& launch) noexcept = 0;
};

/// What lowering an operation needs of the device. Without `maps`, launches are complete but for
/// their tensor maps: enough to load the kernels of a call whose workspace does not exist yet.
struct Lowering {
  int multiprocessors = 1;
  bool has_clusters = true;  ///< of more than one block: on 9.0
  TensorMaps* maps = nullptr;
  Finding* finding = nullptr;  ///< where kernels tell of bad values
};

/// Hands the kernels of one operation to `sink`, in order.
Status lower(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;
Status lower(const ElementwiseCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;
Status lower(const GroupedGemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;
Status lower(const RouteCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;
Status lower(const PermuteCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;
Status lower(const UnpermuteCall& call, const Lowering& lowering, LaunchSink& sink) noexcept;
Status lower(const KernelCall& call, LaunchSink& sink) noexcept;
Status lower(const Call& call, const Lowering& lowering, LaunchSink& sink) noexcept;

/// A copy of strided elements, for operations that move their operands first.
struct MoveDimension {
  std::int64_t extent = 1, source = 0, destination = 0;
};
Status add_copy(const std::byte* source, std::byte* destination, DType dtype,
                std::span<const MoveDimension> dimensions, int multiprocessors,
                LaunchSink& sink) noexcept;

Element element_of(DType dtype) noexcept;

}  // namespace girih::inline v0::cuda
