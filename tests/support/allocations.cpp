#include "support/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#include "support/sanitizers.hpp"

namespace girih::inline v0::testing {
namespace {
std::atomic<std::uint64_t> allocations = 0;
}

std::uint64_t heap_allocations() noexcept {
  return allocations.load();
}

}  // namespace girih::inline v0::testing

#if !GIRIH_TEST_ASAN && !GIRIH_TEST_TSAN
namespace {

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  girih::testing::allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, size > 0 ? size : alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t kDefault = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate_or_throw(bytes, kDefault);
}
void* operator new[](std::size_t bytes) {
  return allocate_or_throw(bytes, kDefault);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, kDefault);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
#else
// The sanitizers end a program that asks for more than they can map; the tests ask on purpose.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
#endif
