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

namespace {

/// Address space for a buffer between guards, which cannot be touched yet.
std::byte* reserve(std::size_t whole) {
  void* const memory = mmap(nullptr, whole + 2 * kGuardBytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory) + kGuardBytes;
}

void keep(std::byte* data, std::size_t bytes, std::size_t whole, const std::string& label) {
  Heap& all = heap();
  const std::lock_guard lock(all.mutex);
  all.buffers.emplace(address_of(data),
                      Buffer{data, bytes, whole + 2 * kGuardBytes, label, true, Shadow(bytes)});
}

}  // namespace

std::byte* allocate_buffer(std::size_t bytes, const std::string& label) {
  const std::size_t whole = (bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes;
  std::byte* const data = reserve(whole);
  mprotect(data, whole, PROT_READ | PROT_WRITE);
  if (bytes < kUnpoisonedBytes) std::memset(data, 0xFF, bytes);
  keep(data, bytes, whole, label);
  return data;
}

std::byte* share_buffer(void* memory, std::size_t bytes, const std::string& label) {
  if (bytes == 0 || bytes % kGuardBytes != 0 || address_of(memory) % kGuardBytes != 0) {
    return nullptr;
  }
  std::byte* const data = reserve(bytes);
  // An old size of 0 leaves the old place of shared memory as it is.
  if (mremap(memory, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, data) == MAP_FAILED) {
    munmap(data - kGuardBytes, bytes + 2 * kGuardBytes);
    return nullptr;
  }
  keep(data, bytes, bytes, label);
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
