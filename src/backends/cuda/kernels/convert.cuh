#pragma once

#include <cstdint>

#include "core/small_float.hpp"
#include "plan/cuda_gemm_tile.hpp"

// Elements of any type to and from f32. Narrowing rounds to nearest even; NaN stays NaN.

namespace girih::inline v0::cuda {

__device__ inline float load_as_float(const void* data, Element type, std::int64_t i) {
  switch (type) {
    case Element::F32:
      return static_cast<const float*>(data)[i];
    case Element::BF16:
      return widen<kBf16>(static_cast<const std::uint16_t*>(data)[i]);
    case Element::F16:
      return widen<kF16>(static_cast<const std::uint16_t*>(data)[i]);
    case Element::F8E4M3:
      return widen<kF8E4M3>(static_cast<const std::uint8_t*>(data)[i]);
    case Element::F8E5M2:
      return widen<kF8E5M2>(static_cast<const std::uint8_t*>(data)[i]);
    case Element::I32:
      return static_cast<float>(static_cast<const std::int32_t*>(data)[i]);
    case Element::I8:
      return static_cast<float>(static_cast<const std::int8_t*>(data)[i]);
  }
  return 0.0f;
}

__device__ inline void store_from_float(void* data, Element type, std::int64_t i, float value) {
  switch (type) {
    case Element::F32:
      static_cast<float*>(data)[i] = value;
      return;
    case Element::BF16:
      static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(narrow<kBf16>(value));
      return;
    case Element::F16:
      static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(narrow<kF16>(value));
      return;
    case Element::F8E4M3:
      static_cast<std::uint8_t*>(data)[i] = static_cast<std::uint8_t>(narrow<kF8E4M3>(value));
      return;
    case Element::F8E5M2:
      static_cast<std::uint8_t*>(data)[i] = static_cast<std::uint8_t>(narrow<kF8E5M2>(value));
      return;
    default:
      return;
  }
}

}  // namespace girih::inline v0::cuda
