#include <cstring>

#include "emulator/execution.hpp"

// Kernels are compiled with -fsanitize=thread and linked to these instead of TSan's library: the
// compiler finds the accesses, the rules are a GPU's. The build gives the calls of a kernel's
// object these names, so that TSan's own, of a host that is compiled with it, are left alone.

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
#define GIRIH_HOOKS(bytes)                                       \
  GIRIH_HOOK(girih_emulated_read##bytes, bytes, false)           \
  GIRIH_HOOK(girih_emulated_write##bytes, bytes, true)           \
  GIRIH_HOOK(girih_emulated_unaligned_read##bytes, bytes, false) \
  GIRIH_HOOK(girih_emulated_unaligned_write##bytes, bytes, true) \
  GIRIH_HOOK(girih_emulated_read_write##bytes, bytes, true)      \
  GIRIH_HOOK(girih_emulated_unaligned_read_write##bytes, bytes, true)
GIRIH_HOOKS(1)
GIRIH_HOOKS(2)
GIRIH_HOOKS(4)
GIRIH_HOOKS(8)
GIRIH_HOOKS(16)

extern "C" {
void girih_emulated_init() {}
void girih_emulated_func_entry(void*) {}
void girih_emulated_func_exit() {}
void girih_emulated_vptr_update(void**, void*) {}
void girih_emulated_vptr_read(void**) {}

void* girih_emulated_memcpy(void* to, const void* from, std::size_t bytes) {
  note(from, bytes, false, __builtin_return_address(0));
  note(to, bytes, true, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
void* girih_emulated_memmove(void* to, const void* from, std::size_t bytes) {
  note(from, bytes, false, __builtin_return_address(0));
  note(to, bytes, true, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
void* girih_emulated_memset(void* to, int value, std::size_t bytes) {
  note(to, bytes, true, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}
}
