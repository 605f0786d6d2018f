#pragma once

#include "backends/cuda/kernels/gemm_params.hpp"
#include "backends/cuda/kernels/simt_params.hpp"

// What the kernels of Fast f32 products are given, by value, see plan/cuda_fast_f32.hpp.

namespace girih::inline v0::cuda {

constexpr int kFastTerms = 6;
// The parts of A and B that term t multiplies: 0 hi, 1 mid, 2 lo. Small terms come first.
struct FastTerm {
  int a, b;
};
constexpr FastTerm fast_term(int t) {
  constexpr FastTerm kTerms[kFastTerms] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
  return kTerms[t];
}

/// One operand of f32, which becomes three matrices of bf16 each: element (e, k) of matrix i is at
/// i * batch_stride + e * extent_stride + k * k_stride, part p of it at ((i * 3 + p) * extent + e)
/// * ld + k.
struct SplitOperand {
  const float* from = nullptr;
  std::uint16_t* to = nullptr;
  std::int64_t extent_stride = 0, k_stride = 0, batch_stride = 0;
  std::int64_t extent = 0, k = 0, ld = 0;
  std::uint32_t* flag = nullptr;  ///< becomes 1 if an element has no parts
  std::uint32_t tiles = 0;        ///< of kSplitTile x kSplitTile, of all matrices
  Divisor tiles_k, tiles_extent;
};
constexpr int kSplitTile = 64;
constexpr int kSplitThreads = 256;

struct SplitParams {
  SplitOperand operands[2];  ///< one without tiles is left as it is
};

struct FastParams {
  GemmParams gemm;  ///< maps of the parts: 64 of K by a tile's rows or columns by the matrices
  const std::uint32_t* flags = nullptr;  ///< two; nothing is done if one of them is not 0
};

/// Takes one SplitParams; block of kSplitThreads, any grid.
const void* split_f32_kernel();

/// The kernel of a tile of 128 columns and 64 or 128 rows. Takes one FastParams; block of
/// fast_threads, dynamic shared memory fast_shared_bytes.
const void* gemm_fast_f32_kernel(int rows);

constexpr int kFastCols = 128;
constexpr int kFastStages = 2;
constexpr TileConfig fast_tile(int rows) {
  return {rows, kFastCols, 64, rows / 64, TileForm::Cooperative};
}
constexpr int fast_threads(int rows) {
  return tile_threads(fast_tile(rows));
}
constexpr int fast_stage_bytes(int rows) {
  return 3 * (rows + kFastCols) * 64 * 2;
}
constexpr int fast_shared_bytes(int rows) {
  return kFastStages * fast_stage_bytes(rows) + staging_bytes(fast_tile(rows)) +
         bias_bytes(fast_tile(rows)) + kBarrierBytes;
}
static_assert(fast_shared_bytes(128) <= kSharedLimit);

}  // namespace girih::inline v0::cuda
