#pragma once

#include <array>
#include <cstdint>

#include <girih/grouped.hpp>

#include "ops/gemm.hpp"

namespace girih::inline v0 {

/// The extent that each group has its own part of.
enum class GroupedExtent : std::uint8_t { Rows, Depth };
std::string_view name(GroupedExtent extent) noexcept;

/// What `GroupedGemmDesc` says, without memory: the views of all groups in the places of one
/// product's.
struct GroupedGemmSpec {
  GemmSpec product;
  Geometry offsets;
};

/// Half-open range of the rows that offsets count.
struct GroupRows {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
};

/// Grouped products that obey every rule of `GroupedGemmDesc` but that of the offsets' values.
struct GroupedGemmProblem {
  /// One group's product if it had all rows. Its batch counts the groups: batch strides lead from
  /// one to the next in the operands that every group has its own of, and are 0 in those whose rows
  /// the groups share out.
  GemmProblem product;
  GroupedExtent extent = GroupedExtent::Rows;
  std::int64_t offset_stride = 1;  ///< elements

  [[nodiscard]] std::int64_t groups() const noexcept { return product.batch; }
  [[nodiscard]] std::int64_t rows() const noexcept {
    return extent == GroupedExtent::Rows ? product.m : product.k;
  }
  [[nodiscard]] bool is_empty() const noexcept { return product.is_empty(); }
  /// If every row is in a group.
  [[nodiscard]] double flops() const noexcept;
  /// The same: each operand once, C once more where it is read.
  [[nodiscard]] double bytes() const noexcept;
  /// One group's product with `rows` rows, not yet in its place.
  [[nodiscard]] GemmProblem group_of(std::int64_t rows) const noexcept;

 private:
  explicit GroupedGemmProblem(const GemmProblem& checked) noexcept : product(checked) {}
  friend struct GroupedGemmChecker;
};

struct GroupedGemmOperands {
  GemmOperands product;  ///< as they are for group 0 and row 0
  const std::int32_t* offsets = nullptr;
};

Result<GroupedGemmProblem> check(const GroupedGemmSpec& spec) noexcept;
Result<GroupedGemmProblem> check(const GroupedGemmDesc& desc, const CheckContext& context) noexcept;
/// Only for a descriptor that passed `check`.
GroupedGemmOperands bind(const GroupedGemmDesc& desc) noexcept;
/// Every tensor of the descriptor; null where an optional one is absent.
std::array<const Tensor*, 11> tensors_of(const GroupedGemmDesc& desc) noexcept;
/// The views of all groups in the places of one product's.
GemmDesc product_of(const GroupedGemmDesc& desc) noexcept;
/// The inverse.
GroupedGemmDesc grouped_desc(const GemmDesc& product, const Tensor& offsets) noexcept;

/// Rows of one group, of offsets in host memory that `check_offsets` has passed.
GroupRows rows_of_group(const GroupedGemmProblem& problem, const std::int32_t* offsets,
                        std::int64_t group) noexcept;
/// GroupedOffsets, of the first offset that breaks its rule.
Error bad_offset(std::int64_t index, std::int64_t offset, std::int64_t before,
                 std::int64_t rows) noexcept;
/// The same if the offsets, in host memory, have one.
Status check_offsets(const GroupedGemmProblem& problem, const std::int32_t* offsets) noexcept;

/// A group as a product of its own, in place.
struct GroupProduct {
  GemmProblem problem;
  GemmOperands operands;
};
GroupProduct product_of_group(const GroupedGemmProblem& problem, const GemmOperands& operands,
                              std::int64_t group, GroupRows rows) noexcept;

}  // namespace girih::inline v0
