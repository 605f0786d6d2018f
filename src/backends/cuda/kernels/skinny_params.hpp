#pragma once

#include "backends/cuda/kernels/simt_params.hpp"
#include "plan/cuda_skinny_geometry.hpp"

namespace girih::inline v0::cuda {

/// A product of a short side X of `product.m` rows (operand a) and a long one W of `product.n`
/// columns (operand b). A warp sums over one slice of K for skinny_columns() columns; a block has
/// `groups` times `slices` warps, a cluster `cluster` blocks whose slices follow one another.
/// Partial sums are added in the order of the slices, those of a block first. Plain C++.
struct SkinnyParams {
  SimtParams product;
  std::uint32_t tiles = 1;   ///< of `groups` times skinny_columns() columns
  std::uint32_t chunks = 1;  ///< of the kernel's rows
  std::uint32_t units = 1;   ///< tiles * chunks * batch
  std::int32_t groups = 1;   ///< of columns, in a block
  std::int32_t slices = 1;   ///< of K, in a block
  std::int32_t cluster = 1;  ///< blocks that share a tile's K: 1, 2, 4 or 8
};

}  // namespace girih::inline v0::cuda
