#pragma once
// Asynchronous copies of a thread's own into shared memory: 4 or 16 bytes, aligned to that.

#include <cstdint>

namespace girih::inline v0::cuda::ptx {

template <int kBytes>
__device__ __forceinline__ void copy_async(std::uint32_t to, const void* from) {
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
  }
}
// The first `count` bytes of them, and zeros behind.
template <int kBytes>
__device__ __forceinline__ void copy_async_or_zero(std::uint32_t to, const void* from, int count) {
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(count)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(count)
                 : "memory");
  }
}
__device__ __forceinline__ void copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Until no more than kPending of this thread's groups are under way.
template <int kPending>
__device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace girih::inline v0::cuda::ptx
