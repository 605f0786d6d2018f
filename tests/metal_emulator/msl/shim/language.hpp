#pragma once

#include "shim/types.hpp"

// Spellings of the language that C++ does not have. Address spaces become nothing; what the lint
// pass is for. The three macros are what our kernels write instead of the language's own form,
// which is in src/backends/metal/kernels/msl.h.

#define device
#define thread
#define threadgroup
#define constant const
#define kernel
#define METAL_FUNC inline

#define GIRIH_EMULATED 1
#define GIRIH_THREADGROUP_ARRAY(T, name, count)                         \
  T* const name = static_cast<T*>(::girih::emulator::threadgroup_array( \
      ::girih::emulator::Site::here(#name), sizeof(T) * (count)))
#define GIRIH_FUNCTION_CONSTANT(T, name, index)                       \
  static T name;                                                      \
  static const ::girih::emulator::Registration girih_constant_##name( \
      GIRIH_EMULATED_LIBRARY, ::girih::emulator::FunctionConstant{#name, index, &name, sizeof(T)})
// Read by bind.py.
#define GIRIH_INSTANTIATE(host_name, ...)
