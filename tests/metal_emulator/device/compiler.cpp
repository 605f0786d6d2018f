#include "device/compiler.hpp"

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "device/control.hpp"

namespace girih::inline v0::emulator {
namespace {

std::map<std::string, std::string>& failing_libraries() noexcept {
  static std::map<std::string, std::string> all;
  return all;
}
std::map<std::string, std::string>& failing_pipelines() noexcept {
  static std::map<std::string, std::string> all;
  return all;
}

struct CompilerDescriptor final : Object {
  CompilerDescriptor() noexcept : Object("MTL4CompilerDescriptor") {}
};
struct Compiler final : Object {
  Compiler() noexcept : Object("MTL4Compiler") {}
};
struct CompileOptions final : Object {
  CompileOptions() noexcept : Object("MTLCompileOptions") {}
  unsigned long language = 0;
};
struct LibraryDescriptor final : Object {
  LibraryDescriptor() noexcept : Object("MTL4LibraryDescriptor") {}
  void finish() override {
    source = {};
    options = {};
  }
  Held<String> source;
  Held<CompileOptions> options;
};
struct CompiledLibrary final : Object {
  CompiledLibrary() noexcept : Object("MTLLibrary") {}
  [[nodiscard]] const Kernel* find(std::string_view name) const noexcept {
    for (const Library* const part : parts) {
      if (const Kernel* const kernel = find_kernel(*part, name)) return kernel;
    }
    return nullptr;
  }
  std::vector<const Library*> parts;  ///< one, of compiled text
  std::string absent;                 ///< functions whose names begin so, as of an older text
};
struct FunctionDescriptor final : Object {
  FunctionDescriptor() noexcept : Object("MTL4LibraryFunctionDescriptor") {}
  void finish() override {
    library = {};
    name = {};
  }
  Held<CompiledLibrary> library;
  Held<String> name;
};
struct PipelineOptions final : Object {
  PipelineOptions() noexcept : Object("MTL4PipelineOptions") {}
  unsigned long reflection = 0;
};
struct Array final : Object {
  Array() noexcept : Object("NSArray") {}
  void finish() override {
    for (Object* const element : elements) element->release();
  }
  std::vector<Object*> elements;  ///< owned
};
struct BindingInfo final : Object {
  explicit BindingInfo(const BufferBinding& what)
      : Object(what.is_threadgroup ? "MTLThreadgroupBinding" : "MTLBufferBinding"), binding(what) {}
  const BufferBinding binding;
};
struct Reflection final : Object {
  explicit Reflection(const Kernel& of) : Object("MTLComputePipelineReflection"), kernel(of) {}
  const Kernel& kernel;
};
struct PipelineDescriptor final : Object {
  PipelineDescriptor() noexcept : Object("MTL4ComputePipelineDescriptor") {}
  void finish() override {
    function = {};
    options = {};
  }
  Held<FunctionDescriptor> function;
  Held<PipelineOptions> options;
  bool is_indirect = false;
};

GIRIH_CLASS("MTL4CompilerDescriptor", CompilerDescriptor);
GIRIH_CLASS("MTLCompileOptions", CompileOptions);
GIRIH_CLASS("MTL4LibraryDescriptor", LibraryDescriptor);
GIRIH_CLASS("MTL4LibraryFunctionDescriptor", FunctionDescriptor);
GIRIH_CLASS("MTL4ComputePipelineDescriptor", PipelineDescriptor);
GIRIH_METHOD("MTLCompileOptions",
             "setLanguageVersion:", [](CompileOptions* self, Selector, unsigned long version) {
               self->language = version;
             });
GIRIH_METHOD("MTLCompileOptions", "setMathMode:", [](Object*, Selector, long mode) {
  if (mode != 0) misuse("a math mode that the emulator does not have");
});
GIRIH_METHOD("MTL4LibraryDescriptor", "setSource:",
             [](LibraryDescriptor* self, Selector, String* text) { self->source = text; });
GIRIH_METHOD("MTL4LibraryDescriptor",
             "setOptions:", [](LibraryDescriptor* self, Selector, CompileOptions* options) {
               self->options = options;
             });
GIRIH_METHOD("MTL4LibraryFunctionDescriptor",
             "setLibrary:", [](FunctionDescriptor* self, Selector, CompiledLibrary* library) {
               self->library = library;
             });
GIRIH_METHOD("MTL4LibraryFunctionDescriptor", "setName:",
             [](FunctionDescriptor* self, Selector, String* name) { self->name = name; });
GIRIH_METHOD("MTL4ComputePipelineDescriptor", "setComputeFunctionDescriptor:",
             [](PipelineDescriptor* self, Selector, FunctionDescriptor* function) {
               self->function = function;
             });

GIRIH_CLASS("MTL4PipelineOptions", PipelineOptions);
GIRIH_METHOD("MTL4PipelineOptions", "setShaderReflection:",
             [](PipelineOptions* self, Selector, unsigned long what) { self->reflection = what; });
GIRIH_METHOD("MTL4ComputePipelineDescriptor",
             "setOptions:", [](PipelineDescriptor* self, Selector, PipelineOptions* options) {
               self->options = options;
             });
GIRIH_METHOD("NSArray", "count",
             [](Array* self, Selector) -> unsigned long { return self->elements.size(); });
GIRIH_METHOD("NSArray",
             "objectAtIndex:", [](Array* self, Selector, unsigned long index) -> Object* {
               if (index < self->elements.size()) return self->elements[index];
               misuse("an index past an NSArray");
               return nullptr;
             });
GIRIH_METHOD("MTLLibrary", "functionNames", [](CompiledLibrary* self, Selector) -> Object* {
  Array* const names = create<Array>();
  for (const Library* const part : self->parts) {
    for (std::size_t i = 0; i < part->kernel_count; ++i) {
      const std::string name = part->kernels[i].name;
      if (!self->absent.empty() && name.starts_with(self->absent)) continue;
      names->elements.push_back(create<String>(name));
    }
  }
  return autoreleased(names);
});
GIRIH_METHOD("MTLComputePipelineState", "reflection", [](Pipeline* self, Selector) -> Object* {
  if (self->reflects) return autoreleased(create<Reflection>(self->kernel));
  misuse("the reflection of a pipeline that was made without");
  return nullptr;
});
GIRIH_METHOD("MTLComputePipelineReflection", "bindings", [](Reflection* self, Selector) -> Object* {
  Array* const all = create<Array>();
  for (std::size_t i = 0; i < self->kernel.binding_count; ++i) {
    const BufferBinding& binding = self->kernel.bindings[i];
    if (binding.bytes > 0) all->elements.push_back(create<BindingInfo>(binding));
  }
  return autoreleased(all);
});
GIRIH_METHOD("MTLBufferBinding", "index",
             [](BindingInfo* self, Selector) -> unsigned long { return self->binding.index; });
GIRIH_METHOD("MTLBufferBinding", "type", [](Object*, Selector) -> long { return 0; });
GIRIH_METHOD("MTLThreadgroupBinding", "index",
             [](BindingInfo* self, Selector) -> unsigned long { return self->binding.index; });
GIRIH_METHOD("MTLThreadgroupBinding", "type", [](Object*, Selector) -> long { return 1; });
GIRIH_METHOD("MTLBufferBinding", "bufferDataSize",
             [](BindingInfo* self, Selector) -> unsigned long { return self->binding.bytes; });

GIRIH_METHOD("MTL4ComputePipelineDescriptor", "setSupportIndirectCommandBuffers:",
             [](PipelineDescriptor* self, Selector, long support) {
               constexpr long kEnabled = 1;
               self->is_indirect = support == kEnabled;
             });

GIRIH_METHOD("MTLDevice", "newCompilerWithDescriptor:error:",
             [](Object*, Selector, Object*, Object**) -> Object* { return create<Compiler>(); });

Object* new_library(Object*, Selector, LibraryDescriptor* descriptor, Object** failure) {
  if (!descriptor->source) return fail_with(failure, "no source");
  const unsigned long language = descriptor->options ? descriptor->options->language : 0;
  if (language < (4UL << 16)) {
    return fail_with(failure, "error: no member named 'matmul2d': the language is older than 4.0");
  }
  const Library* const library = find_library(descriptor->source->text);
  if (library == nullptr) return fail_with(failure, "error: this source was not built in");
  const auto failing = failing_libraries().find(library->name);
  if (failing != failing_libraries().end()) return fail_with(failure, failing->second);
  auto* const compiled = create<CompiledLibrary>();
  compiled->parts = {library};
  return compiled;
}
GIRIH_METHOD("MTL4Compiler", "newLibraryWithDescriptor:error:", &new_library);

struct Url final : Object {
  explicit Url(std::string value) : Object("NSURL"), path(std::move(value)) {}
  const std::string path;
};
GIRIH_METHOD("+NSURL", "fileURLWithPath:", [](Object*, Selector, String* path) -> Object* {
  return autoreleased(create<Url>(path->text));
});
/// A metallib of the emulator: the magic number, then names of the libraries that it holds; -name
/// leaves functions out.
Object* read_library(std::istream& file, Object** failure) {
  std::string word;
  if (!(file >> word) || word != "MTLB") return fail_with(failure, "invalid library file");
  auto* const loaded = create<CompiledLibrary>();
  while (file >> word) {
    if (word[0] == '-') loaded->absent = word.substr(1);
    if (const Library* const part = find_library_named(word)) loaded->parts.push_back(part);
  }
  return loaded;
}
Object* load_library(Object*, Selector, Url* url, Object** failure) {
  std::ifstream file(url->path, std::ios::binary);
  return file ? read_library(file, failure) : fail_with(failure, "library not found");
}
GIRIH_METHOD("MTLDevice", "newLibraryWithURL:error:", &load_library);
Object* load_library_data(Object*, Selector, String* data, Object** failure) {
  std::istringstream file(data->text);
  return read_library(file, failure);
}
GIRIH_METHOD("MTLDevice", "newLibraryWithData:error:", &load_library_data);

Object* new_pipeline(Object*, Selector, PipelineDescriptor* descriptor, Object*, Object** failure) {
  const FunctionDescriptor* const function = descriptor->function.get();
  if (function == nullptr || !function->library || !function->name) {
    return fail_with(failure, "no function");
  }
  const Kernel* const kernel = function->library->find(function->name->text);
  if (kernel == nullptr) return fail_with(failure, "no function " + function->name->text);
  for (const auto& [prefix, text] : failing_pipelines()) {
    if (function->name->text.starts_with(prefix)) return fail_with(failure, text);
  }
  const std::string& absent = function->library->absent;
  if (!absent.empty() && function->name->text.starts_with(absent)) {
    return fail_with(failure, "no function " + function->name->text);
  }
  const bool reflects = descriptor->options && (descriptor->options->reflection & 1) != 0;
  return create<Pipeline>(*kernel, descriptor->is_indirect, reflects);
}
GIRIH_METHOD("MTL4Compiler",
             "newComputePipelineStateWithDescriptor:compilerTaskOptions:error:", &new_pipeline);
// Arrays in a kernel's body are known when it runs, which is when the limit is checked, too.
GIRIH_METHOD("MTLComputePipelineState", "staticThreadgroupMemoryLength",
             [](Object*, Selector) -> unsigned long { return 0; });
GIRIH_METHOD("MTLComputePipelineState", "maxTotalThreadsPerThreadgroup",
             [](Pipeline* self, Selector) -> unsigned long { return self->kernel.max_threads; });

}  // namespace

void fail_pipelines(const std::string& prefix, const std::string& text) {
  failing_pipelines().erase(prefix);
  if (!text.empty()) failing_pipelines()[prefix] = text;
}
void fail_library(const std::string& name, const std::string& text) {
  failing_libraries().erase(name);
  if (!text.empty()) failing_libraries()[name] = text;
}

}  // namespace girih::inline v0::emulator

extern "C" void* dispatch_data_create(const void* buffer, unsigned long size, void* queue,
                                      void* destructor) {
  using namespace girih::emulator;
  if (queue != nullptr || destructor != nullptr) misuse("data whose bytes are not copied");
  return create<String>(std::string(static_cast<const char*>(buffer), size));
}
