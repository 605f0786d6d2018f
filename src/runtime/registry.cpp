#include "runtime/registry.hpp"

#include "backends/cpu/device.hpp"
#include "core/error.hpp"

namespace girih::inline v0 {
namespace {

/// The backend that policy and options come to.
Result<Backend> resolve(const RuntimeOptions& options) noexcept {
  if (!options.backend) {
    switch (options.policy) {
      case Policy::Auto:
      case Policy::Cpu:
        return Backend::Cpu;
      case Policy::Accel:
        return error(Code::BackendUnavailable,
                     "policy accel: this build has no accelerator backend");
    }
    return error(Code::InvalidOption, "policy {} does not exist", static_cast<int>(options.policy));
  }
  switch (*options.backend) {
    case Backend::Cpu:
      return Backend::Cpu;
    case Backend::Metal:
    case Backend::Cuda:
    case Backend::Rocm:
      return error(Code::BackendUnavailable, "backend {}: not part of this build",
                   name(*options.backend));
    case Backend::None:
      break;
  }
  return error(Code::InvalidOption, "backend {} cannot be opened",
               static_cast<int>(*options.backend));
}

Result<std::shared_ptr<Executor>> executor_for(const RuntimeOptions& options,
                                               const Environment& environment) noexcept {
  if (options.executor) {
    if (options.executor->concurrency() >= 1) return options.executor;
    return error(Code::InvalidOption, "the executor's concurrency is {}, must be at least 1",
                 options.executor->concurrency());
  }
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return error(Code::InvalidOption, "threads is {}, must be 0..{}", options.threads, kMaxThreads);
  }
  return make_thread_pool(options.threads != 0 ? options.threads : environment.threads.value_or(0));
}

}  // namespace

Result<std::shared_ptr<Device>> open_device(const RuntimeOptions& options,
                                            const Environment& environment) noexcept {
  const Result<Backend> backend = resolve(options);
  if (!backend) return backend.error();
  const Result<std::shared_ptr<Executor>> executor = executor_for(options, environment);
  if (!executor) return executor.error();
  Result<std::unique_ptr<Device>> device = cpu::open(*executor);
  if (!device) return device.error();
  try {
    return std::shared_ptr<Device>(*std::move(device));
  } catch (...) {
    return error(Code::OutOfMemory, "no host memory to open a device");
  }
}

AcceleratorState probe_accelerator() noexcept {
  return {};
}

std::span<const KernelInfo> kernels_of(Backend backend) noexcept {
  return backend == Backend::Cpu ? cpu::kernel_table() : std::span<const KernelInfo>{};
}

std::string_view name(Backend backend) noexcept {
  switch (backend) {
    case Backend::Cpu:
      return "cpu";
    case Backend::Metal:
      return "metal";
    case Backend::Cuda:
      return "cuda";
    case Backend::Rocm:
      return "rocm";
    case Backend::None:
      return "none";
  }
  return "unknown_backend";
}

std::string_view name(Policy policy) noexcept {
  switch (policy) {
    case Policy::Auto:
      return "auto";
    case Policy::Accel:
      return "accel";
    case Policy::Cpu:
      return "cpu";
  }
  return "unknown_policy";
}

}  // namespace girih::inline v0
