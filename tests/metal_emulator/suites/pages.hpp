#pragma once

#include <cstddef>
#include <sys/mman.h>

#include "suites/raw_device.hpp"

namespace girih::inline v0::testing {

/// Shared pages, and buffers over parts of them that copy nothing. The emulator's GPU sees each
/// buffer somewhere else.
class Pages {
 public:
  static constexpr std::size_t kPage = 4096, kBytes = 8 * kPage;
  ~Pages() { munmap(memory_, kBytes); }
  metal::Ref buffer_over(const metal::Ref& device, std::size_t first, std::size_t pages) {
    const metal::Method<metal::id, void*, metal::UInt, metal::UInt, void*> make{
        "MTLDevice", "newBufferWithBytesNoCopy:length:options:deallocator:"};
    return metal::Ref(make(device.get(), static_cast<std::byte*>(memory_) + first * kPage,
                           pages * kPage, metal::kStorageShared, nullptr));
  }
  float at(std::size_t i) const { return static_cast<const float*>(memory_)[i]; }

 private:
  void* memory_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
};

}  // namespace girih::inline v0::testing
