// All that follows a product's f32 sums, from the workspace: factors, bias, a gate of two columns
// or an activation, the residual, and the rounding to C's type.

#include "backends/cuda/kernels/finish_params.hpp"
#include "backends/cuda/kernels/gate.cuh"
#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "backends/cuda/kernels/strided.cuh"
#include "core/quantise.hpp"

namespace girih::inline v0::cuda {
namespace {

/// Column j of the product with its factors and its bias.
__device__ __forceinline__ float column_at(const FinishParams& p, std::int64_t batch,
                                           std::int64_t m, std::int64_t j) {
  float v = 0.0f;
  if (p.sums != nullptr) {
    float scale = resolve(p.alpha);
    if (p.b_scale.data != nullptr) {
      scale *= load_float(p.b_scale, batch * p.b_scale.batch + j * p.b_scale.column);
    }
    v = __fmul_rn(p.sums[(batch * p.m + m) * p.sums_ld + j], scale);
    if (p.a_scale.data != nullptr) {
      v = __fmul_rn(v, load_float(p.a_scale, batch * p.a_scale.batch + m * p.a_scale.row));
    }
  }
  if (p.bias.data == nullptr) return __fadd_rn(v, 0.0f);  // as every epilogue: -0 becomes 0
  return __fadd_rn(v, load_float(p.bias, batch * p.bias.batch + j * p.bias.column));
}

__device__ __forceinline__ void store(const FinishParams& p, std::int64_t at, float v) {
  if (p.c.type != Element::I8 && p.c.type != Element::F8E4M3 && p.c.type != Element::F8E5M2) {
    return store_float(p.c, at, v);
  }
  v = __fmul_rn(v, resolve(p.c_scale));
  static_cast<std::uint8_t*>(const_cast<void*>(p.c.data))[at] =
      p.c.type == Element::I8       ? static_cast<std::uint8_t>(quantise_i8(v))
      : p.c.type == Element::F8E4M3 ? quantise_float<kF8E4M3>(v)
                                    : quantise_float<kF8E5M2>(v);
}

__global__ void __launch_bounds__(kGateThreads)
    gemm_finish(const __grid_constant__ FinishParams p) {
  const std::int64_t segments = (p.n + kGateThreads - 1) / kGateThreads;
  for (std::int64_t unit = blockIdx.x; unit < p.batch * p.m * segments; unit += gridDim.x) {
    const std::int64_t row = unit / segments;
    const std::int64_t n = (unit - row * segments) * kGateThreads + threadIdx.x;
    if (n >= p.n) continue;
    const std::int64_t batch = row / p.m, m = row - batch * p.m;
    const std::int64_t j = n * p.step;
    float v = column_at(p, batch, m, j);
    if (p.gates) {
      const float up = column_at(p, batch, m, j + p.partner);
      join<1>(p.gate, &v, &up);
    } else {
      activate<1>(static_cast<ActivationKind>(p.gate.activation), &v);
    }
    if (p.residual.data != nullptr) {
      v = __fadd_rn(v, load_float(p.residual, batch * p.residual.batch + m * p.residual.row +
                                                  n * p.residual.column));
    }
    store(p, batch * p.c.batch + m * p.c.row + n * p.c.column, v);
  }
}

}  // namespace

const void* gemm_finish_kernel() {
  return reinterpret_cast<const void*>(&gemm_finish);
}

}  // namespace girih::inline v0::cuda
