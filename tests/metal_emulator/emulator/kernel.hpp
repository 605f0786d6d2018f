#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "emulator/launch.hpp"

namespace girih::inline v0::emulator {

/// What a dispatch binds: addresses by buffer index, bytes of threadgroup memory by its index.
struct Arguments {
  void* buffers[kMaxBuffers] = {};
  std::size_t threadgroup_bytes[kMaxBuffers] = {};
  void* threadgroup[kMaxBuffers] = {};  ///< set by the dispatch
};

/// A buffer, or memory of the threadgroup, that a kernel declares, and the bytes of what it points
/// or refers to.
struct BufferBinding {
  unsigned index = 0;
  std::size_t bytes = 0;  ///< 0: neither
  bool is_threadgroup = false;
};

/// A compiled kernel. Registered by the code that bind.py writes.
struct Kernel {
  const char* name = "";
  void (*call)(const Arguments&, const LaneIds&) = nullptr;
  unsigned max_threads = kMaxThreads;
  const BufferBinding* bindings = nullptr;  ///< one a parameter
  std::size_t binding_count = 0;
};
struct FunctionConstant {
  const char* name = "";
  unsigned index = 0;
  void* value = nullptr;
  std::size_t bytes = 0;
};

/// One shading-language source: its text as it is shipped, and what was compiled from it.
struct Library {
  const char* name = "";
  const char* text = "";
  const Kernel* kernels = nullptr;
  std::size_t kernel_count = 0;
};
void add_library(const Library& library);
/// Null if no linked library was compiled from exactly this text.
const Library* find_library(std::string_view text) noexcept;
const Library* find_library_named(std::string_view name) noexcept;
const Kernel* find_kernel(const Library& library, std::string_view name) noexcept;

void add_function_constant(const char* library, const FunctionConstant& constant);
/// Those declared in a library's source.
std::vector<FunctionConstant> function_constants(std::string_view library);

/// Runs a kernel over a grid. Throws `Finding`.
void dispatch(const Kernel& kernel, Arguments arguments, Dim3 threadgroups, Dim3 threads);
/// What an encoder or queue barrier does: dispatches before and after it are ordered.
void order_dispatches() noexcept;

/// For code of the emulator in translation units whose accesses are checked.
#define GIRIH_EMULATOR_UNCHECKED __attribute__((no_sanitize("thread")))

[[noreturn]] void fail_binding(const char* what, unsigned index);

// Binding of a kernel's parameters, from the attribute of each. ParameterOf<...>::get gives one.

template <unsigned kIndex, bool kOptional = false>
struct BufferParameter {
  template <class P>
  GIRIH_EMULATOR_UNCHECKED static P get(const Arguments& arguments, const LaneIds&) {
    void* const address = arguments.buffers[kIndex];
    if (!kOptional && address == nullptr) fail_binding("buffer", kIndex);
    if constexpr (std::is_pointer_v<P>) {
      return reinterpret_cast<P>(address);
    } else {
      return *reinterpret_cast<std::remove_reference_t<P>*>(address);
    }
  }
};
template <unsigned kIndex>
struct ThreadgroupParameter {
  template <class P>
  GIRIH_EMULATOR_UNCHECKED static P get(const Arguments& arguments, const LaneIds&) {
    if (arguments.threadgroup[kIndex] == nullptr) fail_binding("threadgroup", kIndex);
    return reinterpret_cast<P>(arguments.threadgroup[kIndex]);
  }
};

/// A built-in of one, two or three numbers.
template <class P>
GIRIH_EMULATOR_UNCHECKED P vector_of(const Dim3& value) {
  using T = std::remove_cvref_t<P>;
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value.x);
  } else {
    T result;
    using Element = std::remove_cvref_t<decltype(result.x)>;
    result.x = static_cast<Element>(value.x);
    result.y = static_cast<Element>(value.y);
    if constexpr (sizeof(T) > 2 * sizeof(Element)) result.z = static_cast<Element>(value.z);
    return result;
  }
}
template <auto kMember>
struct BuiltinParameter {
  template <class P>
  GIRIH_EMULATOR_UNCHECKED static P get(const Arguments&, const LaneIds& lane) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(lane.*kMember)>, Dim3>) {
      return vector_of<P>(lane.*kMember);
    } else {
      return static_cast<P>(lane.*kMember);
    }
  }
};
using thread_position_in_grid = BuiltinParameter<&LaneIds::thread_in_grid>;
using thread_position_in_threadgroup = BuiltinParameter<&LaneIds::thread>;
using threadgroup_position_in_grid = BuiltinParameter<&LaneIds::threadgroup>;
using threads_per_threadgroup = BuiltinParameter<&LaneIds::threads_per_threadgroup>;
using threadgroups_per_grid = BuiltinParameter<&LaneIds::threadgroups_per_grid>;
using threads_per_grid = BuiltinParameter<&LaneIds::threads_per_grid>;
using thread_index_in_threadgroup = BuiltinParameter<&LaneIds::linear>;
using thread_index_in_simdgroup = BuiltinParameter<&LaneIds::simd_lane>;
using simdgroup_index_in_threadgroup = BuiltinParameter<&LaneIds::simd_group>;
using simdgroups_per_threadgroup = BuiltinParameter<&LaneIds::simd_groups>;

template <class P, class Parameter>
constexpr BufferBinding kBindingOf{};
template <class P, unsigned kIndex, bool kOptional>
constexpr BufferBinding kBindingOf<P, BufferParameter<kIndex, kOptional>>{
    kIndex, sizeof(std::remove_pointer_t<std::remove_reference_t<P>>)};

template <class P, unsigned kIndex>
constexpr BufferBinding kBindingOf<P, ThreadgroupParameter<kIndex>>{
    kIndex, sizeof(std::remove_pointer_t<P>), true};

/// The call of kernel `kFunction` whose parameters have these attributes.
template <auto kFunction, class... Parameters>
struct Bound;
template <class... P, void (*kFunction)(P...), class... Parameters>
struct Bound<kFunction, Parameters...> {
  static_assert(sizeof...(P) == sizeof...(Parameters),
                "the attributes do not match the kernel's parameters");
  static constexpr std::size_t kParameters = sizeof...(P);
  static constexpr BufferBinding kBindings[] = {kBindingOf<P, Parameters>...};
  GIRIH_EMULATOR_UNCHECKED static void call(const Arguments& arguments, const LaneIds& lane) {
    kFunction(Parameters::template get<P>(arguments, lane)...);
  }
};

struct Registration {
  explicit Registration(const Library& library) { add_library(library); }
  Registration(const char* library, const FunctionConstant& constant) {
    add_function_constant(library, constant);
  }
};

}  // namespace girih::inline v0::emulator
