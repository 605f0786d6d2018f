#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emulator/shadow.hpp"

namespace girih::inline v0::emulator {

/// Device memory. Each buffer lies between pages that cannot be touched, starts as NaN if it is
/// shorter than kUnpoisonedBytes, and has a shadow.
struct Buffer {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t mapped = 0;  ///< with the guard pages, from `data - kGuardBytes` on
  std::string label;
  bool is_resident = true;
  Shadow shadow;
};

constexpr std::size_t kGuardBytes = 4096;
/// A buffer of so many gets its pages as they are touched.
constexpr std::size_t kUnpoisonedBytes = std::size_t{1} << 30;

/// Throws std::bad_alloc.
std::byte* allocate_buffer(std::size_t bytes, const std::string& label);
/// The same over shared memory that is there already, of whole pages: another place where it is
/// seen, with guards of its own. Null if it cannot be.
std::byte* share_buffer(void* memory, std::size_t bytes, const std::string& label);
void free_buffer(std::byte* data) noexcept;
/// Held while kernels run: buffers come and go on other threads.
class BufferLock {
 public:
  BufferLock() noexcept;
  ~BufferLock();
  BufferLock(const BufferLock&) = delete;
  BufferLock& operator=(const BufferLock&) = delete;
};
/// The buffer whose memory or guard pages hold the address; null if there is none. Under the lock.
Buffer* find_buffer(const void* address) noexcept;
void for_each_buffer(void (*visit)(Buffer&, void*), void* context);
/// Visits every buffer.
template <class Visit>
void for_each_buffer(Visit visit) {
  for_each_buffer([](Buffer& buffer, void* context) { (*static_cast<Visit*>(context))(buffer); },
                  &visit);
}
/// Of a buffer given by its first byte.
void set_resident(std::byte* data, bool is_resident) noexcept;

}  // namespace girih::inline v0::emulator
