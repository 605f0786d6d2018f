#include "support/backends.hpp"

#include <ostream>

#include "backends/cpu/device.hpp"
#include "backends/cuda/device.hpp"
#include "backends/metal/device.hpp"
#include "runtime/registry.hpp"
#include "support/expect.hpp"

namespace girih::inline v0::testing {

std::vector<Backend> tested_backends() {
  std::vector<Backend> backends = {Backend::Cpu};
  if (cuda::probe().presence == cuda::Presence::Usable) backends.push_back(Backend::Cuda);
  if (metal::probe().presence == metal::Presence::Usable) backends.push_back(Backend::Metal);
  return backends;
}

Runtime open(Backend backend, RuntimeOptions options) {
  options.backend = backend;
  return must(Runtime::open(options));
}

std::vector<UsableKernel> usable_kernels(Backend backend, Op op) {
  std::vector<UsableKernel> result;
  if (backend != Backend::Cpu) {
    const Features device = cuda::probe().info.features;
    for (const KernelInfo& row : kernels_of(backend)) {
      const bool usable = backend != Backend::Cuda || device.missing(row.needs).empty();
      if (usable && row.op == op) result.push_back({backend, row});
    }
    return result;
  }
  const DeviceInfo device = cpu::probe();
  const std::span<const KernelInfo> rows = cpu::kernel_table();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool usable = cpu::is_built(i) && device.features.missing(rows[i].needs).empty();
    if (usable && rows[i].op == op) result.push_back({backend, rows[i]});
  }
  return result;
}

void PrintTo(const UsableKernel& kernel, std::ostream* out) {
  *out << kernel.info.name;
}

std::vector<Lane> all_lanes() {
  std::vector<Lane> lanes;
  for (const Backend backend : tested_backends()) {
    for (const auto mode : {verify::Mode::Eager, verify::Mode::Captured, verify::Mode::Replayed}) {
      lanes.push_back({backend, mode});
    }
  }
  return lanes;
}

void PrintTo(const Lane& lane, std::ostream* out) {
  *out << name(lane.backend) << " " << name(lane.mode);
}

std::string lane_name(const ::testing::TestParamInfo<Lane>& info) {
  return std::string(name(info.param.backend)) + "_" + std::string(name(info.param.mode));
}

std::string backend_name(const ::testing::TestParamInfo<Backend>& info) {
  return std::string(name(info.param));
}

}  // namespace girih::inline v0::testing
