#pragma once

#include "shim/types.hpp"

namespace metal {

enum class mem_flags : unsigned { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
inline mem_flags operator|(mem_flags a, mem_flags b) {
  return static_cast<mem_flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

inline void threadgroup_barrier(mem_flags flags,
                                shim::Site site = shim::Site::here("threadgroup_barrier")) {
  shim::emulator::barrier(shim::Scope::Threadgroup, site, static_cast<unsigned>(flags));
}
inline void simdgroup_barrier(mem_flags flags,
                              shim::Site site = shim::Site::here("simdgroup_barrier")) {
  shim::emulator::barrier(shim::Scope::Simd, site, static_cast<unsigned>(flags));
}

}  // namespace metal
