#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/device.hpp"

namespace girih::inline v0::cuda {

/// What the static runtime says of a machine.
struct Sighting {
  int device = 0;   ///< the one that is meant
  int runtime = 0;  ///< CUDA version of this build, 1000 * major + 10 * minor
  cudaError_t driver_status = cudaSuccess;
  int driver = 0;  ///< CUDA version that the driver supports
  cudaError_t count_status = cudaSuccess;
  int count = 0;
  cudaError_t properties_status = cudaSuccess;
  DeviceInfo info{};
};
/// What it means. A driver that is missing and one that is too old give the same code for every
/// call but the one for its version, which is 0 then.
Probe judge(const Sighting& seen);

}  // namespace girih::inline v0::cuda
