#pragma once

#include <algorithm>
#include <array>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector_types.h>

// A warp on the host: 32 threads that meet where lanes exchange registers. Stands in for the header
// of this name where device code is compiled for a test.

#undef __device__
#undef __forceinline__
#define __device__
#define __forceinline__ inline

namespace girih::inline v0::cuda {

using std::max;
using std::min;

/// The registers that lanes show one another.
struct HostWarp {
  static inline thread_local int lane = 0;
  static inline std::barrier<> meeting{32};
  static inline std::array<std::array<std::uint32_t, 6>, 32> shown;

  /// Calls read(shown registers of every lane) when all have shown theirs.
  template <class Read>
  static auto exchange(const std::array<std::uint32_t, 6>& registers, const Read& read) {
    shown[static_cast<std::size_t>(lane)] = registers;
    meeting.arrive_and_wait();
    const auto result = read(shown);
    meeting.arrive_and_wait();
    return result;
  }
};

inline std::uint32_t __byte_perm(std::uint32_t low, std::uint32_t high, unsigned order) {
  const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    result |= static_cast<std::uint32_t>(bytes >> (8 * (order >> (4 * i) & 7)) & 0xFF) << (8 * i);
  }
  return result;
}
inline float __uint_as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline float __fmaf_rn(float x, float y, float z) {
  return std::fma(x, y, z);
}
inline float __shfl_xor_sync(unsigned, float x, int mask) {
  return HostWarp::exchange({std::bit_cast<std::uint32_t>(x)}, [&](const auto& shown) {
    return std::bit_cast<float>(shown[static_cast<std::size_t>(HostWarp::lane ^ mask)][0]);
  });
}

namespace ptx {
inline int lane() {
  return HostWarp::lane;
}
}  // namespace ptx

}  // namespace girih::inline v0::cuda
