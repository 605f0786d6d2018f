#pragma once
#include "backends/metal/kernels/common.h"

// The arithmetic after the product, one element of C at a time.

struct EpilogueBuffers {
  device uchar* c;
  device const uchar* residual;
  device const uchar* bias;
  device const float* a_scale;
  device const float* b_scale;
  device const float* alpha;
  device const float* beta;
};

inline float load_element(device const uchar* data, Word type, Index i) {
  if (type == kF32) return reinterpret_cast<device const float*>(data)[i];
  if (type == kBF16) return float(reinterpret_cast<device const bfloat*>(data)[i]);
  return float(reinterpret_cast<device const half*>(data)[i]);
}

inline void store_element(device uchar* data, Word type, Index i, float value) {
  if (type == kF32) {
    reinterpret_cast<device float*>(data)[i] = value;
  } else if (type == kBF16) {
    reinterpret_cast<device bfloat*>(data)[i] = bfloat(value);
  } else {
    reinterpret_cast<device half*>(data)[i] = half(value);
  }
}

// x weight; 0 where the weight is, also for x = -infinity.
inline float weighted(float x, float weight) {
  return weight == 0.0f ? 0.0f : x * weight;
}

// GELU as x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3): both ends of the exponential
// have the right limit, where the fast tanh gives NaN beyond 10.
inline float activate(float x, Word activation, float silu_alpha = 1.0f) {
  if (activation == 1) return x < 0.0f ? 0.0f : x;  // NaN stays
  if (activation == 2) {
    const float twice_u = x * (1.5957691216f + 0.0713548163f * x * x);
    return weighted(x, 1.0f / (1.0f + precise::exp(-twice_u)));
  }
  if (activation == 3) return weighted(x, 1.0f / (1.0f + precise::exp(-(silu_alpha * x))));
  return x;
}

// The sum with its factors, C and bias. `side` is 1 for the u of a gate.
inline float add_up(float sum, Index m, Index n, Index batch, Index side,
                    thread const EpilogueBuffers& buffers, constant GemmParams& p) {
  float x = sum * (p.is_alpha_on_device != 0 ? *buffers.alpha : p.alpha);
  if (p.a_scale.is_present != 0) {
    x *= buffers.a_scale[batch * p.a_scale.batch + m * p.a_scale.row];
  }
  if (p.b_scale.is_present != 0) {
    x *= buffers.b_scale[batch * p.b_scale.batch + n * p.b_scale.column + side * p.b_scale_up];
  }
  if (p.reads_c != 0) {
    const float beta = p.is_beta_on_device != 0 ? *buffers.beta : p.beta;
    const Index at = batch * p.c.batch + m * p.c.row + n * p.c.column;
    x = fma(beta, load_element(buffers.c, p.c.type, at), x);
  }
  if (p.bias.is_present != 0) {
    x += load_element(buffers.bias, p.bias.type,
                      batch * p.bias.batch + n * p.bias.column + side * p.bias_up);
  }
  return x;
}

// Adds the residual and writes an element of C.
inline void put(float x, Index m, Index n, Index batch, thread const EpilogueBuffers& buffers,
                constant GemmParams& p) {
  if (p.residual.is_present != 0) {
    const Index from = batch * p.residual.batch + m * p.residual.row + n * p.residual.column;
    x += load_element(buffers.residual, p.residual.type, from);
  }
  store_element(buffers.c, p.c.type, batch * p.c.batch + m * p.c.row + n * p.c.column, x);
}

inline void finish(float sum, Index m, Index n, Index batch, thread const EpilogueBuffers& buffers,
                   constant GemmParams& p) {
  put(activate(add_up(sum, m, n, batch, 0, buffers, p), p.activation), m, n, batch, buffers, p);
}

// The gate of two columns. NaN stays NaN.
inline void finish_gated(float g, float u, Index m, Index n, Index batch,
                         thread const EpilogueBuffers& buffers, constant GemmParams& p) {
  g = add_up(g, m, n, batch, 0, buffers, p);
  u = add_up(u, m, n, batch, 1, buffers, p);
  g = g > p.gate_limit ? p.gate_limit : g;
  u = u > p.gate_limit ? p.gate_limit : u;
  u = u < -p.gate_limit ? -p.gate_limit : u;
  put(activate(g, p.activation, p.gate_alpha) * (u + p.up_offset), m, n, batch, buffers, p);
}

// An i32 C is the sum, plus itself if it is read, saturated.
inline void finish(int sum, Index m, Index n, Index batch, thread const EpilogueBuffers& buffers,
                   constant GemmParams& p) {
  if (p.c.type != kI32) {
    finish(float(sum), m, n, batch, buffers, p);
    return;
  }
  device int* const c = reinterpret_cast<device int*>(buffers.c);
  const Index at = batch * p.c.batch + m * p.c.row + n * p.c.column;
  Index x = sum;
  if (p.reads_c != 0) x += c[at];
  c[at] = int(clamp(x, Index(-2147483648l), Index(2147483647l)));
}

// An element of one product: straight to C, or to the partial sums of its slice.
template <typename Sum>
inline void deliver(Sum sum, Index m, Index n, Index batch, Index slice, device uchar* partials,
                    thread const EpilogueBuffers& buffers, constant GemmParams& p) {
  if (p.slices > 1) {
    const Index at = ((slice * p.batch + batch) * p.m + m) * p.n + n;
    reinterpret_cast<device Sum*>(partials)[at] = sum;
  } else {
    finish(sum, m, n, batch, buffers, p);
  }
}

// The same for the two sums that a gate joins.
template <typename Sum>
inline void deliver_gated(Sum g, Sum u, Index m, Index n, Index batch, Index slice,
                          device uchar* partials, thread const EpilogueBuffers& buffers,
                          constant GemmParams& p) {
  if (p.slices > 1) {
    const Index at = ((slice * p.batch + batch) * p.m + m) * 2 * p.n + n;
    reinterpret_cast<device Sum*>(partials)[at] = g;
    reinterpret_cast<device Sum*>(partials)[at + p.n] = u;
  } else {
    finish_gated(float(g), float(u), m, n, batch, buffers, p);
  }
}
