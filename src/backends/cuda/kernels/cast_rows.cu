// Casts of rows: a few neighbouring elements a thread, in accesses of up to 16 bytes.

#include <bit>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backends/cuda/kernels/convert.cuh"
#include "backends/cuda/kernels/move_kernels.hpp"

namespace girih::inline v0::cuda {
namespace {

template <Element kType>
constexpr int kSize = kType == Element::F32                             ? 4
                      : kType == Element::BF16 || kType == Element::F16 ? 2
                                                                        : 1;

// Instructions of the conversion unit, which make every NaN one and the same: NaN go through the
// integer conversions, which keep what fits of them.
template <Element kType>
__device__ __forceinline__ float widened(std::uint32_t bits) {
  if constexpr (kType == Element::F32) {
    return __uint_as_float(bits);
  } else if constexpr (kType == Element::BF16) {
    return widen<kBf16>(bits);
  } else if constexpr (kType == Element::F16) {
    if ((bits & 0x7FFFu) > 0x7C00u) return widen<kF16>(bits);
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
  } else if constexpr (kType == Element::F8E4M3) {
    return widen<kF8E4M3>(bits);
  } else {
    return widen<kF8E5M2>(bits);
  }
}
template <Element kType>
__device__ __forceinline__ std::uint32_t narrowed(float x) {
  if constexpr (kType == Element::F32) {
    return __float_as_uint(x);
  } else if constexpr (kType == Element::BF16) {
    if (x != x) return narrow<kBf16>(x);
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
  } else if constexpr (kType == Element::F16) {
    if (x != x) return narrow<kF16>(x);
    return __half_as_ushort(__float2half_rn(x));
  } else if constexpr (kType == Element::F8E4M3) {
    return narrow<kF8E4M3>(x);
  } else {
    return narrow<kF8E5M2>(x);
  }
}

template <Element kType, int kCount>
__device__ __forceinline__ void load_unit(const char* from, float (&v)[kCount]) {
  constexpr int kWords = kCount * kSize<kType> / 4, kOfWord = 4 / kSize<kType>;
  std::uint32_t words[kWords];
  if constexpr (kWords >= 4) {
#pragma unroll
    for (int i = 0; i < kWords / 4; ++i) {
      const uint4 x = reinterpret_cast<const uint4*>(from)[i];
      words[4 * i] = x.x, words[4 * i + 1] = x.y, words[4 * i + 2] = x.z, words[4 * i + 3] = x.w;
    }
  } else if constexpr (kWords == 2) {
    const uint2 x = *reinterpret_cast<const uint2*>(from);
    words[0] = x.x, words[1] = x.y;
  } else {
    words[0] = *reinterpret_cast<const std::uint32_t*>(from);
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    constexpr std::uint32_t kMask = kSize<kType> == 4 ? ~0u : (1u << (8 * kSize<kType> % 32)) - 1;
    v[i] = widened<kType>(words[i / kOfWord] >> (i % kOfWord * 8 * kSize<kType>)&kMask);
  }
}
template <Element kType, int kCount>
__device__ __forceinline__ void store_unit(char* to, const float (&v)[kCount]) {
  constexpr int kWords = kCount * kSize<kType> / 4, kOfWord = 4 / kSize<kType>;
  std::uint32_t words[kWords] = {};
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    words[i / kOfWord] |= narrowed<kType>(v[i]) << (i % kOfWord * 8 * kSize<kType>);
  }
  if constexpr (kWords >= 4) {
#pragma unroll
    for (int i = 0; i < kWords / 4; ++i) {
      reinterpret_cast<uint4*>(to)[i] = {words[4 * i], words[4 * i + 1], words[4 * i + 2],
                                         words[4 * i + 3]};
    }
  } else {
    *reinterpret_cast<uint2*>(to) = {words[0], words[1]};
  }
}

template <Element kFrom, Element kTo>
__global__ void __launch_bounds__(kMoveThreads) cast_rows(const __grid_constant__ MoveParams p) {
  const char* const source = static_cast<const char*>(p.source);
  char* const destination = static_cast<char*>(p.destination);
  const std::uint32_t threads = gridDim.x * kMoveThreads,
                      thread = blockIdx.x * kMoveThreads + threadIdx.x;
  constexpr int kUnit = cast_unit(kSize<kTo>), kInFlight = kUnit == 4 ? 4 : 1;
  for (std::uint32_t first = thread; first < p.units; first += kInFlight * threads) {
    float v[kInFlight][kUnit];
    char* to[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::uint32_t unit = first + i * threads;
      if (unit >= p.units) continue;
      MoveOffsets at;
      std::int64_t inside = unit;
      if (p.outer.count != 0) {
        const std::uint32_t row = quotient(unit, p.row_units);
        at = offsets_of(p.outer, row);
        inside = unit - row * p.row_units.value;
      }
      load_unit<kFrom>(source + at.source + inside * kUnit * kSize<kFrom>, v[i]);
      to[i] = destination + at.destination + inside * kUnit * kSize<kTo>;
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (first + i * threads < p.units) store_unit<kTo>(to[i], v[i]);
    }
  }
  for (std::uint32_t i = thread; i < p.tails; i += threads) {
    const std::uint32_t row = quotient(i, p.row_tails);
    const MoveOffsets at = offsets_of(p.outer, row);
    const std::int64_t element = i - row * p.row_tails.value;
    const float v = load_as_float(source + at.source + p.source_tail, kFrom, element);
    store_from_float(destination + at.destination + p.destination_tail, kTo, element, v);
  }
}

template <Element kFrom>
const void* cast_from(Element to) {
  switch (to) {
    case Element::F32:
      return reinterpret_cast<const void*>(&cast_rows<kFrom, Element::F32>);
    case Element::BF16:
      return reinterpret_cast<const void*>(&cast_rows<kFrom, Element::BF16>);
    case Element::F16:
      return reinterpret_cast<const void*>(&cast_rows<kFrom, Element::F16>);
    case Element::F8E4M3:
      return reinterpret_cast<const void*>(&cast_rows<kFrom, Element::F8E4M3>);
    case Element::F8E5M2:
      return reinterpret_cast<const void*>(&cast_rows<kFrom, Element::F8E5M2>);
    default:
      return nullptr;
  }
}

}  // namespace

const void* cast_rows_kernel(Element source, Element destination) {
  switch (source) {
    case Element::F32:
      return cast_from<Element::F32>(destination);
    case Element::BF16:
      return cast_from<Element::BF16>(destination);
    case Element::F16:
      return cast_from<Element::F16>(destination);
    case Element::F8E4M3:
      return cast_from<Element::F8E4M3>(destination);
    case Element::F8E5M2:
      return cast_from<Element::F8E5M2>(destination);
    default:
      return nullptr;
  }
}

}  // namespace girih::inline v0::cuda
