#include "runtime/registry.hpp"

#include "backends/cpu/device.hpp"
#include "backends/cuda/device.hpp"
#include "backends/metal/device.hpp"
#include "core/error.hpp"

namespace girih::inline v0 {
namespace {

bool has_cuda() {
  return cuda::probe().presence == cuda::Presence::Usable;
}
bool has_metal() {
  return metal::probe().presence == metal::Presence::Usable;
}

/// Why policy accel cannot be followed.
std::string accelerator_reason() {
  if (cuda::is_built()) return cuda::probe().reason;
  if (metal::is_built()) return metal::probe().reason;
  return "this build has no accelerator backend";
}

/// The backend that policy and options come to.
Result<Backend> resolve(const RuntimeOptions& options) noexcept try {
  if (!options.backend) {
    switch (options.policy) {
      case Policy::Cpu:
        return Backend::Cpu;
      case Policy::Auto:
        return has_cuda() ? Backend::Cuda : has_metal() ? Backend::Metal : Backend::Cpu;
      case Policy::Accel:
        if (has_cuda()) return Backend::Cuda;
        if (has_metal()) return Backend::Metal;
        return error(Code::BackendUnavailable, "policy accel: {}", accelerator_reason());
    }
    return error(Code::InvalidOption, "policy {} does not exist", static_cast<int>(options.policy));
  }
  switch (*options.backend) {
    case Backend::Cpu:
    case Backend::Cuda:  // these say themselves what is in the way
    case Backend::Metal:
      return *options.backend;
    case Backend::Rocm:
      return error(Code::BackendUnavailable, "backend {}: not part of this build",
                   name(*options.backend));
    case Backend::None:
      break;
  }
  return error(Code::InvalidOption, "backend {} cannot be opened",
               static_cast<int>(*options.backend));
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to look for devices");
}

/// Options of the CPU's loops are checked whatever the backend, so that a wrong one is found early.
Status check_threads(const RuntimeOptions& options) noexcept {
  if (options.executor && options.executor->concurrency() < 1) {
    return error(Code::InvalidOption, "the executor's concurrency is {}, must be at least 1",
                 options.executor->concurrency());
  }
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return error(Code::InvalidOption, "threads is {}, must be 0..{}", options.threads, kMaxThreads);
  }
  return {};
}

/// Objects of another backend would be ignored: an error instead.
Status check_handles(Backend backend, const RuntimeOptions& options) noexcept {
  if (options.cuda && backend != Backend::Cuda) {
    return error(Code::InvalidOption, "options.cuda: backend {} takes no CUDA handles",
                 name(backend));
  }
  if (options.metal && backend != Backend::Metal) {
    return error(Code::InvalidOption, "options.metal: backend {} takes no Metal handles",
                 name(backend));
  }
  if (options.allocator.allocate != nullptr && backend == Backend::Metal) {
    return error(Code::BackendLacks, "options.allocator: backend {} takes no allocator",
                 name(backend));
  }
  if ((options.allocator.allocate == nullptr) != (options.allocator.release == nullptr)) {
    return error(Code::InvalidOption, "options.allocator: {} is missing, both are needed",
                 options.allocator.allocate == nullptr ? "allocate" : "release");
  }
  return {};
}

Result<std::shared_ptr<Executor>> executor_for(const RuntimeOptions& options,
                                               const Environment& environment) noexcept {
  if (options.executor) return options.executor;
  return make_thread_pool(options.threads != 0 ? options.threads : environment.threads.value_or(0));
}

Result<std::unique_ptr<Device>> open_backend(Backend backend, const RuntimeOptions& options,
                                             const Environment& environment) noexcept {
  if (backend == Backend::Cuda) return cuda::open(options.cuda);
  if (backend == Backend::Metal) return metal::open(options.metal);
  const Result<std::shared_ptr<Executor>> executor = executor_for(options, environment);
  if (!executor) return executor.error();
  return cpu::open(*executor);
}

}  // namespace

Result<std::shared_ptr<Device>> open_device(const RuntimeOptions& options,
                                            const Environment& environment) noexcept {
  const Result<Backend> backend = resolve(options);
  if (!backend) return backend.error();
  GIRIH_TRY(check_threads(options));
  GIRIH_TRY(check_handles(*backend, options));
  Result<std::unique_ptr<Device>> device = open_backend(*backend, options, environment);
  if (!device) return device.error();
  try {
    return std::shared_ptr<Device>(*std::move(device));
  } catch (...) {
    return error(Code::OutOfMemory, "no host memory to open a device");
  }
}

AcceleratorState probe_accelerator() noexcept {
  AcceleratorState state;
  state.is_built = cuda::is_built() || metal::is_built();
  if (!state.is_built) return state;
  const auto note = [&state](const auto& found, Backend backend) {
    using Presence = decltype(found.presence);
    const bool is_usable = found.presence == Presence::Usable;
    if (!is_usable && found.presence != Presence::Unusable) return;
    if (state.is_usable) return;
    state.is_present = true;
    state.is_usable = is_usable;
    state.backend = backend;
    state.name = found.info.name;
  };
  try {
    note(cuda::probe(), Backend::Cuda);
    note(metal::probe(), Backend::Metal);
  } catch (...) {  // no memory for a name: nothing is known, which is what the state says
  }
  return state;
}

std::span<const KernelInfo> kernels_of(Backend backend) noexcept {
  switch (backend) {
    case Backend::Cpu:
      return cpu::kernel_table();
    case Backend::Cuda:
      return cuda::kernel_table();
    case Backend::Metal:
      return metal::kernel_table();
    default:
      return {};
  }
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
