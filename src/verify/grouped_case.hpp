#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/grouped.hpp"
#include "verify/gemm_case.hpp"

namespace girih::inline v0::verify {

/// How the rows fall to the groups.
enum class Lengths : std::uint8_t {
  Ragged,     ///< anything, with rows of no group at both ends
  Even,       ///< as equal as they can be
  OneHasAll,  ///< the others are empty
  AllEmpty,
  Short,  ///< at most three rows each, the rest in the last
};

/// Grouped products to be verified.
struct GroupedCase {
  /// Of all rows: `m`, or `k` where the depth is grouped. `batch` counts the groups, and the
  /// operands whose rows they share out are `Sharing::Rank2`.
  GemmCase product;
  GroupedExtent extent = GroupedExtent::Rows;
  Lengths lengths = Lengths::Ragged;
  std::int64_t offset_stride = 1;

  /// The offsets of contents number `variant`.
  [[nodiscard]] std::vector<std::int64_t> offsets(std::uint64_t variant) const;
  [[nodiscard]] std::string to_string() const;
};

/// A case that states its product's extents, the groups in `batch`: the sharing that `extent` asks
/// for is set here.
GroupedCase grouped(GemmCase product, GroupedExtent extent, Lengths lengths = Lengths::Ragged);
/// Case `index` of a seed.
GroupedCase make_grouped_case(std::uint64_t seed, std::uint64_t index) noexcept;

}  // namespace girih::inline v0::verify
