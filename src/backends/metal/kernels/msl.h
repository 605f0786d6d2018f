#pragma once
// The spellings that differ between Apple's compiler, which sees these, and the emulator and the
// lint pass, whose metal_stdlib has defined its own.
#include <metal_stdlib>

#ifndef GIRIH_EMULATED
// An array that the threadgroup shares, declared in a kernel's body.
#define GIRIH_THREADGROUP_ARRAY(T, name, count) threadgroup T name[count]
// A value fixed when the pipeline is made.
#define GIRIH_FUNCTION_CONSTANT(T, name, index) constant T name [[function_constant(index)]]
// A kernel template's instance under the name that the host asks for.
#define GIRIH_INSTANTIATE(host_name_text, ...) \
  template [[host_name(host_name_text)]] [[kernel]] decltype(__VA_ARGS__) __VA_ARGS__
#endif
