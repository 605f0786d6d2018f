#pragma once
// What the kernels of grouped products are given, by value. Everything that depends on the offsets
// is read from the table that the first of them writes into the workspace, so that launches hold
// for any offsets.

#include <cstdint>

#include "backends/cuda/kernels/finding.hpp"
#include "backends/cuda/kernels/gemm_params.hpp"
#include "plan/cuda_grouped_table.hpp"

namespace girih::inline v0::cuda {

/// Checks offsets and writes the table: a block of kGroupedTableThreads.
struct GroupedTableParams {
  const std::int32_t* offsets = nullptr;
  std::int64_t offset_stride = 1;  ///< elements
  std::int64_t groups = 0;
  std::int64_t rows = 0;       ///< that there are
  std::int32_t row_align = 1;  ///< tiles begin at a multiple of this, at or before their group
  std::int32_t unit_rows = 0;  ///< of a unit; 0 where the depth is grouped: no units
  GroupedHeader* header = nullptr;
  GroupedUnit* units = nullptr;
  std::int32_t* firsts = nullptr;  ///< [groups + 1]: units of the groups before
  Finding* finding = nullptr;
};
constexpr int kGroupedTableThreads = 1024;

// How tiles leave the registers. General takes any epilogue and any output with contiguous columns.
// Packed: a 2-byte output whose base, rows and row length are multiples of 16 bytes, and no c,
// residual or factors but alpha; a gate too. Fragments: an f32 output, alpha and beta alone, base
// and rows multiples of 8 bytes, no gate.
enum class GroupedStore : std::uint8_t { General, Packed, Fragments };

enum class GroupedGate : std::uint8_t { None, Concatenated, Interleaved };

/// One launch on the matrix units. Groups take the place of a batch: batch strides lead from one to
/// the next, and are 0 in operands whose rows the groups share out, whose rows count from the first
/// of all.
struct GroupedParams {
  CUtensorMap a;
  CUtensorMap b;
  EpilogueParams epilogue;
  const GroupedHeader* header = nullptr;
  const GroupedUnit* units = nullptr;
  const std::int32_t* offsets = nullptr;  ///< where the depth is grouped
  std::int64_t offset_stride = 1;
  std::int64_t rows = 0;     ///< of one group's C, where the depth is grouped
  std::int64_t columns = 0;  ///< of C
  std::int32_t groups = 0;
  std::int32_t k_stages = 0;   ///< where rows are grouped
  std::int32_t row_tiles = 0;  ///< of one group, where the depth is grouped
  Divisor column_tiles;
  Divisor band;            ///< units of a full band: kGroupedBand rows of column_tiles
  Divisor plane;           ///< row_tiles * column_tiles
  bool b_grouped = false;  ///< false: one B for all groups
  GroupedStore store = GroupedStore::General;
  GroupedGate gated = GroupedGate::None;
  GateTerms gate;
};

/// Rows of units that are visited before the next column, so that B is read once by many blocks
/// while A stays in L2.
constexpr std::uint32_t kGroupedBand = 16;

/// One launch without matrix units: any strides. See SimtParams for the terms.
struct GroupedSimtParams {
  SimtParams product;  ///< m: of one group's C where the depth is grouped; n: columns of C
  const GroupedHeader* header = nullptr;
  const GroupedUnit* units = nullptr;
  const std::int32_t* offsets = nullptr;
  std::int64_t offset_stride = 1;
  bool by_depth = false;
  GroupedGate gated = GroupedGate::None;
  GateTerms gate;
};

}  // namespace girih::inline v0::cuda
