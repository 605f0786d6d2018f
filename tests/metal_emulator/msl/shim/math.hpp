#pragma once

#include "shim/types.hpp"

// Functions of half and bfloat compute in f32 and round once, as one instruction of a GPU does.

namespace metal {

#define GIRIH_SHIM_FUNCTION(name, expression)                \
  inline float name(float x) {                               \
    return expression;                                       \
  }                                                          \
  inline half name(half value) {                             \
    const float x = static_cast<float>(value);               \
    return static_cast<half>(expression);                    \
  }                                                          \
  inline bfloat name(bfloat value) {                         \
    const float x = static_cast<float>(value);               \
    return static_cast<bfloat>(expression);                  \
  }                                                          \
  template <int kCount>                                      \
  inline vec<float, kCount> name(vec<float, kCount> value) { \
    vec<float, kCount> result;                               \
    for (int i = 0; i < kCount; ++i) {                       \
      const float x = value[i];                              \
      result[i] = expression;                                \
    }                                                        \
    return result;                                           \
  }
#define GIRIH_SHIM_FUNCTIONS                    \
  GIRIH_SHIM_FUNCTION(exp, ::expf(x))           \
  GIRIH_SHIM_FUNCTION(exp2, ::exp2f(x))         \
  GIRIH_SHIM_FUNCTION(log, ::logf(x))           \
  GIRIH_SHIM_FUNCTION(log2, ::log2f(x))         \
  GIRIH_SHIM_FUNCTION(sqrt, ::sqrtf(x))         \
  GIRIH_SHIM_FUNCTION(rsqrt, 1.0F / ::sqrtf(x)) \
  GIRIH_SHIM_FUNCTION(tanh, ::tanhf(x))         \
  GIRIH_SHIM_FUNCTION(sin, ::sinf(x))           \
  GIRIH_SHIM_FUNCTION(cos, ::cosf(x))           \
  GIRIH_SHIM_FUNCTION(floor, ::floorf(x))       \
  GIRIH_SHIM_FUNCTION(ceil, ::ceilf(x))         \
  GIRIH_SHIM_FUNCTION(rint, ::rintf(x))         \
  GIRIH_SHIM_FUNCTION(trunc, ::truncf(x))       \
  GIRIH_SHIM_FUNCTION(fabs, ::fabsf(x))         \
  inline float pow(float x, float y) {          \
    return ::powf(x, y);                        \
  }

GIRIH_SHIM_FUNCTIONS
namespace precise {
GIRIH_SHIM_FUNCTIONS
}
namespace fast {
GIRIH_SHIM_FUNCTIONS
}
#undef GIRIH_SHIM_FUNCTIONS
#undef GIRIH_SHIM_FUNCTION

inline float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}

/// Both operands of one type, as the language's overloads ask.
template <class T>
inline T max(T a, T b) {
  return a > b ? a : b;
}
template <class T>
inline T min(T a, T b) {
  return a < b ? a : b;
}
template <class T>
inline T clamp(T value, T low, T high) {
  return min(max(value, low), high);
}
template <class T>
inline T abs(T value) {
  return value < T(0) ? T(-value) : value;
}
template <class T>
inline T select(T a, T b, bool condition) {
  return condition ? b : a;
}
inline bool isnan(float x) {
  return __builtin_isnan(x);
}
inline bool isinf(float x) {
  return __builtin_isinf(x);
}
inline bool isfinite(float x) {
  return __builtin_isfinite(x);
}
inline int popcount(uint value) {
  return std::popcount(value);
}
inline int clz(uint value) {
  return std::countl_zero(value);
}

}  // namespace metal
