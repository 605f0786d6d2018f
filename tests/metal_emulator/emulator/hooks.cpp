#include <cstring>

#include "emulator/execution.hpp"

// Kernels are compiled with -fsanitize=thread and linked to these instead of TSan's library: the
// compiler finds the accesses, the rules are a GPU's.

namespace {

using girih::emulator::check_access;
using girih::emulator::config;
using girih::emulator::is_lane_stack;

void note(const void* address, std::size_t bytes, bool is_write, void* instruction) {
  if (is_lane_stack(address) || !config().checks_accesses) return;
  check_access(address, bytes, is_write, false,
               {is_write ? "write" : "read", "", 0, reinterpret_cast<std::uintptr_t>(instruction)});
}

}  // namespace

#define GIRIH_HOOK(name, bytes, is_write)                        \
  extern "C" void name(void* address) {                          \
    note(address, bytes, is_write, __builtin_return_address(0)); \
  }
#define GIRIH_HOOKS(bytes)                               \
  GIRIH_HOOK(__tsan_read##bytes, bytes, false)           \
  GIRIH_HOOK(__tsan_write##bytes, bytes, true)           \
  GIRIH_HOOK(__tsan_unaligned_read##bytes, bytes, false) \
  GIRIH_HOOK(__tsan_unaligned_write##bytes, bytes, true) \
  GIRIH_HOOK(__tsan_read_write##bytes, bytes, true)      \
  GIRIH_HOOK(__tsan_unaligned_read_write##bytes, bytes, true)
GIRIH_HOOKS(1)
GIRIH_HOOKS(2)
GIRIH_HOOKS(4)
GIRIH_HOOKS(8)
GIRIH_HOOKS(16)

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  note(from, bytes, false, __builtin_return_address(0));
  note(to, bytes, true, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  note(from, bytes, false, __builtin_return_address(0));
  note(to, bytes, true, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, std::size_t bytes) {
  note(to, bytes, true, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}
}
