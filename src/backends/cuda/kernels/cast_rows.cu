// Casts of rows. Plain elements take the instructions for pairs; those make every NaN one and the
// same, and saturate 8-bit floats.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <limits>

#include "backends/cuda/kernels/move_kernels.hpp"
#include "backends/cuda/kernels/move_rows.cuh"
#include "backends/cuda/kernels/skinny_instructions.cuh"
#include "core/small_float.hpp"

namespace girih::inline v0::cuda {
namespace {

template <Element kType>
constexpr int kSize = kType == Element::F32                             ? 4
                      : kType == Element::BF16 || kType == Element::F16 ? 2
                                                                        : 1;

template <Element kType>
constexpr std::uint32_t kMask = kSize<kType> == 4 ? ~0u : (1u << (8 * kSize<kType> % 32)) - 1;

template <Element kType>
constexpr FloatFormat kFormat = kType == Element::BF16     ? kBf16
                                : kType == Element::F16    ? kF16
                                : kType == Element::F8E4M3 ? kF8E4M3
                                                           : kF8E5M2;

// As in widen and narrow, NaN keep what fits of them.
template <FloatFormat F>
__device__ __forceinline__ float widened_nan(std::uint32_t bits) {
  const std::uint32_t payload = F.has_infinity ? bits << (23 - F.fraction_bits) & 0x7FFFFFu : 0;
  return __uint_as_float((bits & F.sign_bit()) << (31 - F.exponent_bits - F.fraction_bits) |
                         0x7FC00000u | payload);
}
template <FloatFormat F>
__device__ __forceinline__ std::uint32_t narrowed_nan(std::uint32_t bits) {
  const std::uint32_t payload = F.has_infinity ? (bits & 0x7FFFFFu) >> (23 - F.fraction_bits) : 0;
  return (bits >> 31) * F.sign_bit() | F.quiet_nan() | payload;
}

template <Element kType>
__device__ __forceinline__ float widened(std::uint32_t bits) {
  constexpr FloatFormat kFrom = kFormat<kType>;
  const bool is_nan = (bits & (kFrom.sign_bit() - 1)) > kFrom.max_finite() + kFrom.has_infinity;
  const auto half = [](std::uint32_t x) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(x)));
  };
  if constexpr (kType == Element::F32) {
    return __uint_as_float(bits);
  } else if constexpr (kType == Element::BF16) {
    return __uint_as_float(bits << 16 | (is_nan ? 0x400000u : 0u));
  } else if constexpr (kType == Element::F16) {
    return is_nan ? widened_nan<kFrom>(bits) : half(bits);
  } else {
    return is_nan ? widened_nan<kFrom>(bits) : half(widen_pair<kType, false>(bits));
  }
}

// Plain elements are up to this size, and no NaN.
template <Element kType>
constexpr float kLargest = kType == Element::F8E4M3   ? 464.0f
                           : kType == Element::F8E5M2 ? 61439.996f
                                                      : std::numeric_limits<float>::infinity();

/// Of plain elements.
template <Element kType>
__device__ __forceinline__ std::uint32_t eighths(float low, float high) {
#if __CUDA_ARCH__ >= 890
  std::uint16_t pair;
  if constexpr (kType == Element::F8E4M3) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  }
  return pair;
#else
  return narrow<kFormat<kType>>(low) | narrow<kFormat<kType>>(high) << 8;
#endif
}
template <Element kType>
__device__ __forceinline__ std::uint32_t narrowed(float x) {
  const std::uint32_t bits = __float_as_uint(x);
  if constexpr (kType == Element::F32) {
    return bits;
  } else if constexpr (kType == Element::BF16) {
    return x != x ? narrowed_nan<kBf16>(bits) : __bfloat16_as_ushort(__float2bfloat16_rn(x));
  } else if constexpr (kType == Element::F16) {
    return x != x ? narrowed_nan<kF16>(bits) : __half_as_ushort(__float2half_rn(x));
  } else if constexpr (kType == Element::F8E4M3) {
    return fabsf(x) <= kLargest<kType> ? eighths<kType>(x, 0.0f) : narrowed_nan<kF8E4M3>(bits);
  } else {
    const std::uint32_t infinity = (bits >> 24 & 0x80u) | 0x7Cu;
    const std::uint32_t large = x != x ? narrowed_nan<kF8E5M2>(bits) : infinity;
    return fabsf(x) <= kLargest<kType> ? eighths<kType>(x, 0.0f) : large;
  }
}

/// Elements `i` and `i + 1`, i even; NaN become some NaN.
template <Element kType>
__device__ __forceinline__ void widen_two(const std::uint32_t* words, int i, float& low,
                                          float& high) {
  if constexpr (kType == Element::F32) {
    low = __uint_as_float(words[i]), high = __uint_as_float(words[i + 1]);
  } else if constexpr (kType == Element::BF16) {
    low = __uint_as_float(words[i / 2] << 16), high = __uint_as_float(words[i / 2] & 0xFFFF0000u);
  } else {
    std::uint32_t pair = words[i / 2];
    if constexpr (kSize<kType> == 1) {
      pair = i % 4 == 0 ? widen_pair<kType, false>(words[i / 4])
                        : widen_pair<kType, true>(words[i / 4]);
    }
    low = __half2float(__ushort_as_half(static_cast<unsigned short>(pair)));
    high = __half2float(__ushort_as_half(static_cast<unsigned short>(pair >> 16)));
  }
}

/// Of plain elements.
template <Element kType, int kElements, int kWords>
__device__ __forceinline__ void narrow_all(const float (&x)[kElements],
                                           std::uint32_t (&words)[kWords]) {
#pragma unroll
  for (int i = 0; i < kElements; i += 2) {
    if constexpr (kType == Element::F32) {
      words[i] = __float_as_uint(x[i]), words[i + 1] = __float_as_uint(x[i + 1]);
    } else if constexpr (kType == Element::BF16) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(x[i], x[i + 1]);
      words[i / 2] = *reinterpret_cast<const std::uint32_t*>(&pair);
    } else if constexpr (kType == Element::F16) {
      const __half2 pair = __floats2half2_rn(x[i], x[i + 1]);
      words[i / 2] = *reinterpret_cast<const std::uint32_t*>(&pair);
    } else {
      const std::uint32_t pair = eighths<kType>(x[i], x[i + 1]);
      words[i / 4] = i % 4 == 0 ? pair : words[i / 4] | pair << 16;
    }
  }
}

template <Element kFrom, Element kTo>
struct Cast {
  static constexpr RowUnit kUnit = row_unit(kSize<kFrom>, kSize<kTo>);
  __device__ explicit Cast(const RowParams&) {}
  __device__ static void element(const char* from, char* to) {
    using From = typename Bytes<kSize<kFrom>>::Type;
    using To = typename Bytes<kSize<kTo>>::Type;
    *reinterpret_cast<To*>(to) =
        static_cast<To>(narrowed<kTo>(widened<kFrom>(*reinterpret_cast<const From*>(from))));
  }
  template <int kWords>
  __device__ static void unit(const std::uint32_t* read, std::uint32_t (&written)[kWords]) {
    constexpr int kElements = kUnit.elements;
    float x[kElements];
    bool is_plain = true;
#pragma unroll
    for (int i = 0; i < kElements; i += 2) {
      widen_two<kFrom>(read, i, x[i], x[i + 1]);
      is_plain = is_plain && fabsf(x[i]) <= kLargest<kTo> && fabsf(x[i + 1]) <= kLargest<kTo>;
    }
    if (is_plain) return narrow_all<kTo>(x, written);
    constexpr int kOfRead = 4 / kSize<kFrom>, kOfWritten = 4 / kSize<kTo>;
#pragma unroll
    for (int w = 0; w < kWords; ++w) written[w] = 0;
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const std::uint32_t bits = read[i / kOfRead] >> (i % kOfRead * 8 * kSize<kFrom>)&kMask<kFrom>;
      written[i / kOfWritten] |= narrowed<kTo>(widened<kFrom>(bits))
                                 << (i % kOfWritten * 8 * kSize<kTo>);
    }
  }
};

template <Element kFrom, Element kTo>
const void* cast_of() {
  if constexpr (kFrom == kTo) {
    return nullptr;
  } else {
    return reinterpret_cast<const void*>(&move_rows<Cast<kFrom, kTo>>);
  }
}
template <Element kFrom>
const void* cast_from(Element to) {
  switch (to) {
    case Element::F32:
      return cast_of<kFrom, Element::F32>();
    case Element::BF16:
      return cast_of<kFrom, Element::BF16>();
    case Element::F16:
      return cast_of<kFrom, Element::F16>();
    case Element::F8E4M3:
      return cast_of<kFrom, Element::F8E4M3>();
    case Element::F8E5M2:
      return cast_of<kFrom, Element::F8E5M2>();
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
