#include "backends/metal/pipelines.hpp"

#include <string_view>

#include "core/error.hpp"

namespace girih::inline v0::metal {

extern const char elementwise_source[], elementwise_mark[];
extern const char gemm_simdgroup_source[], gemm_simdgroup_mark[];
extern const char gemm_tensor_source[], gemm_tensor_mark[];

namespace {

struct Text {
  const char *source, *mark;
};
Text embedded_text(Family family) noexcept {
  switch (family) {
    case Family::Elementwise:
      return {elementwise_source, elementwise_mark};
    case Family::Simdgroup:
      return {gemm_simdgroup_source, gemm_simdgroup_mark};
    case Family::TensorOps:
      break;
  }
  return {gemm_tensor_source, gemm_tensor_mark};
}

bool has_function(id library, std::string_view name) {
  const id names = library::function_names(library);
  for (UInt i = 0; i < array::count(names); ++i) {
    if (from_string(array::at(names, i)) == name) return true;
  }
  return false;
}

}  // namespace

const char* source_of(Family family) noexcept {
  return embedded_text(family).source;
}

const char* mark_of(Family family) noexcept {
  return embedded_text(family).mark;
}

Status Pipelines::start(id device, const std::string& prebuilt,
                        std::span<const std::byte> embedded) noexcept try {
  device_ = device;
  prebuilt_ = prebuilt;
  embedded_ = embedded;
  id failure = nullptr;
  const Ref descriptor = make("MTL4CompilerDescriptor");
  compiler_ = Ref(device::new_compiler(device, descriptor.get(), &failure));
  if (compiler_) return {};
  return error(Code::BackendUnavailable, "no shader compiler: {}", describe(failure));
} catch (...) {
  return error(Code::OutOfMemory, "no host memory for kernels");
}

Pipelines::Compiled Pipelines::load(Family family) const {
  id failure = nullptr;
  Compiled compiled;
  const std::string name = prebuilt_.empty() ? "the metallib built with girih" : prebuilt_;
  if (prebuilt_.empty()) {
    const Ref data(dispatch_data_create(embedded_.data(), embedded_.size(), nullptr, nullptr));
    compiled.library = Ref(device::load_library_data(device_, data.get(), &failure));
  } else {
    const id url = url::of_file(objc_lookUpClass("NSURL"), to_string(prebuilt_.c_str()));
    compiled.library = Ref(device::load_library(device_, url, &failure));
  }
  if (!compiled.library) {
    compiled.failure = name + ": " + describe(failure);
  } else if (!has_function(compiled.library.get(), mark_of(family))) {
    compiled.library = Ref();
    compiled.failure =
        name + ": made of other kernels than this girih's: it has no " + mark_of(family);
  }
  return compiled;
}

Pipelines::Compiled Pipelines::compile(const char* text) const {
  const Ref options = make("MTLCompileOptions");
  // The tensor headers expand to nothing under the default, older version.
  compile_options::set_language_version(options.get(), kLanguageMsl4);
  compile_options::set_math_mode(options.get(), kMathSafe);
  const Ref descriptor = make("MTL4LibraryDescriptor");
  library_descriptor::set_source(descriptor.get(), to_string(text));
  library_descriptor::set_options(descriptor.get(), options.get());
  id failure = nullptr;
  Compiled compiled;
  compiled.library = Ref(compiler::new_library(compiler_.get(), descriptor.get(), &failure));
  if (!compiled.library) compiled.failure = text_of(failure);
  return compiled;
}

Ref Pipelines::make_pipeline(id library, id name, bool reflects, std::string& failure) const {
  const Ref target = make("MTL4LibraryFunctionDescriptor");
  function_descriptor::set_library(target.get(), library);
  function_descriptor::set_name(target.get(), name);
  const Ref descriptor = make("MTL4ComputePipelineDescriptor");
  pipeline_descriptor::set_function(descriptor.get(), target.get());
  const Ref options = make("MTL4PipelineOptions");
  pipeline_options::set_reflection(options.get(), reflects ? kReflectsBindings : 0);
  if (reflects) pipeline_descriptor::set_options(descriptor.get(), options.get());
  id reason = nullptr;
  Ref made(compiler::new_pipeline(compiler_.get(), descriptor.get(), nullptr, &reason));
  if (!made) failure = text_of(reason);
  return made;
}

Result<id> Pipelines::library(Family family) {
  Library& library = libraries_[static_cast<std::size_t>(family)];
  if (!library.object && library.failure.empty()) {
    Compiled compiled = compiles() ? compile(source_of(family)) : load(family);
    library.object = std::move(compiled.library);
    library.failure = first_error(compiled.failure);
  }
  if (library.object) return library.object.get();
  return error(Code::BackendUnavailable, "the kernels do not {}: {}",
               compiles() ? "compile" : "load", library.failure);
}

Result<id> Pipelines::find(const Launch& launch) noexcept try {
  if (launch.pipeline != nullptr) return launch.pipeline;
  if (const auto known = pipelines_.find(launch.function); known != pipelines_.end()) {
    return known->second.get();
  }
  const Pool pool;
  const Result<id> compiled = library(launch.family);
  if (!compiled) return compiled.error();
  std::string failure;
  Ref made = make_pipeline(*compiled, to_string(launch.function), false, failure);
  if (!made) {
    return error(Code::BackendUnavailable, "no pipeline for {}: {}", launch.function,
                 first_error(failure));
  }
  return pipelines_.emplace(launch.function, std::move(made)).first->second.get();
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to compile {}", launch.function);
}

}  // namespace girih::inline v0::metal
