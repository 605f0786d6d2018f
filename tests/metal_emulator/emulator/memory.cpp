#include "emulator/memory.hpp"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace girih::inline v0::emulator {
namespace {

struct Heap {
  std::mutex mutex;
  std::map<std::uintptr_t, Buffer> buffers;  ///< by first byte
  /// The buffers that were found last, in no order: a kernel has a few.
  std::array<Buffer*, 4> found = {};
  std::size_t next = 0;  ///< of them to go
};

Heap the_heap;
Heap& heap() noexcept {
  return the_heap;
}

std::uintptr_t address_of(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

bool holds(const Buffer& buffer, const void* address) noexcept {
  const std::uintptr_t first = address_of(buffer.data) - kGuardBytes;
  return address_of(address) >= first && address_of(address) < first + buffer.mapped;
}

}  // namespace

std::byte* allocate_buffer(std::size_t bytes, const std::string& label) {
  const std::size_t whole = (bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes;
  const std::size_t mapped = whole + 2 * kGuardBytes;
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  std::byte* const data = static_cast<std::byte*>(memory) + kGuardBytes;
  mprotect(memory, kGuardBytes, PROT_NONE);
  mprotect(data + whole, kGuardBytes, PROT_NONE);
  if (bytes < kUnpoisonedBytes) std::memset(data, 0xFF, bytes);
  Heap& all = heap();
  const std::lock_guard lock(all.mutex);
  all.buffers.emplace(address_of(data), Buffer{data, bytes, mapped, label, true, Shadow(bytes)});
  return data;
}

void free_buffer(std::byte* data) noexcept {
  Heap& all = heap();
  const std::lock_guard lock(all.mutex);
  const auto found = all.buffers.find(address_of(data));
  if (found == all.buffers.end()) return;
  munmap(data - kGuardBytes, found->second.mapped);
  all.found = {};
  all.buffers.erase(found);
}

BufferLock::BufferLock() noexcept {
  heap().mutex.lock();
}

BufferLock::~BufferLock() {
  heap().mutex.unlock();
}

Buffer* find_buffer(const void* address) noexcept {
  Heap& all = heap();
  for (Buffer* const buffer : all.found) {
    if (buffer != nullptr && holds(*buffer, address)) return buffer;
  }
  auto next = all.buffers.upper_bound(address_of(address) + kGuardBytes);
  if (next == all.buffers.begin()) return nullptr;
  Buffer& buffer = (--next)->second;
  if (!holds(buffer, address)) return nullptr;
  all.found[all.next++ % all.found.size()] = &buffer;
  return &buffer;
}

void for_each_buffer(void (*visit)(Buffer&, void*), void* context) {
  Heap& all = heap();
  const std::lock_guard lock(all.mutex);
  for (auto& [address, buffer] : all.buffers) visit(buffer, context);
}

void set_resident(std::byte* data, bool is_resident) noexcept {
  Heap& all = heap();
  const std::lock_guard lock(all.mutex);
  const auto found = all.buffers.find(address_of(data));
  if (found != all.buffers.end()) found->second.is_resident = is_resident;
}

}  // namespace girih::inline v0::emulator
