#pragma once
// One operand on its way from any strides into a stage of shared memory, see mma_geometry.hpp.

#include "backends/cuda/kernels/async_copy.cuh"
#include "backends/cuda/kernels/mma_geometry.hpp"
#include "backends/cuda/kernels/mma_params.hpp"

namespace girih::inline v0::cuda {

/// M (or N) and K of an operand, in elements.
struct MmaSource {
  const char* data;
  Element type;
  std::int64_t stride, k_stride;
  std::int64_t extent, depth;
};

__device__ __forceinline__ int mma_clamp(std::int64_t bytes) {
  return static_cast<int>(bytes < 0 ? 0 : bytes > 16 ? 16 : bytes);
}

/// Copies 16 bytes at a time of an operand whose K, or M (or N), is contiguous, with zeros beyond
/// the ends. A thread's pieces lie one below the other, the same `step` apart in memory and in
/// shared memory.
template <Major kMajor, int kExtent, int kThreads, int kBytes>
class MmaCopier {
 public:
  static constexpr int kPieces = kExtent * 8 / kThreads;
  static constexpr int kDepth = kMmaRowBytes / kBytes;

  __device__ __forceinline__ MmaCopier(const MmaSource& x, std::int64_t first) {
    const int thread = threadIdx.x;
    if constexpr (kMajor == Major::K) {
      const int row = thread / 8, piece = thread % 8;
      from_ = x.data + (first + row) * x.stride * kBytes + piece * 16;
      step_ = kThreads / 8 * x.stride * kBytes;
      stage_step_ = kMmaRowBytes;
      to_ = mma_piece_offset(row, piece);
      across_ = static_cast<int>(min(x.extent - first, std::int64_t{kExtent})) - row;
      k_left_ = x.depth * kBytes - piece * 16;
    } else {
      constexpr int kAcross = kExtent / 8;  // pieces of one k
      const int k = thread / kAcross, at = thread % kAcross * 8;
      from_ = x.data + (k * x.k_stride + first + at) * kBytes;
      step_ = kThreads / kAcross * x.k_stride * kBytes;
      stage_step_ = kDepth * x.k_stride * kBytes;
      to_ = mma_panel_offset(k, at);
      across_ = mma_clamp((x.extent - first - at) * kBytes);
      k_left_ = x.depth - k;
    }
  }

  /// The next stage of K, into `stage`. `none`: an address that may be named where nothing is read.
  __device__ __forceinline__ void next(std::uint32_t stage, const void* none) {
    constexpr int kRows = kMajor == Major::K ? kThreads / 8 : kThreads / (kExtent / 8);
    const int whole = kMajor == Major::K ? mma_clamp(k_left_) : across_;
    const std::int64_t rows = kMajor == Major::K ? across_ : k_left_;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const int bytes = i * kRows < rows ? whole : 0;
      ptx::copy_async_or_zero<16>(stage + to_ + i * kRows * kMmaRowBytes,
                                  bytes > 0 ? from_ + i * step_ : none, bytes);
    }
    from_ += stage_step_;
    k_left_ -= kMajor == Major::K ? kMmaRowBytes : kDepth;
  }

 private:
  const char* from_;
  std::int64_t step_, stage_step_;
  std::int64_t k_left_;  ///< K-major: bytes; MN-major: elements
  int across_;           ///< K-major: rows left; MN-major: bytes of a piece that exist
  int to_;
};

/// Loads elements one by one, of any strides, and writes them K-major: `kBytes` each, f16 of 8-bit
/// floats. Neighbouring threads walk the dimension with the smaller stride.
template <int kExtent, int kThreads, int kBytes>
class MmaGatherer {
 public:
  static constexpr int kPieces = kExtent * 8 / kThreads;
  static constexpr int kCount = 16 / kBytes;  // elements of a piece

  __device__ __forceinline__ MmaGatherer(const MmaSource& x, std::int64_t first)
      : x_(x), first_(first) {}

  __device__ __forceinline__ void next(std::uint32_t stage, const void*) {
    const bool along_k = x_.k_stride < x_.stride;
#pragma unroll 1
    for (int i = 0; i < kPieces; ++i) {
      const int index = i * kThreads + static_cast<int>(threadIdx.x);
      const int row = along_k ? index / 8 : index % kExtent;
      const int piece = along_k ? index % 8 : index / kExtent;
      const std::int64_t k = k_ + piece * kCount;
      const std::int64_t left = first_ + row < x_.extent ? x_.depth - k : 0;
      const std::int64_t at = (first_ + row) * x_.stride + k * x_.k_stride;
      std::uint32_t words[4] = {};
      if (!load_eighths(at, left, words)) {
#pragma unroll
        for (int e = 0; e < kCount; ++e) {
          if (e >= left) continue;
          words[e * kBytes / 4] |= load(at + e * x_.k_stride) << (e * kBytes % 4 * 8);
        }
      }
      asm volatile(
          "st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(stage + mma_piece_offset(row, piece)),
          "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
          : "memory");
    }
    k_ += kMmaRowBytes / kBytes;
  }

 private:
  __device__ __forceinline__ std::uint32_t load(std::int64_t at) const {
    if constexpr (kBytes == 1) {
      return reinterpret_cast<const std::uint8_t*>(x_.data)[at];
    } else if constexpr (kBytes == 4) {
      return reinterpret_cast<const std::uint32_t*>(x_.data)[at];
    } else {
      if (x_.type == Element::F8E4M3) {
        return f16_of_f8e4m3(reinterpret_cast<const std::uint8_t*>(x_.data)[at]);
      }
      if (x_.type == Element::F8E5M2) {
        return f16_of_f8e5m2(reinterpret_cast<const std::uint8_t*>(x_.data)[at]);
      }
      return reinterpret_cast<const std::uint16_t*>(x_.data)[at];
    }
  }

  /// A whole piece of 8-bit floats that lie side by side, at a multiple of 8 bytes, in one load.
  __device__ __forceinline__ bool load_eighths(std::int64_t at, std::int64_t left,
                                               std::uint32_t (&words)[4]) const {
    if constexpr (kBytes != 2) return false;
    const bool is_e4m3 = x_.type == Element::F8E4M3;
    if (!is_e4m3 && x_.type != Element::F8E5M2) return false;
    const char* const from = x_.data + at;
    const bool is_whole = left >= 8 && (reinterpret_cast<std::uint64_t>(from) & 7) == 0;
    if (x_.k_stride != 1 || !is_whole) return false;
    const uint2 bits = *reinterpret_cast<const uint2*>(from);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t pair = (i < 2 ? bits.x : bits.y) >> (i % 2 * 16);
      const auto low = static_cast<std::uint8_t>(pair), high = static_cast<std::uint8_t>(pair >> 8);
      words[i] = is_e4m3 ? f16_of_f8e4m3(low) | f16_of_f8e4m3(high) << 16
                         : f16_of_f8e5m2(low) | f16_of_f8e5m2(high) << 16;
    }
    return true;
  }

  const MmaSource x_;
  const std::int64_t first_;
  std::int64_t k_ = 0;
};

}  // namespace girih::inline v0::cuda
