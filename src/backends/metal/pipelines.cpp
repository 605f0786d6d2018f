#include "backends/metal/pipelines.hpp"

#include "core/error.hpp"

namespace girih::inline v0::metal {

extern const char elementwise_source[];
extern const char gemm_simdgroup_source[];
extern const char gemm_tensor_source[];

const char* source_of(Family family) noexcept {
  switch (family) {
    case Family::Elementwise:
      return elementwise_source;
    case Family::Simdgroup:
      return gemm_simdgroup_source;
    case Family::TensorOps:
      break;
  }
  return gemm_tensor_source;
}

Status Pipelines::start(id device) noexcept {
  id failure = nullptr;
  const Ref descriptor = make("MTL4CompilerDescriptor");
  compiler_ = Ref(device::new_compiler(device, descriptor.get(), &failure));
  if (compiler_) return {};
  return error(Code::BackendUnavailable, "no shader compiler: {}", describe(failure));
}

Result<id> Pipelines::library(Family family) {
  Library& library = libraries_[static_cast<std::size_t>(family)];
  if (!library.object && library.failure.empty()) {
    const Ref options = make("MTLCompileOptions");
    // The tensor headers expand to nothing under the default, older version.
    compile_options::set_language_version(options.get(), kLanguage4_0);
    compile_options::set_math_mode(options.get(), kMathSafe);
    const Ref descriptor = make("MTL4LibraryDescriptor");
    library_descriptor::set_source(descriptor.get(), to_string(source_of(family)));
    library_descriptor::set_options(descriptor.get(), options.get());
    id failure = nullptr;
    library.object = Ref(compiler::new_library(compiler_.get(), descriptor.get(), &failure));
    if (!library.object) library.failure = describe(failure);
  }
  if (library.object) return library.object.get();
  return error(Code::BackendUnavailable, "the kernels do not compile: {}", library.failure);
}

Result<id> Pipelines::find(Family family, const char* function) noexcept try {
  if (const auto known = pipelines_.find(function); known != pipelines_.end()) {
    return known->second.get();
  }
  const Pool pool;
  const Result<id> compiled = library(family);
  if (!compiled) return compiled.error();
  const Ref target = make("MTL4LibraryFunctionDescriptor");
  function_descriptor::set_library(target.get(), *compiled);
  function_descriptor::set_name(target.get(), to_string(function));
  const Ref descriptor = make("MTL4ComputePipelineDescriptor");
  pipeline_descriptor::set_function(descriptor.get(), target.get());
  id failure = nullptr;
  Ref made(compiler::new_pipeline(compiler_.get(), descriptor.get(), nullptr, &failure));
  if (!made) {
    return error(Code::BackendUnavailable, "no pipeline for {}: {}", function, describe(failure));
  }
  return pipelines_.emplace(function, std::move(made)).first->second.get();
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to compile {}", function);
}

}  // namespace girih::inline v0::metal
