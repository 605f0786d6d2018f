#pragma once

#include <cstdint>

#include "plan/cuda_gemm_tile.hpp"

// What the workspace of a grouped product holds on cuda: written by one kernel, read by the next.
// Included by device code: plain C++.

namespace girih::inline v0::cuda {

struct GroupedHeader {
  std::int32_t units = 0;     ///< rows grouped: of all groups; 0 if the offsets break their rule
  std::int32_t is_valid = 0;  ///< depth grouped: whether they obey it
};

/// One row tile of a group, for every column tile.
struct GroupedUnit {
  std::int32_t group = 0;
  std::int32_t first = 0;  ///< unit of the group's first row
  std::int32_t begin = 0;  ///< the group's rows
  std::int32_t end = 0;
};

constexpr std::int64_t kGroupedHeaderBytes = 256;

/// Rows of a tensor copy where rows are the contiguous extent of a 16-bit A: 16 bytes. Tiles begin
/// at a multiple of it then, up to seven rows before their group.
constexpr int kCopyRows = 8;

/// Tiles that are compiled for a grouped depth: the rows of one group's C are as many in each, so
/// that no low tile is needed.
constexpr bool serves_depth(TileConfig tile) {
  return tile.rows >= 128;
}

}  // namespace girih::inline v0::cuda
