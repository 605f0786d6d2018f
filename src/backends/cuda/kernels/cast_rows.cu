// Casts of rows.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backends/cuda/kernels/move_kernels.hpp"
#include "backends/cuda/kernels/move_rows.cuh"
#include "core/small_float.hpp"

namespace girih::inline v0::cuda {
namespace {

template <Element kType>
constexpr int kSize = kType == Element::F32                             ? 4
                      : kType == Element::BF16 || kType == Element::F16 ? 2
                                                                        : 1;

template <Element kType>
constexpr FloatFormat kFormat = kType == Element::BF16     ? kBf16
                                : kType == Element::F16    ? kF16
                                : kType == Element::F8E4M3 ? kF8E4M3
                                                           : kF8E5M2;

// The conversion unit makes every NaN one and the same; as in widen and narrow, NaN keep what fits
// of them.
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
  } else if constexpr (kType == Element::F8E4M3) {
    // The exponent's bias is 8 less than that of f16.
    const float x = 256.0f * half((bits & 0x80u) << 8 | (bits & 0x7Fu) << 7);
    return is_nan ? widened_nan<kFrom>(bits) : x;
  } else {
    return is_nan ? widened_nan<kFrom>(bits) : half(bits << 8);
  }
}

// Of what does not overflow: the instruction saturates.
template <Element kType>
__device__ __forceinline__ std::uint32_t eighth(float x) {
#if __CUDA_ARCH__ >= 890
  std::uint16_t pair;
  if constexpr (kType == Element::F8E4M3) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  }
  return pair;
#else
  return narrow<kFormat<kType>>(x);
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
    return fabsf(x) <= 464.0f ? eighth<kType>(x) : narrowed_nan<kF8E4M3>(bits);
  } else {
    const std::uint32_t infinity = bits >> 24 & 0x80u | 0x7Cu;
    const std::uint32_t large = x != x ? narrowed_nan<kF8E5M2>(bits) : infinity;
    return fabsf(x) < 61440.0f ? eighth<kType>(x) : large;
  }
}

template <Element kFrom, Element kTo>
struct Cast {
  static constexpr RowUnit kUnit = row_unit(kSize<kFrom>, kSize<kTo>);
  static constexpr int kOfRead = 4 / kSize<kFrom>, kOfWritten = 4 / kSize<kTo>;
  static constexpr std::uint32_t kMask =
      kSize<kFrom> == 4 ? ~0u : (1u << (8 * kSize<kFrom> % 32)) - 1;
  __device__ explicit Cast(const RowParams&) {}
  __device__ static void element(const char* from, char* to) {
    using From = typename Bytes<kSize<kFrom>>::Type;
    using To = typename Bytes<kSize<kTo>>::Type;
    *reinterpret_cast<To*>(to) =
        static_cast<To>(narrowed<kTo>(widened<kFrom>(*reinterpret_cast<const From*>(from))));
  }
  template <int kWords>
  __device__ static void unit(const std::uint32_t* read, std::uint32_t (&written)[kWords]) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      written[w] = 0;
#pragma unroll
      for (int e = 0; e < kOfWritten; ++e) {
        const int i = w * kOfWritten + e;
        const std::uint32_t bits = read[i / kOfRead] >> (i % kOfRead * 8 * kSize<kFrom>)&kMask;
        written[w] |= narrowed<kTo>(widened<kFrom>(bits)) << (e * 8 * kSize<kTo>);
      }
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
