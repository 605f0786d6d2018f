#include "backends/cuda/probe.hpp"

#include <cuda_runtime_api.h>

#include "core/environment.hpp"
#include "core/format.hpp"

namespace girih::inline v0::cuda {
namespace {

std::string version_text(int version) {
  return formatted("{}.{}", version / 1000, version % 1000 / 10);
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) (void)cudaGetLastError();
  return value;
}

/// What the runtime knows of the device without making a context on it.
DeviceInfo describe_device(const cudaDeviceProp& properties, int device) {
  constexpr double kKilo = 1e3;
  DeviceInfo info;
  info.backend = Backend::Cuda;
  info.name = properties.name;
  info.compute_capability = properties.major * 10 + properties.minor;
  if (info.compute_capability >= 80) info.features.add(Feature::Sm80);
  const Result<Environment> environment = read_environment();
  const bool is_portable = environment && environment->is_cuda_portable;
  if (info.compute_capability == 90 && !is_portable) info.features.add(Feature::Sm90a);
  info.multiprocessors = properties.multiProcessorCount;
  info.clock_ghz = attribute(cudaDevAttrClockRate, device) * kKilo * 1e-9;
  info.l2_bytes = properties.l2CacheSize;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  // Two transfers a memory clock.
  info.memory_gb_per_s = 2.0 * attribute(cudaDevAttrMemoryClockRate, device) * kKilo *
                         attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8 * 1e-9;
  if (info.memory_gb_per_s <= 0) info.memory_gb_per_s = 1000;
  if (info.clock_ghz <= 0) info.clock_ghz = 1.5;
  return info;
}

Probe without(Presence presence, std::string reason) {
  return {.presence = presence, .reason = std::move(reason), .info = {}};
}

}  // namespace

Probe judge(const Sighting& seen) {
  if (seen.driver_status != cudaSuccess || seen.driver == 0) {
    return without(Presence::None, "no NVIDIA driver");
  }
  if (seen.driver / 1000 < seen.runtime / 1000 ||
      seen.count_status == cudaErrorInsufficientDriver) {
    return without(Presence::Unusable,
                   formatted("the driver supports CUDA {}, this build needs {}",
                             version_text(seen.driver), version_text(seen.runtime)));
  }
  if (seen.count_status == cudaErrorNoDevice ||
      (seen.count_status == cudaSuccess && seen.count == 0)) {
    return without(Presence::None, "a driver, but no CUDA device");
  }
  if (seen.count_status != cudaSuccess) {
    return without(Presence::Unusable,
                   formatted("the driver reports {}, {}", cudaGetErrorName(seen.count_status),
                             cudaGetErrorString(seen.count_status)));
  }
  if (seen.device < 0 || seen.device >= seen.count) {
    return without(Presence::None,
                   formatted("no device {}: there are {}", seen.device, seen.count));
  }
  if (seen.properties_status != cudaSuccess) {
    return without(Presence::Unusable, formatted("device {} reports {}", seen.device,
                                                 cudaGetErrorName(seen.properties_status)));
  }
  Probe found{.presence = Presence::Usable, .reason = {}, .info = seen.info};
  if (!found.info.features.has(Feature::Sm80)) {
    found.presence = Presence::Unusable;
    found.reason =
        formatted("{} has compute capability {}.{}, the kernels need 8.0", found.info.name,
                  found.info.compute_capability / 10, found.info.compute_capability % 10);
  }
  return found;
}

Probe probe(int device) {
  Sighting seen{.device = device, .runtime = CUDART_VERSION};
  seen.driver_status = cudaDriverGetVersion(&seen.driver);
  if (seen.driver_status == cudaSuccess && seen.driver != 0) {
    seen.count_status = cudaGetDeviceCount(&seen.count);
  }
  if (seen.count_status == cudaSuccess && device >= 0 && device < seen.count) {
    cudaDeviceProp properties;
    seen.properties_status = cudaGetDeviceProperties(&properties, device);
    if (seen.properties_status == cudaSuccess) seen.info = describe_device(properties, device);
  }
  (void)cudaGetLastError();
  return judge(seen);
}

bool is_built() noexcept {
  return true;
}

}  // namespace girih::inline v0::cuda
