#include "girih/show_plan.hpp"

#include <cstdio>

#include "core/environment.hpp"
#include "core/error.hpp"
#include "girih/commands.hpp"
#include "girih/print.hpp"
#include "runtime/registry.hpp"

namespace girih::cli {
namespace {

using Explain = std::function<Result<Plan>(const SelectionContext&)>;

Result<Plan> explain_for_fixture(const ProductOptions& options, const std::string& name,
                                 const Explain& explain) {
  const DeviceInfo* const device = find_fixture(name);
  if (device == nullptr) {
    return error(Code::InvalidOption, "device {} is not known; known are {}", name,
                 fixture_names());
  }
  if (options.backend && *options.backend != device->backend) {
    return error(Code::InvalidOption, "device {} is of backend {}, not {}", name,
                 girih::name(device->backend), girih::name(*options.backend));
  }
  const Result<Environment> environment = read_environment();
  if (!environment) return environment.error();
  const int threads = thread_count(options);
  return explain({.device = device,
                  .kernels = kernels_of(device->backend),
                  .threads = threads > 0 ? threads : device->cores,
                  .forced_kernel = environment->force_kernel});
}

Result<Plan> explain_for_this_machine(const ProductOptions& options, const Explain& explain) {
  const Result<Environment> environment = read_environment();
  if (!environment) return environment.error();
  const auto device =
      open_device({.backend = options.backend, .threads = thread_count(options)}, *environment);
  if (!device) return device.error();
  return explain({.device = &(*device)->info(),
                  .kernels = (*device)->kernels(),
                  .threads = (*device)->threads(),
                  .forced_kernel = environment->force_kernel});
}

}  // namespace

std::string fixture_names() {
  std::string names;
  for (const DeviceInfo& fixture : device_fixtures()) {
    if (!names.empty()) names += ", ";
    names += fixture.name;
  }
  return names;
}

Result<int> show_plan(const ProductOptions& options, const std::string& device,
                      const Explain& explain) {
  const Result<Plan> plan = device.empty() ? explain_for_this_machine(options, explain)
                                           : explain_for_fixture(options, device, explain);
  if (!plan) return plan.error();
  if (options.json) {
    print_json(to_json(*plan));
  } else {
    std::fputs(plan->to_string().c_str(), stdout);
  }
  return kDone;
}

}  // namespace girih::cli
