#include "emulator/fiber.hpp"

#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/// Text of a finding is made on the stack of a lane that is never run again. Objects of the device
/// are counted by `live_objects`.
extern "C" const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() {
  return "leak:emulator::";
}
#endif

// girih_emulator_switch(save, to): pushes what a call must keep, stores the stack pointer in *save,
// makes `to` the stack pointer and pops the same. A fresh stack is laid out as if it had yielded at
// the first instruction of its entry.

extern "C" void girih_emulator_switch(void** save, void* to) noexcept;

#if defined(__x86_64__)
asm(R"(
.text
.globl girih_emulator_switch
.hidden girih_emulator_switch
.type girih_emulator_switch, @function
girih_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size girih_emulator_switch, .-girih_emulator_switch
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl girih_emulator_switch
.hidden girih_emulator_switch
.type girih_emulator_switch, %function
girih_emulator_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size girih_emulator_switch, .-girih_emulator_switch
)");
#else
#error "the emulator switches stacks on x86-64 and aarch64 only"
#endif

namespace girih::inline v0::emulator {
namespace {

#if defined(__x86_64__)
constexpr std::size_t kSavedBytes = 8 * 8;  // six registers, the entry, and one word that keeps
                                            // the stack at 8 modulo 16 on entry
constexpr std::size_t kEntryAt = 6 * 8;
#else
constexpr std::size_t kSavedBytes = 160;
constexpr std::size_t kEntryAt = 88;  // x30
#endif

// The address sanitizer is told of every change of stacks (sanitizer/common_interface_defs.h). What
// a lane that was abandoned left poisoned is no longer so when its stack is used again.
#if defined(__SANITIZE_ADDRESS__)
void leave(void** saved, const void* stack, std::size_t bytes) noexcept {
  __sanitizer_start_switch_fiber(saved, stack, bytes);
}
void arrive(void* saved, const void** from, std::size_t* bytes) noexcept {
  __sanitizer_finish_switch_fiber(saved, from, bytes);
}
void forget(const std::byte* stack, std::size_t bytes) noexcept {
  __asan_unpoison_memory_region(stack, bytes);
}
#else
void leave(void**, const void*, std::size_t) noexcept {}
void arrive(void*, const void**, std::size_t*) noexcept {}
void forget(const std::byte*, std::size_t) noexcept {}
#endif

}  // namespace

void Fiber::prepare(void (*entry)()) noexcept {
  forget(stack_, kStackBytes);
  std::byte* const top = stack_ + kStackBytes - 64 - kSavedBytes;
  std::memset(top, 0, kSavedBytes);
  std::memcpy(top + kEntryAt, &entry, sizeof(entry));
  position_ = top;
}

void Fiber::started() noexcept {
  arrive(nullptr, &caller_stack_, &caller_bytes_);
}

void Fiber::resume() noexcept {
  void* saved = nullptr;
  leave(&saved, stack_, kStackBytes);
  girih_emulator_switch(&caller_, position_);
  arrive(saved, nullptr, nullptr);
}

void Fiber::yield() noexcept {
  void* saved = nullptr;
  leave(&saved, caller_stack_, caller_bytes_);
  girih_emulator_switch(&position_, caller_);
  arrive(saved, &caller_stack_, &caller_bytes_);
}

}  // namespace girih::inline v0::emulator
