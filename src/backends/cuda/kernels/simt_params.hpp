#pragma once

#include <cstdint>

#include "plan/cuda_gemm_tile.hpp"

// What the kernels without matrix instructions are given, by value: any strides, in elements, and
// any alignment. Plain C++.

namespace girih::inline v0::cuda {

struct StridedRef {
  const void* data = nullptr;
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t batch = 0;
  Element type = Element::F32;
};

/// A number known now, or one element of device memory that is read when the kernel runs.
struct SimtScalar {
  float value = 0;
  const float* device = nullptr;
};

/// c = activation(alpha * a_scale[m] * b_scale[n] * (A B) + beta * c + bias[n]) + residual. Absent
/// terms have null data; c is read if `reads_c`, A and B if k > 0. An i32 c is the sum, plus itself
/// if it is read, saturated.
struct SimtParams {
  StridedRef a, b, c, residual;
  StridedRef bias;              ///< `column` along n
  StridedRef a_scale, b_scale;  ///< `row` along m, `column` along n
  SimtScalar alpha, beta;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool reads_c = false;
  std::uint8_t activation = 0;  ///< as ActivationKind
};

constexpr int kSimtTile = 64;

/// destination[i] = convert(source[i]), or the low bytes of `pattern`. The last dimension is walked
/// by neighbouring threads.
struct WalkParams {
  static constexpr int kRank = 6;
  const void* source = nullptr;
  void* destination = nullptr;
  std::int64_t extents[kRank] = {1, 1, 1, 1, 1, 1};  ///< of the last `rank` dimensions, others 1
  std::int64_t source_strides[kRank] = {};
  std::int64_t destination_strides[kRank] = {};
  std::uint64_t pattern = 0;
  std::int64_t segments = 0;  ///< pieces of kWalkSegment elements of the last dimension, in all
  std::int64_t segments_per_row = 1;
  Element source_type = Element::F32;  ///< of a cast
  Element destination_type = Element::F32;
  int bytes = 4;  ///< of an element, for copies and fills
};

constexpr int kWalkSegment = 512;
constexpr int kWalkThreads = 256;

/// Packed nibbles: whole bytes, then the low half of the last one if the count is odd.
struct NibbleParams {
  const std::uint8_t* source = nullptr;  ///< null: `pattern` instead
  std::uint8_t* destination = nullptr;
  std::int64_t count = 0;
  std::uint8_t pattern = 0;  ///< a byte of two equal nibbles
};

}  // namespace girih::inline v0::cuda
