#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <vector>

#include "backends/cuda/kernels/ptx.cuh"
#include "core/small_float.hpp"
#include "plan/cuda_gemm_tile.hpp"

// What the instructions of skinny products do, as the PTX manual lays out their operands.

namespace girih::inline v0::cuda {

/// Copies of a lane that are under way: as early or as late as they may arrive.
struct HostCopies {
  struct Copy {
    uint4* to;
    const void* from;
  };
  static inline bool are_late = true;
  static inline thread_local std::deque<std::vector<Copy>> groups{1};

  static void arrive(const Copy& copy) {
    *copy.to = uint4{};
    if (copy.from != nullptr) std::memcpy(copy.to, copy.from, sizeof(uint4));
  }
  static void add(uint4* to, const void* from, bool exists) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(exists ? from : to) % sizeof(uint4), 0U);
    const Copy copy{to, exists ? from : nullptr};
    if (are_late) {
      groups.back().push_back(copy);
    } else {
      arrive(copy);
    }
  }
};
template <bool kAlongK>
void copy_streamed(uint4* to, const void* from, bool exists) {
  HostCopies::add(to, from, exists);
}
inline void copy_kept(uint4* to, const void* from, bool exists) {
  HostCopies::add(to, from, exists);
}
inline void warp_sync() {
  HostWarp::meeting.arrive_and_wait();
}

namespace ptx {
inline void copy_commit() {
  HostCopies::groups.emplace_back();
}
template <int kPending>
void copy_wait() {
  auto& groups = HostCopies::groups;  // the last one is not committed
  for (; groups.size() > kPending + 1; groups.pop_front()) {
    for (const HostCopies::Copy& copy : groups.front()) HostCopies::arrive(copy);
  }
}
}  // namespace ptx

/// Element e of a register.
template <Element kType>
double element_of(std::uint32_t bits, int e) {
  if constexpr (kType == Element::I8) return static_cast<std::int8_t>(bits >> (8 * e));
  const std::uint32_t half = bits >> (16 * e) & 0xFFFF;
  return static_cast<double>(kType == Element::BF16 ? widen<kBf16>(half) : widen<kF16>(half));
}

/// mma.m16n8k16, or k32 of bytes: lane 4 g + t has rows g and g + 8 of a (registers 0, 2 and 1, 3),
/// column g of b, and rows g and g + 8 by columns 2 t and 2 t + 1 of d.
template <Element kType, class Sum>
void multiply(Sum (&d)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
              std::uint32_t b0, std::uint32_t b1) {
  const auto sums = HostWarp::exchange({a0, a1, a2, a3, b0, b1}, [&](const auto& shown) {
    std::array<double, 4> result{};
    for (int i = 0; i < 4; ++i) {
      const int row = HostWarp::lane / 4 + i / 2 * 8, column = HostWarp::lane % 4 * 2 + i % 2;
      for (int t = 0; t < 4; ++t) {
        const auto& a = shown[static_cast<std::size_t>(row % 8 * 4 + t)];
        const auto& b = shown[static_cast<std::size_t>(column * 4 + t)];
        for (int half = 0; half < 2; ++half) {
          for (int e = 0; e < (kType == Element::I8 ? 4 : 2); ++e) {
            result[static_cast<std::size_t>(i)] +=
                element_of<kType>(a[static_cast<std::size_t>(half * 2 + row / 8)], e) *
                element_of<kType>(b[static_cast<std::size_t>(4 + half)], e);
          }
        }
      }
    }
    return result;
  });
  for (std::size_t i = 0; i < 4; ++i) d[i] = static_cast<Sum>(static_cast<double>(d[i]) + sums[i]);
}

template <Element kType, bool kHigh>
std::uint32_t widen_pair(std::uint32_t word) {
  const std::uint32_t half = kHigh ? word >> 16 : word & 0xFFFF;
  const auto as_f16 = [](std::uint32_t byte) {
    return kType == Element::F8E4M3 ? narrow<kF16>(widen<kF8E4M3>(byte))
                                    : narrow<kF16>(widen<kF8E5M2>(byte));
  };
  return as_f16(half & 0xFF) | as_f16(half >> 8) << 16;
}

}  // namespace girih::inline v0::cuda
