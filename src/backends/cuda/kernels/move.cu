// Copies and fills of rows.

#include "backends/cuda/kernels/move_kernels.hpp"
#include "backends/cuda/kernels/move_rows.cuh"

namespace girih::inline v0::cuda {
namespace {

template <int kBytes>
struct Same {
  static constexpr RowUnit kUnit = row_unit(kBytes, kBytes);
  using T = typename Bytes<kBytes>::Type;
  __device__ explicit Same(const RowParams&) {}
  __device__ static void element(const char* from, char* to) {
    *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from);
  }
  __device__ static void unit(const std::uint32_t* read, std::uint32_t (&written)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) written[i] = read[i];
  }
};

template <int kBytes>
struct Pattern {
  static constexpr RowUnit kUnit = row_unit(0, kBytes);
  std::uint32_t low, high;
  __device__ explicit Pattern(const RowParams& p)
      : low(static_cast<std::uint32_t>(p.pattern)),
        high(static_cast<std::uint32_t>(p.pattern >> 32)) {}
  __device__ void element(const char*, char* to) const {
    if constexpr (kBytes == 8) {
      *reinterpret_cast<uint2*>(to) = {low, high};
    } else {
      using T = typename Bytes<kBytes>::Type;
      *reinterpret_cast<T*>(to) = static_cast<T>(low);
    }
  }
  __device__ void unit(const std::uint32_t*, std::uint32_t (&written)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; i += 2) written[i] = low, written[i + 1] = high;
  }
};

template <int kBytes>
constexpr auto kCopy = &move_rows<Same<kBytes>>;
template <int kBytes>
constexpr auto kFill = &move_rows<Pattern<kBytes>>;

}  // namespace

const void* copy_rows_kernel(int bytes) {
  return reinterpret_cast<const void*>(bytes == 1   ? kCopy<1>
                                       : bytes == 2 ? kCopy<2>
                                       : bytes == 4 ? kCopy<4>
                                                    : kCopy<8>);
}
const void* fill_rows_kernel(int bytes) {
  return reinterpret_cast<const void*>(bytes == 1   ? kFill<1>
                                       : bytes == 2 ? kFill<2>
                                       : bytes == 4 ? kFill<4>
                                                    : kFill<8>);
}

}  // namespace girih::inline v0::cuda
