#include <girih/overlay.hpp>

#include "core/error.hpp"
#include "core/format.hpp"
#include "runtime/state.hpp"

namespace girih::inline v0 {

using detail::Entry;
using detail::RuntimeAccess;
using detail::RuntimeState;
using detail::TensorAccess;

namespace {

/// For extents that were each found small.
std::uint64_t volume(const LaunchExtents& extents) noexcept {
  return std::uint64_t{extents.x} * extents.y * extents.z;
}

Status check_grid(const KernelDesc& desc, std::uint32_t most_blocks) noexcept {
  constexpr std::uint32_t kMostX = 0x7FFF'FFFF, kMostYZ = 65535;
  const LaunchExtents& grid = desc.grid;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > kMostX || grid.y > kMostYZ ||
      grid.z > kMostYZ) {
    return error(Code::InvalidOption, "{}: a grid of {} x {} x {}, must be 1..{} x 1..{} x 1..{}",
                 desc.kernel, grid.x, grid.y, grid.z, kMostX, kMostYZ, kMostYZ);
  }
  const LaunchExtents& cluster = desc.cluster;
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0 || cluster.x > most_blocks ||
      cluster.y > most_blocks || cluster.z > most_blocks || volume(cluster) > most_blocks ||
      grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    return error(Code::InvalidOption,
                 "{}: clusters of {} x {} x {} blocks, must be 1..{} in all and divide the grid",
                 desc.kernel, cluster.x, cluster.y, cluster.z, most_blocks);
  }
  return {};
}

Status check_block(const KernelDesc& desc, const ForeignKernel& kernel) noexcept {
  const LaunchExtents& block = desc.block;
  const bool fits = block.x <= kernel.most_threads && block.y <= kernel.most_threads &&
                    block.z <= kernel.most_threads && volume(block) <= kernel.most_threads;
  if (!fits || volume(block) == 0) {
    return error(Code::InvalidOption, "{}: a block of {} x {} x {}, must be 1..{} threads in all",
                 desc.kernel, block.x, block.y, block.z, kernel.most_threads);
  }
  if (desc.shared_bytes < kernel.least_shared_bytes ||
      desc.shared_bytes > kernel.most_shared_bytes) {
    return error(Code::InvalidOption, "{}: {} bytes of shared memory, must be {}..{}", desc.kernel,
                 desc.shared_bytes, kernel.least_shared_bytes, kernel.most_shared_bytes);
  }
  return {};
}

Status check_arguments(const KernelDesc& desc, const ForeignKernel& kernel,
                       const CheckContext& context) {
  if (desc.arguments.size() != kernel.parameters.size()) {
    return error(Code::InvalidOption, "{}: {} arguments, the kernel takes {}", desc.kernel,
                 desc.arguments.size(), kernel.parameters.size());
  }
  for (std::size_t i = 0; i < desc.arguments.size(); ++i) {
    const KernelArgument& argument = desc.arguments[i];
    const bool fits_any = argument.is_tensor() && kernel.binds_tensors;
    if (!fits_any && argument.value().size() != kernel.parameters[i]) {
      return error(Code::InvalidOption, "{}: argument {} has {} bytes, the kernel takes {}",
                   desc.kernel, i, argument.value().size(), kernel.parameters[i]);
    }
    if (argument.is_tensor()) {
      GIRIH_TRY(check_tensor(argument.tensor(), context, formatted("argument {}", i)));
    }
  }
  return {};
}

KernelCall bind(const KernelDesc& desc, const ForeignKernel& kernel) {
  KernelCall call{.kernel = &kernel,
                  .grid = desc.grid,
                  .block = desc.block,
                  .cluster = desc.cluster,
                  .shared_bytes = desc.shared_bytes,
                  .arguments = {},
                  .is_tensor = {}};
  for (const KernelArgument& argument : desc.arguments) {
    auto& bytes = call.arguments.emplace_back();
    call.is_tensor.push_back(argument.is_tensor());
    if (argument.is_tensor()) {
      const std::byte* const address = TensorAccess::address(argument.tensor());
      std::memcpy(bytes.data(), &address, sizeof(address));
    } else {
      std::memcpy(bytes.data(), argument.value().data(), argument.value().size());
    }
  }
  return call;
}

}  // namespace

Result<std::vector<std::string>> add_kernels(Runtime& runtime, const KernelImage& image) noexcept {
  const Result<Entry> entry =
      Entry::enter_uncaptured(RuntimeAccess::shared(runtime).get(), "add_kernels");
  if (!entry) return entry.error();
  if (image.image.empty() == image.path.empty()) {
    return error(Code::InvalidOption, "add_kernels: {}, either one is needed",
                 image.path.empty() ? "neither bytes nor a file" : "bytes and a file");
  }
  return RuntimeAccess::shared(runtime)->device().add_kernels(image);
}

Status launch(Runtime& runtime, const KernelDesc& desc) noexcept try {
  const Result<Entry> entry = Entry::enter(RuntimeAccess::shared(runtime).get());
  if (!entry) return entry.error();
  RuntimeState& state = *RuntimeAccess::shared(runtime);
  const ForeignKernel* const kernel = state.device().find_kernel(desc.kernel);
  if (kernel == nullptr) {
    return error(Code::InvalidOption, "launch: no kernel '{}' was added to this runtime",
                 desc.kernel);
  }
  GIRIH_TRY(check_grid(desc, kernel->most_cluster));
  GIRIH_TRY(check_block(desc, *kernel));
  GIRIH_TRY(check_arguments(desc, *kernel, state.check_context()));
  KernelCall call = bind(desc, *kernel);
  std::vector<const Tensor*> tensors;
  for (const KernelArgument& argument : desc.arguments) {
    if (argument.is_tensor()) tensors.push_back(&argument.tensor());
  }
  return state.dispatch(call, tensors);
} catch (...) {
  return error(Code::OutOfMemory, "no host memory for a launch");
}

}  // namespace girih::inline v0
