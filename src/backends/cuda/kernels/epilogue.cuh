#pragma once
// The arithmetic after the product, four neighbouring elements of one row of C at a time; boxes and
// fragments, whose epilogues have less, share its parts. Every path rounds the same operations in
// the same order and adds a bias, of 0 if there is none, so that all give the same bits.

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backends/cuda/kernels/gemm_params.hpp"

namespace girih::inline v0::cuda {

__device__ __forceinline__ float resolve(const ScalarRef& scalar) {
  return scalar.device != nullptr ? *scalar.device : scalar.value;
}

__device__ __forceinline__ std::uint32_t pack(Element type, float x, float y) {
  if (type == Element::BF16) {
    const __nv_bfloat162 v = __floats2bfloat162_rn(x, y);
    return reinterpret_cast<const std::uint32_t&>(v);
  }
  const __half2 v = __floats2half2_rn(x, y);
  return reinterpret_cast<const std::uint32_t&>(v);
}

__device__ __forceinline__ float2 unpack(Element type, std::uint32_t bits) {
  if (type == Element::BF16)
    return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xFFFF0000u)};
  return __half22float2(reinterpret_cast<const __half2&>(bits));
}

// Four elements from `index` on, `count` of which exist; one 8- or 16-byte access where all four do
// and are aligned.
struct Quad {
  const void* data;
  Element type;
  std::int64_t index;
  int count;

  __device__ __forceinline__ void load(float (&v)[4]) const {
    if (type == Element::F32) {
      const float* from = static_cast<const float*>(data) + index;
      if (whole(from, 15)) {
        const float4 x = *reinterpret_cast<const float4*>(from);
        v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) v[i] = i < count ? from[i] : 0.0f;
      }
      return;
    }
    const std::uint16_t* from = static_cast<const std::uint16_t*>(data) + index;
    uint2 bits{};
    if (whole(from, 7)) {
      bits = *reinterpret_cast<const uint2*>(from);
    } else {
      std::uint32_t h[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) h[i] = i < count ? from[i] : 0;
      bits = {h[0] | h[1] << 16, h[2] | h[3] << 16};
    }
    const float2 lo = unpack(type, bits.x), hi = unpack(type, bits.y);
    v[0] = lo.x, v[1] = lo.y, v[2] = hi.x, v[3] = hi.y;
  }
  __device__ __forceinline__ void store(const float (&v)[4]) const {
    if (type == Element::F32) {
      float* to = static_cast<float*>(const_cast<void*>(data)) + index;
      if (whole(to, 15)) {
        *reinterpret_cast<float4*>(to) = {v[0], v[1], v[2], v[3]};
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (i < count) to[i] = v[i];
        }
      }
      return;
    }
    std::uint16_t* to = static_cast<std::uint16_t*>(const_cast<void*>(data)) + index;
    const uint2 bits{pack(type, v[0], v[1]), pack(type, v[2], v[3])};
    if (whole(to, 7)) {
      *reinterpret_cast<uint2*>(to) = bits;
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i < count)
        to[i] = static_cast<std::uint16_t>((i < 2 ? bits.x : bits.y) >> (16 * (i % 2)));
    }
  }

 private:
  __device__ __forceinline__ bool whole(const void* at, std::uint64_t mask) const {
    return count == 4 && (reinterpret_cast<std::uint64_t>(at) & mask) == 0;
  }
};

// The larger of two; NaN if x is.
__device__ __forceinline__ float max_or_nan(float x, float least) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(x), "f"(least));
  return larger;
}

// x / (1 + 2^t). 2^t may be infinite, then this is 0 or -0.
__device__ __forceinline__ float weighed(float x, float t) {
  float e, r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(t));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(1.0f + e));
  return x * r;
}

// 0.5 x (1 + tanh(u)) = x / (1 + exp(-2 u)) with u = sqrt(2 / pi) (x + 0.044715 x^3): no
// cancellation for negative x, and no clamp for positive ones, because that end of the exponential
// has the right limit. Below -16 it is 0 in f32: an infinite x must not meet a weight of 0.
__device__ __forceinline__ float gelu(float x) {
  constexpr float kLinear = -2.302208198f,
                  kCubic = -0.1029432397f;  // -2 sqrt(2 / pi) log2(e), times 0.044715
  x = max_or_nan(x, -16.0f);
  return weighed(x, x * fmaf(kCubic, x * x, kLinear));
}
// x / (1 + exp(-x)), 0 below -200.
__device__ __forceinline__ float silu(float x) {
  x = max_or_nan(x, -200.0f);
  return weighed(x, -1.442695041f * x);
}

// One branch for all kCount numbers: with one a number the epilogue took three times as long.
template <int kCount>
__device__ __forceinline__ void activate(ActivationKind activation, float* v) {
  if (activation == ActivationKind::Relu) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = max_or_nan(v[i], 0.0f);
  } else if (activation == ActivationKind::GeluTanh) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = gelu(v[i]);
  } else if (activation == ActivationKind::Silu) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = silu(v[i]);
  }
}

// Element n of a vector that has `end` of them.
__device__ __forceinline__ float load_one(const VectorRef& x, std::int64_t batch, int n, int end) {
  if (n >= end) return 0.0f;
  const std::int64_t i = batch * x.batch_stride + n;
  if (x.type == Element::F32) return __ldg(static_cast<const float*>(x.data) + i);
  return unpack(x.type, __ldg(static_cast<const std::uint16_t*>(x.data) + i)).x;
}

// Elements n and n + 1 of a vector that has `end` of them.
__device__ __forceinline__ float2 load_pair(const VectorRef& x, std::int64_t batch, int n,
                                            int end) {
  const std::int64_t i = batch * x.batch_stride + n;
  if (x.type == Element::F32) {
    const float* from = static_cast<const float*>(x.data) + i;
    return {n < end ? __ldg(from) : 0.0f, n + 1 < end ? __ldg(from + 1) : 0.0f};
  }
  const std::uint16_t* from = static_cast<const std::uint16_t*>(x.data) + i;
  const std::uint32_t lo = n < end ? __ldg(from) : 0, hi = n + 1 < end ? __ldg(from + 1) : 0;
  return unpack(x.type, lo | hi << 16);
}

// A factor of a row or column that has `end` of them; 1 where there are none.
__device__ __forceinline__ float load_scale(const VectorRef& x, std::int64_t batch, int i,
                                            int end) {
  if (x.data == nullptr) return 1.0f;
  if (i >= end) return 0.0f;
  return __ldg(static_cast<const float*>(x.data) + batch * x.batch_stride + i * x.stride);
}

// Four elements of an i32 C, `left` of which exist, from the bits of their sums: stored, or added
// to what is there with saturation.
__device__ __forceinline__ void finish_integers(const EpilogueParams& e, int m, int n, int left,
                                                int batch, float4 sums) {
  const std::int64_t at = batch * e.out.batch_stride + static_cast<std::int64_t>(m) * e.out.ld + n;
  std::int32_t* const out = static_cast<std::int32_t*>(e.out.data) + at;
  const float bits[4] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i >= left) continue;
    std::int32_t sum = __float_as_int(bits[i]);
    if (e.c.data != nullptr) asm("add.sat.s32 %0, %0, %1;" : "+r"(sum) : "r"(out[i]));
    out[i] = sum;
  }
}

// What the epilogue needs of four columns n .. n + count - 1 of batch b, whatever the row.
struct ColumnQuad {
  float scale[4];  // alpha times the column scale
  float bias[4];
  int n, b, count;

  __device__ __forceinline__ ColumnQuad(const EpilogueParams& e, int column, int left, int batch)
      : n(column), b(batch), count(min(left, 4)) {
    const float alpha = resolve(e.alpha);
#pragma unroll
    for (int i = 0; i < 4; ++i) scale[i] = alpha, bias[i] = 0.0f;
    if (e.col_scale.data != nullptr) {
      const float* from =
          static_cast<const float*>(e.col_scale.data) + b * e.col_scale.batch_stride;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scale[i] = i < count ? alpha * from[(n + i) * e.col_scale.stride] : 0.0f;
    }
    if (e.bias.data != nullptr)
      Quad{e.bias.data, e.bias.type, b * e.bias.batch_stride + n, count}.load(bias);
  }
};

// The epilogue of kRows quads: rows m, m + step, ... below m_end. `v` holds the plain product,
// which rows scale if `scales_rows`. Every branch but the row test is uniform, and is taken once
// for all kRows.
template <int kRows>
__device__ __forceinline__ void finish(const EpilogueParams& e, const ColumnQuad& q,
                                       float (&v)[kRows][4], int m, int step, int m_end,
                                       bool scales_rows = true) {
  const auto at = [&](const MatrixRef& x, int r) {
    return Quad{x.data, x.type,
                q.b * x.batch_stride + static_cast<std::int64_t>(m + r * step) * x.ld + q.n,
                q.count};
  };
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int i = 0; i < 4; ++i) v[r][i] = __fmul_rn(v[r][i], q.scale[i]);
  }
  if (scales_rows && e.row_scale.data != nullptr) {
    const float* scales =
        static_cast<const float*>(e.row_scale.data) + q.b * e.row_scale.batch_stride;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float scale = m + r * step < m_end ? scales[(m + r * step) * e.row_scale.stride] : 0.0f;
#pragma unroll
      for (int i = 0; i < 4; ++i) v[r][i] = __fmul_rn(v[r][i], scale);
    }
  }
  if (e.c.data != nullptr) {
    const float beta = resolve(e.beta);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float c[4] = {};
      if (m + r * step < m_end) at(e.c, r).load(c);
#pragma unroll
      for (int i = 0; i < 4; ++i) v[r][i] = fmaf(beta, c[i], v[r][i]);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int i = 0; i < 4; ++i) v[r][i] = __fadd_rn(v[r][i], q.bias[i]);
  }
  activate<kRows * 4>(e.activation, &v[0][0]);
  if (e.residual.data != nullptr) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float c[4] = {};
      if (m + r * step < m_end) at(e.residual, r).load(c);
#pragma unroll
      for (int i = 0; i < 4; ++i) v[r][i] = __fadd_rn(v[r][i], c[i]);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (m + r * step < m_end) at(e.out, r).store(v[r]);
  }
}

}  // namespace girih::inline v0::cuda
