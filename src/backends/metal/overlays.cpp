#include "backends/metal/overlays.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/checked.hpp"
#include "core/error.hpp"

namespace girih::inline v0::metal {
namespace {

/// The text of an image, whose bytes may end anywhere.
Result<std::string> read_text(const KernelImage& image) {
  if (image.path.empty()) {
    return std::string(reinterpret_cast<const char*>(image.image.data()), image.image.size());
  }
  std::ifstream file(image.path, std::ios::binary);
  if (!file) return error(Code::FileNotFound, "add_kernels: cannot read '{}'", image.path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Multiples that Metal takes for the memory of a threadgroup.
constexpr std::uint32_t kThreadgroupUnit = 16;

/// What a launch may ask for, if the kernel declares [[threadgroup(0)]].
Status read_threadgroup_memory(id device, id pipeline, UInt index, ForeignKernel& kernel) {
  if (index != 0) {
    return error(Code::FileUnsupported,
                 "add_kernels: {} has [[threadgroup({})]], a launch gives [[threadgroup(0)]] alone",
                 kernel.name, index);
  }
  const UInt all = device::threadgroup_memory(device);
  const UInt own = std::min(pipeline::own_threadgroup_memory(pipeline), all);
  kernel.least_shared_bytes = 1;
  kernel.most_shared_bytes =
      static_cast<std::uint32_t>((all - own) / kThreadgroupUnit * kThreadgroupUnit);
  return {};
}

/// Bytes of each parameter by its buffer's index: of what a pointer points to, of what a reference
/// refers to. FileUnsupported if an index is left out, or beyond what is bound.
Status read_parameters(id device, id pipeline, ForeignKernel& kernel) {
  const id bindings = reflection::bindings(pipeline::reflection(pipeline));
  for (UInt i = 0; i < array::count(bindings); ++i) {
    const id binding = array::at(bindings, i);
    const UInt index = binding::index(binding);
    if (binding::type(binding) == kThreadgroupBinding) {
      GIRIH_TRY(read_threadgroup_memory(device, pipeline, index, kernel));
      continue;
    }
    if (binding::type(binding) != kBufferBinding) {
      return error(Code::FileUnsupported, "add_kernels: {} binds what is no buffer", kernel.name);
    }
    if (index >= Launch::kMostBuffers) {
      return error(Code::FileUnsupported, "add_kernels: {} binds buffer {}, at most {}",
                   kernel.name, index, Launch::kMostBuffers - 1);
    }
    if (index >= kernel.parameters.size()) kernel.parameters.resize(index + 1);
    kernel.parameters[index] = binding::buffer_bytes(binding);
  }
  const auto missing = std::ranges::find(kernel.parameters, std::size_t{0});
  if (missing == kernel.parameters.end()) return {};
  return error(Code::FileUnsupported, "add_kernels: {} has no buffer {}, but a later one",
               kernel.name, missing - kernel.parameters.begin());
}

}  // namespace

const ForeignKernel* Overlays::find(std::string_view name) const noexcept {
  for (const Added& added : added_) {
    if (added.kernel.name == name) return &added.kernel;
  }
  return nullptr;
}

Result<std::list<Overlays::Added>> Overlays::kernels_of(id library) const {
  const id names = library::function_names(library);
  std::list<Added> kernels;
  for (UInt i = 0; i < array::count(names); ++i) {
    Added& added = kernels.emplace_back();
    added.kernel.name = from_string(array::at(names, i));
    std::string failure;
    added.pipeline = pipelines_.make_pipeline(library, array::at(names, i), true, failure);
    if (!added.pipeline) {
      return error(Code::FileFormat, "add_kernels: no pipeline for {}: {}", added.kernel.name,
                   failure);
    }
    added.kernel.function = added.pipeline.get();
    added.kernel.binds_tensors = true;
    added.kernel.most_cluster = 1;
    added.kernel.most_threads =
        static_cast<std::uint32_t>(pipeline::most_threads(added.pipeline.get()));
    GIRIH_TRY(read_parameters(pipelines_.device(), added.pipeline.get(), added.kernel));
  }
  if (kernels.empty()) return error(Code::FileFormat, "add_kernels: the text has no kernel");
  return kernels;
}

Result<std::vector<std::string>> Overlays::add(const KernelImage& image,
                                               std::span<const KernelInfo> own) noexcept try {
  const Pool pool;
  Result<std::string> text = read_text(image);
  if (!text) return text.error();
  text->erase(text->find_last_not_of('\0') + 1);  // C's end of a string
  if (const std::size_t zero = text->find('\0'); zero != std::string::npos) {
    return error(Code::FileFormat, "add_kernels: byte {} of the text is 0", zero);
  }
  const Pipelines::Compiled compiled = pipelines_.compile(text->c_str());
  if (!compiled.library) {
    return error(Code::FileFormat, "add_kernels: {}", compiled.failure);
  }
  Result<std::list<Added>> kernels = kernels_of(compiled.library.get());
  if (!kernels) return kernels.error();
  std::vector<std::string> names;
  for (const Added& added : *kernels) {
    GIRIH_TRY(check_name(added.kernel.name, own, find(added.kernel.name) != nullptr));
    names.push_back(added.kernel.name);
  }
  added_.splice(added_.end(), *kernels);  // a pipeline keeps what it needs of its library
  return names;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory for kernels");
}

Status lower(const KernelCall& call, LaunchSink& sink) noexcept {
  std::array<std::byte, Launch::kMostBuffers * KernelArgument::kMaxBytes> values;
  Launch launch;
  launch.pipeline = const_cast<void*>(call.kernel->function);
  launch.function = call.kernel->name.c_str();
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto& bytes = call.arguments[i];
    if (call.is_tensor[i]) {
      std::memcpy(&launch.buffers[i], bytes.data(), sizeof(launch.buffers[i]));
      launch.written |= 1U << i;  // for all that is known
    } else {
      std::memcpy(values.data() + i * KernelArgument::kMaxBytes, bytes.data(), bytes.size());
      launch.values |= 1U << i;
    }
  }
  launch.buffer_count = static_cast<int>(call.arguments.size());
  launch.parameters = values.data();
  launch.parameter_bytes = call.arguments.size() * KernelArgument::kMaxBytes;
  launch.threadgroups = {call.grid.x, call.grid.y, call.grid.z};
  launch.threads = {call.block.x, call.block.y, call.block.z};
  launch.threadgroup_bytes = static_cast<UInt>(round_up(call.shared_bytes, kThreadgroupUnit));
  return sink.add(launch);
}

}  // namespace girih::inline v0::metal
