#pragma once
// Elements of any strides, and what kernels without matrix instructions are told about them.

#include "backends/cuda/kernels/epilogue.cuh"
#include "backends/cuda/kernels/simt_params.hpp"

namespace girih::inline v0::cuda {

__device__ __forceinline__ float load_float(const StridedRef& x, std::int64_t at) {
  if (x.type == Element::F32) return static_cast<const float*>(x.data)[at];
  return unpack(x.type, static_cast<const std::uint16_t*>(x.data)[at]).x;
}
__device__ __forceinline__ void store_float(const StridedRef& x, std::int64_t at, float value) {
  if (x.type == Element::F32) {
    static_cast<float*>(const_cast<void*>(x.data))[at] = value;
  } else {
    static_cast<std::uint16_t*>(const_cast<void*>(x.data))[at] =
        static_cast<std::uint16_t>(pack(x.type, value, 0.0f));
  }
}
__device__ __forceinline__ float resolve(const SimtScalar& scalar) {
  return scalar.device != nullptr ? *scalar.device : scalar.value;
}

}  // namespace girih::inline v0::cuda
