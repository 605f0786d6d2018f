#pragma once
// The epilogue of neighbouring elements of a row at once, for any strides: as finish_element, which
// takes one, rounds.

#include "backends/cuda/kernels/simt_finish.cuh"

namespace girih::inline v0::cuda {

/// Elements at, at + step, ... of which `count` exist; one branch on the type for all.
template <int kCount>
__device__ __forceinline__ void load_floats(const StridedRef& x, std::int64_t at, std::int64_t step,
                                            int count, float (&v)[kCount]) {
  if (x.type == Element::F32) {
    const float* const from = static_cast<const float*>(x.data) + at;
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = i < count ? from[i * step] : 0.0f;
  } else {
    const std::uint16_t* const from = static_cast<const std::uint16_t*>(x.data) + at;
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = i < count ? unpack(x.type, from[i * step]).x : 0.0f;
  }
}
template <int kCount>
__device__ __forceinline__ void store_floats(const StridedRef& x, std::int64_t at,
                                             std::int64_t step, int count,
                                             const float (&v)[kCount]) {
  if (x.type == Element::F32) {
    float* const to = static_cast<float*>(const_cast<void*>(x.data)) + at;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i < count) to[i * step] = v[i];
    }
  } else {
    auto* const to = static_cast<std::uint16_t*>(const_cast<void*>(x.data)) + at;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i < count) to[i * step] = static_cast<std::uint16_t>(pack(x.type, v[i], 0.0f));
    }
  }
}

/// Elements n, n + 1, ... of row m, of which `count` exist, from their sums.
template <int kCount>
__device__ __forceinline__ void finish_elements(const SimtParams& p, std::int64_t batch,
                                                std::int64_t m, std::int64_t n, int count,
                                                float (&v)[kCount]) {
  const auto place = [&](const StridedRef& x) {
    return batch * x.batch + m * x.row + n * x.column;
  };
  float x[kCount];
  float scale = p.k == 0 ? 0.0f : resolve(p.alpha);
  if (p.b_scale.data != nullptr) {
    load_floats(p.b_scale, batch * p.b_scale.batch + n * p.b_scale.column, p.b_scale.column, count,
                x);
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = __fmul_rn(v[i], scale * x[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = __fmul_rn(v[i], scale);
  }
  if (p.a_scale.data != nullptr) {
    scale = load_float(p.a_scale, batch * p.a_scale.batch + m * p.a_scale.row);
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = __fmul_rn(v[i], scale);
  }
  if (p.k == 0) {  // the sum is 0, whatever its factors
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = 0.0f;
  }
  if (p.reads_c) {
    scale = resolve(p.beta);
    load_floats(p.c, place(p.c), p.c.column, count, x);
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = fmaf(scale, x[i], v[i]);
  }
  if (p.bias.data != nullptr) {
    load_floats(p.bias, place(p.bias), p.bias.column, count, x);
  } else {  // 0, as the other epilogues add
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = 0.0f;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) v[i] = __fadd_rn(v[i], x[i]);
  activate<kCount>(static_cast<ActivationKind>(p.activation), v);
  if (p.residual.data != nullptr) {
    load_floats(p.residual, place(p.residual), p.residual.column, count, x);
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = __fadd_rn(v[i], x[i]);
  }
  store_floats(p.c, place(p.c), p.c.column, count, v);
}

}  // namespace girih::inline v0::cuda
