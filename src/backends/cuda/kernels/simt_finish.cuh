#pragma once
// The epilogue of one element at a time, for any strides.

#include "backends/cuda/kernels/strided.cuh"

namespace girih::inline v0::cuda {

__device__ __forceinline__ void finish_i32(const SimtParams& p, std::int64_t at, long long sum) {
  auto* const c = static_cast<std::int32_t*>(const_cast<void*>(p.c.data)) + at;
  if (p.reads_c) sum += *c;
  constexpr long long kTop = 2147483647;
  *c = static_cast<std::int32_t>(sum > kTop ? kTop : sum < -kTop - 1 ? -kTop - 1 : sum);
}

/// One element from its sum.
__device__ __forceinline__ void finish_element(const SimtParams& p, std::int64_t batch,
                                               std::int64_t m, std::int64_t n, float sum) {
  float scale = resolve(p.alpha);
  if (p.b_scale.data != nullptr) {
    scale *=
        static_cast<const float*>(p.b_scale.data)[batch * p.b_scale.batch + n * p.b_scale.column];
  }
  float v = p.k == 0 ? 0.0f : __fmul_rn(sum, scale);
  if (p.a_scale.data != nullptr && p.k != 0) {
    v = __fmul_rn(
        v, static_cast<const float*>(p.a_scale.data)[batch * p.a_scale.batch + m * p.a_scale.row]);
  }
  const std::int64_t at = batch * p.c.batch + m * p.c.row + n * p.c.column;
  if (p.reads_c) v = fmaf(resolve(p.beta), load_float(p.c, at), v);
  // A bias of 0 where there is none, as the other epilogues add.
  const float bias =
      p.bias.data == nullptr ? 0.0f : load_float(p.bias, batch * p.bias.batch + n * p.bias.column);
  v = __fadd_rn(v, bias);
  activate<1>(static_cast<ActivationKind>(p.activation), &v);
  if (p.residual.data != nullptr) {
    v = __fadd_rn(v, load_float(p.residual, batch * p.residual.batch + m * p.residual.row +
                                                n * p.residual.column));
  }
  store_float(p.c, at, v);
}

}  // namespace girih::inline v0::cuda
