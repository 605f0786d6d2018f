#pragma once

#include <cstdint>

// What the driver and the kernels of one instruction set say to each other. Translation units that
// are compiled for an instruction set include this, Highway, and nothing else: an inline function
// of any other header could be emitted there with instructions that this machine lacks, and be the
// copy that the linker keeps for all.

namespace girih::inline v0::cpu {

enum class Element : std::uint8_t { F32, BF16, F16, I8, I32, F8E4M3, F8E5M2 };
enum class Function : std::uint8_t { None, Relu, GeluTanh, Silu };

/// `extent` rows of A (or columns of B), each `depth` long, to be packed into panels.
struct PackSource {
  const void* data = nullptr;
  Element type = Element::F32;
  std::int64_t stride = 0;        ///< elements between neighbours across the panel
  std::int64_t depth_stride = 0;  ///< elements between neighbours along K
  std::int64_t extent = 0;
  std::int64_t depth = 0;
  std::int64_t panel_step = 1;  ///< panels from one of this source to the next
};

/// One tile: out = in + sum over k of a[k] b[k]^T, each element one chain of fused multiply-adds in
/// the order of k. `in` null stands for +0. Strides are in elements between rows.
struct TileProduct {
  std::int64_t steps = 0;  ///< depth of the panels / tile_k
  const void* a = nullptr;
  const void* b = nullptr;
  const void* in = nullptr;
  std::int64_t in_stride = 0;
  void* out = nullptr;
  std::int64_t out_stride = 0;
};

/// A strided vector or matrix that an epilogue reads or writes; `data` null if there is none.
struct EpilogueView {
  const void* data = nullptr;
  Element type = Element::F32;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

/// Rounds `count` finished values, times `scale`, to elements of 8 bits, `stride` apart. Code of
/// the driver, not of an instruction set.
using QuantiseRow = void (*)(const float* row, float scale, std::int64_t count, std::int64_t stride,
                             void* destination);

/// Everything after the sum, for one product of a batch. Each line is one f32 operation per
/// element, in this order, on every instruction set:
///   x = f32(sum)                       (i32 sums: rounded to nearest)
///   x = ((alpha * sa[m]) * sb[n]) * x  (left out where there is no factor)
///   x = fma(beta, C, x)                (left out if C is not read)
///   x = x + bias[n]
///   x = function(x)
///   x = x + residual
/// With a gate there are two sums, g and u, each with factors and a bias of its own; C is not read:
///   g = min(g, limit)     u = max(-limit, min(u, limit))
///   g = function(g)       u = u + up_offset
///   x = g * u
/// where Silu is g / (1 + exp(-(alpha * g))) in place of function(x), and x goes on as above.
///   C = round to nearest even          (of 8 bits: x = x * c_scale before, and saturated)
/// An i32 C takes the sum, or the saturating sum of it and C.
struct Epilogue {
  void* c = nullptr;
  Element c_type = Element::F32;
  std::int64_t c_row_stride = 0;
  std::int64_t c_column_stride = 0;
  QuantiseRow quantise = nullptr;  ///< for a C of 8 bits
  float c_scale = 1;               ///< of it
  float alpha = 1;
  float beta = 0;
  bool scales = false;  ///< alpha, a_scale or b_scale is not 1
  bool reads_c = false;
  bool integer_sum = false;
  bool gates = false;
  float gate_alpha = 1, gate_limit = 0, up_offset = 0;
  Function function = Function::None;
  const float* a_scale = nullptr;
  std::int64_t a_scale_stride = 0;
  const float* b_scale = nullptr;
  const float* up_b_scale = nullptr;
  std::int64_t b_scale_stride = 0;  ///< of both
  EpilogueView bias, up_bias;       ///< row stride unused
  EpilogueView residual;
};

/// Where a tile's sums lie and where in C they belong. `sums` has whole rows of tile_n, and so has
/// `up_sums`, which a gate joins to it.
struct EpilogueTile {
  const void* sums = nullptr;
  const void* up_sums = nullptr;
  std::int64_t sum_stride = 0;
  std::int64_t row = 0, column = 0;    ///< of C
  std::int64_t rows = 0, columns = 0;  ///< inside C
};

/// The code of one row of `kernels.inc`.
///
/// Packed A is a sequence of panels of tile_m rows, packed B of tile_n columns; inside a panel the
/// elements of one step along K lie together: f32 for float operands (16-bit ones are widened,
/// exactly), pairs of int16 for int8. What a panel has beyond the extent or the depth is zero.
struct GemmKernel {
  void (*pack_a)(const PackSource& source, void* panels) = nullptr;
  void (*pack_b)(const PackSource& source, void* panels) = nullptr;
  void (*multiply)(const TileProduct& tile) = nullptr;
  void (*finish)(const Epilogue& epilogue, const EpilogueTile& tile) = nullptr;
};

/// Bytes that one element takes in a panel.
inline constexpr std::int64_t kPackedFloatBytes = 4;
inline constexpr std::int64_t kPackedInt8Bytes = 2;
/// Longest edge of any tile; fixes the size of buffers on the stack.
inline constexpr std::int64_t kMaxTile = 64;

// Declares the kernel of every row.
#define GIRIH_CPU_GEMM(target, kind, rows, columns, ...)    \
  namespace target {                                        \
  extern const GemmKernel gemm_##kind##_##rows##x##columns; \
  }
#define GIRIH_CPU_PORTABLE(...)
#include "backends/cpu/kernels.inc"
#undef GIRIH_CPU_PORTABLE
#undef GIRIH_CPU_GEMM

}  // namespace girih::inline v0::cpu
