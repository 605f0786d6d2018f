#pragma once
// What the wgmma kernels are given, by value. Extents and strides are 64-bit; strides count
// elements. A tensor copy takes 32-bit coordinates: M, N, K, the batch and the number of units must
// be below 2^31.

#include <cstdint>
#include <cuda.h>

#include "backends/cuda/kernels/gate_params.hpp"
#include "plan/cuda_gemm_tile.hpp"

namespace girih::inline v0::cuda {

enum class ActivationKind : std::uint8_t { None, Relu, GeluTanh, Silu };

// A number known now, or one element of device memory that is read when the kernel runs.
struct ScalarRef {
  float value = 0.0f;
  const float* device = nullptr;
};

// A row-major matrix a product: element (m, n) of batch b is at b * batch_stride + m * ld + n.
struct MatrixRef {
  void* data = nullptr;
  std::int64_t ld = 0;
  std::int64_t batch_stride = 0;  // 0: every batch sees the same matrix
  Element type = Element::F32;
};

// A vector: element i of batch b is at b * batch_stride + i * stride. A bias has stride 1.
struct VectorRef {
  const void* data = nullptr;
  std::int64_t batch_stride = 0;
  Element type = Element::F32;
  std::int64_t stride = 1;
};

// out = activation(alpha * row_scale[m] * col_scale[n] * (A B) + beta * c + bias[n]) + residual.
// Absent parts have null data; c is read wherever it is given, whatever beta. out may be the same
// matrix as c or residual, element for element, because each element is read and then written once
// by one thread.
struct EpilogueParams {
  MatrixRef out;
  MatrixRef c;
  MatrixRef residual;
  VectorRef bias;
  VectorRef row_scale;
  VectorRef col_scale;
  ScalarRef alpha{1.0f, nullptr};
  ScalarRef beta{0.0f, nullptr};
  ActivationKind activation = ActivationKind::None;
};

// Division by a number known at launch: a multiplication and a shift, for numerators below 2^31.
// Plain divisions cost 1400 cycles at the start of a block, and again before every store.
struct Divisor {
  std::uint32_t value = 1;
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;
};

constexpr Divisor make_divisor(std::uint32_t value) {
  std::uint32_t shift = 0;
  while ((std::uint64_t{1} << shift) < value) ++shift;
  const std::uint64_t excess = (std::uint64_t{1} << shift) - value;
  return {value, static_cast<std::uint32_t>((excess << 32) / value + 1), shift};
}

// Unit u of a launch is slice s of batch b at place i of the grid of units: u = (b * splits + s) *
// plane + i.
struct TileOrder {
  std::uint32_t units = 0;
  Divisor plane;   // units of one slice of one batch
  Divisor splits;  // > 1: slice s of batch b writes f32 partials as batch b * splits + s of `out`
  Divisor band;    // units of a full band
  Divisor height;  // of a full band
  Divisor last_height;  // of the last band
  std::uint32_t last_band = 0;
  std::uint32_t band_columns = 0;
  std::int32_t k_base =
      0;  // stages of K in a slice (of either kind); the first k_extra slices have one more
  std::int32_t k_extra = 0;
};

constexpr TileOrder make_tile_order(std::uint32_t unit_rows, std::uint32_t unit_cols,
                                    std::uint32_t batch, int splits, int cluster_split,
                                    int k_stages, TileBands bands) {
  const std::uint32_t along = bands.band_columns ? unit_cols : unit_rows;
  const std::uint32_t across = bands.band_columns ? unit_rows : unit_cols;
  const std::uint32_t group = static_cast<std::uint32_t>(bands.group) < along ? bands.group : along;
  const std::uint32_t last_band = (along - 1) / group;
  return {unit_rows * unit_cols * batch * splits,
          make_divisor(unit_rows * unit_cols),
          make_divisor(splits),
          make_divisor(group * across),
          make_divisor(group),
          make_divisor(along - last_band * group),
          last_band,
          bands.band_columns,
          k_stages / (splits * cluster_split),
          k_stages % (splits * cluster_split)};
}

// How tiles leave the registers. General takes any output and epilogue. Boxes and Fragments need an
// epilogue of alpha alone. Boxes: a 2-byte output, base, row stride, batch stride
// and row length multiples of 16 bytes (a box cut inside a 16-byte piece still writes the whole
// piece). Fragments: an f32 or i32 output, and unless transposed a base, row stride and batch
// stride that are multiples of 8 bytes. FusedBoxes: as Boxes, with a bias and an activation, and
// scales in tiles that take them there. GatedBoxes: as Boxes, with a bias and a gate, on tiles of
// 128 or 256 columns that are not transposed and have no cluster.
enum class StoreMode : std::uint8_t { General, Boxes, FusedBoxes, Fragments, GatedBoxes };

// Factors of blocks: that of element i of the rows or cols side and of 128 of K, number p, is at
// (i >> shift) * stride + p * k_stride. Absent ones have null data and are 1.
struct BlockFactors {
  const float* data = nullptr;
  std::int64_t stride = 0;
  std::int64_t k_stride = 0;
  std::int32_t shift = 0;
};

// One launch. "rows" is wgmma's M side and "cols" its N side: M and N of the product, or N and M
// when `transposed` (skinny products put the long extent on the 64-wide side).
struct GemmParams {
  CUtensorMap a;  // rows side
  CUtensorMap b;  // cols side
  CUtensorMap out;
  EpilogueParams epilogue;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t batch = 1;
  std::int32_t cluster_rows =
      1;  // neighbouring tiles that one cluster of blocks works on: 1x1, 2x1 or 1x2
  std::int32_t cluster_cols = 1;
  std::int32_t cluster_split = 1;  // or the blocks of a cluster that share one tile's K: 2, 4 or 8
  std::int32_t cluster_shift = 0;  // log2 of the blocks of a cluster, of either kind
  TileOrder order;
  bool a_batched = false;  // false: one A for every batch
  bool b_batched = false;
  bool transposed = false;
  StoreMode store = StoreMode::General;
  BlockFactors row_factors, col_factors;  // of tiles that scale blocks, not transposed
  // GatedBoxes: a tile has as many columns g as u, those that belong to cols / 2 columns of C.
  // `b`'s third extent is the half; element c of half h of the bias is h * gate_half + c *
  // gate_step.
  GateTerms gate;
  std::int64_t gate_half = 0;
  std::int64_t gate_step = 1;
};

// The second half of a split product, and the whole of a product with K = 0 or alpha = 0 (splits =
// 0): out = epilogue(sum over s, in order, of partial[b * splits + s]).
struct SplitReduceParams {
  EpilogueParams epilogue;
  const void* partial = nullptr;  // f32, or i32 of int8 operands
  std::int64_t partial_ld = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t batch = 1;
  std::int32_t splits = 0;
};

}  // namespace girih::inline v0::cuda
