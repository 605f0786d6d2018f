#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "backends/cuda/device.hpp"

namespace girih::inline v0::cuda {
namespace {

constexpr int kDevice = 0;

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, kDevice) != cudaSuccess) (void)cudaGetLastError();
  return value;
}

/// What the runtime knows of the device without making a context on it.
DeviceInfo describe_device(const cudaDeviceProp& properties) {
  constexpr double kKilo = 1e3;
  DeviceInfo info;
  info.backend = Backend::Cuda;
  info.name = properties.name;
  info.compute_capability = properties.major * 10 + properties.minor;
  if (info.compute_capability == 90) info.features.add(Feature::Sm90a);
  info.multiprocessors = properties.multiProcessorCount;
  info.clock_ghz = attribute(cudaDevAttrClockRate) * kKilo * 1e-9;
  info.l2_bytes = properties.l2CacheSize;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  // Two transfers a memory clock.
  info.memory_gb_per_s = 2.0 * attribute(cudaDevAttrMemoryClockRate) * kKilo *
                         attribute(cudaDevAttrGlobalMemoryBusWidth) / 8 * 1e-9;
  if (info.memory_gb_per_s <= 0) info.memory_gb_per_s = 1000;
  if (info.clock_ghz <= 0) info.clock_ghz = 1.5;
  return info;
}

Probe unavailable(Presence presence, std::string reason) {
  (void)cudaGetLastError();
  return {.presence = presence, .reason = std::move(reason), .info = {}};
}

}  // namespace

Probe probe() {
  // A driver that is missing and one that is too old give the same code later on; only the version
  // tells them apart.
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return unavailable(Presence::None, "no NVIDIA driver");
  }
  if (driver / 1000 < CUDART_VERSION / 1000) {
    return unavailable(Presence::Unusable,
                       fmt::format("the driver supports CUDA {}, this build needs {}",
                                   version_text(driver), version_text(CUDART_VERSION)));
  }
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted == cudaErrorNoDevice || (counted == cudaSuccess && count == 0)) {
    return unavailable(Presence::None, "a driver, but no CUDA device");
  }
  if (counted != cudaSuccess) {
    return unavailable(Presence::Unusable,
                       fmt::format("the driver reports {}, {}", cudaGetErrorName(counted),
                                   cudaGetErrorString(counted)));
  }
  cudaDeviceProp properties;
  if (const cudaError_t read = cudaGetDeviceProperties(&properties, kDevice); read != cudaSuccess) {
    return unavailable(Presence::Unusable,
                       fmt::format("device {} reports {}", kDevice, cudaGetErrorName(read)));
  }
  Probe found{.presence = Presence::Usable, .reason = {}, .info = describe_device(properties)};
  if (!found.info.features.has(Feature::Sm90a)) {
    found.presence = Presence::Unusable;
    found.reason = fmt::format("{} has compute capability {}.{}, the kernels need 9.0",
                               found.info.name, properties.major, properties.minor);
  }
  return found;
}

bool is_built() noexcept {
  return true;
}

}  // namespace girih::inline v0::cuda
