#include "check_kernels.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

namespace girih::cuda {

__device__ inline float read(const void* p, Element t, std::int64_t i) {
    if (t == Element::F32) return static_cast<const float*>(p)[i];
    if (t == Element::BF16) return __bfloat162float(static_cast<const __nv_bfloat16*>(p)[i]);
    return __half2float(static_cast<const __half*>(p)[i]);
}

__device__ inline std::uint32_t hash32(std::uint64_t x) {
    x ^= x >> 33, x *= 0xff51afd7ed558ccdull, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ull, x ^= x >> 33;
    return static_cast<std::uint32_t>(x);
}

// Uniform [-1, 1) where (inner, outer) lies inside the matrix, NaN everywhere else.
__global__ void fill_kernel(void* p, Element t, std::int64_t total, std::int64_t inner, std::int64_t outer, std::int64_t ld,
                     std::int64_t batch_stride, std::int64_t lead, std::uint64_t seed) {
    for (std::int64_t i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
        const std::int64_t j = i - lead, in_batch = batch_stride > 0 ? j % batch_stride : j;
        const bool inside = j >= 0 && in_batch % ld < inner && in_batch / ld < outer;
        const float v = inside ? hash32(seed * 0x9E3779B97F4A7C15ull + i) * (2.0f / 4294967296.0f) - 1.0f : CUDART_NAN_F;
        if (t == Element::F32) static_cast<float*>(p)[i] = v;
        if (t == Element::BF16) static_cast<__nv_bfloat16*>(p)[i] = __float2bfloat16(v);
        if (t == Element::F16) static_cast<__half*>(p)[i] = __float2half(v);
    }
}

__device__ inline double act64(Activation a, double x) {
    if (a == Activation::Relu) return x > 0 ? x : 0;
    if (a == Activation::GeluTanh) return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    if (a == Activation::Silu) return x / (1 + exp(-x));
    return x;
}

__global__ void compare_kernel(CheckArgs q, CheckResult* result) {
    const std::int64_t total = q.batch * q.m * q.n;
    for (std::int64_t i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
        const std::int64_t n = i % q.n, m = i / q.n % q.m, b = i / q.n / q.m;
        double sum = 0, mag = 0;
        for (std::int64_t k = 0; k < q.k; ++k) {
            const double t = double(read(q.a, q.type, b * q.a_b + m * q.a_m + k * q.a_k)) *
                             double(read(q.b, q.type, b * q.b_b + k * q.b_k + n * q.b_n));
            sum += t, mag += fabs(t);
        }
        const auto& e = q.e;
        double scale = e.alpha.device ? *e.alpha.device : e.alpha.value;
        const double beta = e.beta.device ? *e.beta.device : e.beta.value;
        if (e.row_scale.data) scale *= read(e.row_scale.data, Element::F32, b * e.row_scale.batch_stride + m);
        if (e.col_scale.data) scale *= read(e.col_scale.data, Element::F32, b * e.col_scale.batch_stride + n);
        double v = scale * sum, err = fabs(scale) * mag * (q.k + 8) * 6e-8 * 2;
        if (beta != 0) {
            const double c = beta * read(e.c.data, e.c.type, b * e.c.batch_stride + m * e.c.ld + n);
            v += c, err += fabs(c) * 1e-6;
        }
        if (e.bias.data) v += read(e.bias.data, e.bias.type, b * e.bias.batch_stride + n);
        err += fabs(v) * 1e-6;
        v = act64(e.activation, v);
        err = err * 1.2 + (fabs(v) + 1e-3) * 2e-6;
        if (e.residual.data) v += read(e.residual.data, e.residual.type, b * e.residual.batch_stride + m * e.residual.ld + n);
        err += fabs(v) * (e.out.type == Element::F32 ? 1.2e-7 : e.out.type == Element::BF16 ? 1.0 / 256 : 1.0 / 2048) + 1e-7;
        const double got = read(e.out.data, e.out.type, b * e.out.batch_stride + m * e.out.ld + n);
        const double ratio = fabs(got - v) / err;
        if (!(ratio <= 1)) {
            if (atomicAdd(&result->bad, 1ull) == 0) result->where = i;
        }
        if (ratio == ratio) atomicMax(reinterpret_cast<int*>(&result->worst), __float_as_int(float(ratio)));
    }
}

// Counts bytes outside the matrix that are not poison any more.
__global__ void guard_kernel(const std::uint8_t* p, std::int64_t bytes, std::int64_t lead, std::int64_t row_bytes,
                      std::int64_t ld_bytes, std::int64_t rows, std::int64_t batch_bytes, std::int64_t batch,
                      std::uint8_t poison, CheckResult* result) {
    for (std::int64_t i = blockIdx.x * 256ll + threadIdx.x; i < bytes; i += gridDim.x * 256ll) {
        const std::int64_t j = i - lead;
        const bool inside = j >= 0 && j / batch_bytes < batch && j % batch_bytes / ld_bytes < rows &&
                            j % batch_bytes % ld_bytes < row_bytes;
        if (!inside && p[i] != poison) atomicAdd(&result->bad, 1ull << 32);
    }
}

void fill(void* p, Element t, std::int64_t total, std::int64_t inner, std::int64_t outer, std::int64_t ld,
          std::int64_t batch_stride, std::int64_t lead, std::uint64_t seed) {
    fill_kernel<<<1056, 256>>>(p, t, total, inner, outer, ld, batch_stride, lead, seed);
}
__global__ void count_nan_kernel(const void* p, Element t, std::int64_t total, CheckResult* result) {
    for (std::int64_t i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
        const float v = read(p, t, i);
        if (v != v) atomicAdd(&result->bad, 1ull);
    }
}
void count_nan(const void* p, Element t, std::int64_t total, CheckResult* result) {
    count_nan_kernel<<<1056, 256>>>(p, t, total, result);
}
void compare(const CheckArgs& args, CheckResult* result) { compare_kernel<<<528, 256>>>(args, result); }
void guard(const std::uint8_t* p, std::int64_t bytes, std::int64_t lead, std::int64_t row_bytes, std::int64_t ld_bytes,
           std::int64_t rows, std::int64_t batch_bytes, std::int64_t batch, std::uint8_t poison, CheckResult* result) {
    guard_kernel<<<264, 256>>>(p, bytes, lead, row_bytes, ld_bytes, rows, batch_bytes, batch, poison, result);
}

}  // namespace girih::cuda
