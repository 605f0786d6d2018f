#pragma once

#include <bitset>
#include <cudaTypedefs.h>

#include "backends/cuda/kernels/gemm_tiles.hpp"
#include "backends/cuda/status.hpp"
#include "backends/device.hpp"

namespace girih::inline v0::cuda {

/// One kernel, ready to run on a stream or to become a node of a graph. `params` points to the one
/// argument, which the sink copies.
struct Launch {
  const void* function = nullptr;
  unsigned grid = 1, block = 1, shared = 0;
  unsigned cluster = 1;  ///< blocks of a cluster
  /// The kernel waits for what came before by itself, so it may be set up while that drains.
  bool waits_itself = false;
  const void* params = nullptr;
};

class LaunchSink {
 public:
  virtual ~LaunchSink() = default;
  virtual Status add(const Launch& launch) noexcept = 0;
};

/// What lowering an operation needs of the device.
struct Lowering {
  int multiprocessors = 1;
  PFN_cuTensorMapEncodeTiled_v12000 encode_map = nullptr;
  /// Kernels that have been allowed more than 48 KiB of shared memory: asked for once each.
  std::bitset<kTileCount * 8> allowed;
};

/// Hands the kernels of one operation to `sink`, in order.
Status lower(const GemmCall& call, Lowering& lowering, LaunchSink& sink) noexcept;
Status lower(const ElementwiseCall& call, Lowering& lowering, LaunchSink& sink) noexcept;
Status lower(const Call& call, Lowering& lowering, LaunchSink& sink) noexcept;

/// A copy of strided elements, for operations that move their operands first.
struct MoveDimension {
  std::int64_t extent = 1, source = 0, destination = 0;
};
Status add_copy(const std::byte* source, std::byte* destination, DType dtype,
                std::span<const MoveDimension> dimensions, int multiprocessors,
                LaunchSink& sink) noexcept;

Element element_of(DType dtype) noexcept;

}  // namespace girih::inline v0::cuda
