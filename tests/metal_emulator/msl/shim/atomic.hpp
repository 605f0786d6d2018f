#pragma once

#include "shim/types.hpp"

// Relaxed atomics of 32 bits, the only order that the language has.

namespace metal {

enum memory_order { memory_order_relaxed };

template <class T>
struct atomic {
  static_assert(sizeof(T) == 4, "32-bit atomics only");
  unsigned bits;
};
using atomic_uint = atomic<uint>;
using atomic_int = atomic<int>;

#define GIRIH_SHIM_SITE shim::Site site = shim::Site::here("atomic access")
template <class T>
GIRIH_EMULATOR_UNCHECKED inline T atomic_load_explicit(const atomic<T>* object, memory_order,
                                                       GIRIH_SHIM_SITE) {
  shim::emulator::note_atomic(object, sizeof(T), false, site);
  return __builtin_bit_cast(T, object->bits);
}
template <class T>
GIRIH_EMULATOR_UNCHECKED inline void atomic_store_explicit(atomic<T>* object, T value, memory_order,
                                                           GIRIH_SHIM_SITE) {
  shim::emulator::note_atomic(object, sizeof(T), true, site);
  object->bits = __builtin_bit_cast(unsigned, value);
}
template <class T>
GIRIH_EMULATOR_UNCHECKED inline T atomic_fetch_add_explicit(atomic<T>* object, T value,
                                                            memory_order, GIRIH_SHIM_SITE) {
  shim::emulator::note_atomic(object, sizeof(T), true, site);
  const T before = __builtin_bit_cast(T, object->bits);
  object->bits = __builtin_bit_cast(unsigned, static_cast<T>(before + value));
  return before;
}
#undef GIRIH_SHIM_SITE

}  // namespace metal
