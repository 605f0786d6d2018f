#pragma once

#include <cstdint>

#include "backends/cuda/kernels/finding.hpp"
#include "plan/cuda_gemm_tile.hpp"
#include "plan/cuda_routing.hpp"

// What the kernels around grouped products are given, by value: any strides, in elements. Plain
// C++.

namespace girih::inline v0::cuda {

/// A matrix whose rows are tokens, or rows of experts.
struct RowsRef {
  void* data = nullptr;
  std::int64_t row = 0, column = 0;
  Element type = Element::F32;
};

/// Finds indices that are no row of x. Block i writes to found[i] the least (index << 32 | value)
/// of those that it looked at, or kNothingFound.
struct IndexCheckParams {
  RowsRef indices;
  std::int64_t rows = 0, columns = 0;
  std::int64_t limit = 0;
  std::uint64_t* found = nullptr;
};
constexpr std::uint64_t kNothingFound = ~std::uint64_t{0};

/// What a kernel that moves rows needs to know of the check before it.
struct IndexCheck {
  const std::uint64_t* found = nullptr;
  std::int32_t blocks = 0;
  FindingKind kind = FindingKind::Source;
  std::int64_t limit = 0, per = 1;
  Finding* finding = nullptr;
};

/// y[r, :] = x[sources[r], :]. In pieces of 16 bytes, or elements of `bytes`.
struct PermuteParams {
  IndexCheck check;
  RowsRef x, y, sources;
  std::int64_t rows = 0, columns = 0;
  std::int32_t bytes = 1;
  bool in_pieces = false;  ///< columns are contiguous, rows multiples of 16 bytes
};

/// y[t, :] = sum over s of weights[t, s] * x[indices[t, s], :]. Absent weights have null data.
struct UnpermuteParams {
  IndexCheck check;
  RowsRef x, y, indices, weights;
  std::int64_t tokens = 0, k = 0, columns = 0;
  bool x_in_pieces = false;  ///< eight columns are 16-byte pieces of x
  bool y_in_pieces = false;
};
constexpr int kRowThreads = 256;      ///< of a block of each of these kernels
constexpr int kPermuteSegment = 128;  ///< pieces that a warp moves at a time
constexpr int kRowSegment = 256;      ///< columns that a warp moves at a time, elsewhere

/// See RouteDesc. Blocks are parts.
struct RouteParams {
  RowsRef logits, chosen, weights, offsets, rows, sources;
  std::int64_t experts = 0, k = 0, parts = 1;
  std::int64_t least_tokens = 0, longer_parts = 0;  ///< of a part; parts with one token more
  std::int32_t kind = 0;                            ///< as RouterWeights
  float scale = 1;
  std::int32_t* counts = nullptr;  ///< [parts][experts]
};
constexpr int kRouteThreads = 512;       ///< choosing: a warp a token
constexpr int kRouteScanThreads = 1024;  ///< one block
constexpr int kRoutePlaceThreads = 32;   ///< a block a part

}  // namespace girih::inline v0::cuda
