#include "ops/grouped.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "support/expect.hpp"

namespace girih {
namespace {

using testing::must;
using testing::refused;
using testing::succeeded;

Geometry dense(const Shape& shape, DType dtype = DType::F32) {
  return {dtype, shape, contiguous_strides(shape), 0};
}

/// Four groups of 10 rows: A [10, 5], B [4, 5, 6], C [10, 6].
GroupedGemmSpec by_rows() {
  return {.product = {.a = dense({10, 5}), .b = dense({4, 5, 6}), .c = dense({10, 6})},
          .offsets = dense({5}, DType::I32)};
}
/// A [3, 10], B [10, 6], C [4, 3, 6].
GroupedGemmSpec by_depth() {
  return {.product = {.a = dense({3, 10}), .b = dense({10, 6}), .c = dense({4, 3, 6})},
          .offsets = dense({5}, DType::I32)};
}

TEST(GroupedCheckTest, ReadsTheGroupedExtentOffTheRanks) {
  const GroupedGemmProblem rows = must(check(by_rows()));
  EXPECT_EQ(rows.extent, GroupedExtent::Rows);
  EXPECT_EQ(rows.groups(), 4);
  EXPECT_EQ(rows.rows(), 10);
  EXPECT_EQ(rows.product.b.batch_stride, 30);
  EXPECT_EQ(rows.product.c.batch_stride, 0);
  EXPECT_EQ(rows.flops(), 2.0 * 10 * 5 * 6);
  EXPECT_EQ(rows.bytes(), 4.0 * (10 * 5 + 4 * 5 * 6 + 10 * 6));
  const GroupedGemmProblem depth = must(check(by_depth()));
  EXPECT_EQ(depth.extent, GroupedExtent::Depth);
  EXPECT_EQ(depth.groups(), 4);
  EXPECT_EQ(depth.rows(), 10);
  EXPECT_EQ(depth.product.c.batch_stride, 18);
  EXPECT_EQ(depth.flops(), 2.0 * 3 * 10 * 6);
  EXPECT_EQ(depth.bytes(), 4.0 * (3 * 10 + 10 * 6 + 4 * 3 * 6));
}

TEST(GroupedCheckTest, AGroupsExtentIsTakenOffVectors) {
  GroupedGemmSpec spec = by_rows();
  spec.product.bias = dense({4, 6});
  spec.product.a_scale = dense({10});
  spec.product.a_granularity = Granularity::PerRow;
  spec.product.b_scale = dense({4, 6});
  spec.product.b_granularity = Granularity::PerColumn;
  const GroupedGemmProblem rows = must(check(spec));
  EXPECT_EQ(rows.product.bias->batch_stride, 6);
  EXPECT_EQ(rows.product.a_scale->batch_stride, 0);
  EXPECT_EQ(rows.product.b_scale->batch_stride, 6);
  spec.product.b_scale = dense({4});
  spec.product.b_granularity = Granularity::PerTensor;
  EXPECT_EQ(must(check(spec)).product.b_scale->batch_stride, 1);
  EXPECT_EQ(must(check(spec)).product.b_scale->stride, 0);
  spec = by_depth();
  spec.product.bias = dense({4, 6});
  spec.product.a_scale = dense({4, 3});
  spec.product.a_granularity = Granularity::PerRow;
  const GroupedGemmProblem depth = must(check(spec));
  EXPECT_EQ(depth.product.bias->batch_stride, 6);
  EXPECT_EQ(depth.product.a_scale->batch_stride, 3);
}

TEST(GroupedCheckTest, RefusesWhatDoesNotFit) {
  const auto with = [](GroupedGemmSpec spec, auto&& change) {
    change(spec);
    return check(spec);
  };
  EXPECT_TRUE(refused(with(by_rows(),
                           [](auto& x) {
                             x.product.b = dense({5, 6});
                           }),
                      Code::GemmShapeMismatch, "ranks 2, 2 and 2"));
  EXPECT_TRUE(refused(with(by_rows(),
                           [](auto& x) {
                             x.product.a = dense({4, 10, 5});
                           }),
                      Code::GemmShapeMismatch, "ranks"));
  EXPECT_TRUE(refused(with(by_rows(), [](auto& x) { x.offsets = dense({4}, DType::I32); }),
                      Code::GemmShapeMismatch, "offsets"));
  EXPECT_TRUE(refused(with(by_rows(),
                           [](auto& x) {
                             x.offsets = dense({5, 1}, DType::I32);
                           }),
                      Code::GemmShapeMismatch, "offsets"));
  EXPECT_TRUE(refused(with(by_rows(), [](auto& x) { x.offsets = dense({5}, DType::F32); }),
                      Code::GemmTypeMismatch, "offsets"));
  EXPECT_TRUE(refused(with(by_rows(), [](auto& x) { x.product.c.dtype = DType::F64; }),
                      Code::GemmTypeMismatch, "C"));
  for (const DType eighth : {DType::I8, DType::F8E4M3, DType::F8E5M2}) {
    EXPECT_TRUE(refused(with(by_rows(), [&](auto& x) { x.product.c.dtype = eighth; }),
                        Code::GemmTypeMismatch, "a grouped product gives"));
  }
  EXPECT_TRUE(refused(with(by_rows(),
                           [](auto& x) {
                             x.product.c.strides = {0, 1};
                           }),
                      Code::GemmAliasing, "C"));
  EXPECT_TRUE(refused(with(by_depth(),
                           [](auto& x) {
                             x.product.c.strides = {0, 6, 1};
                           }),
                      Code::GemmAliasing, "C"));
  EXPECT_TRUE(refused(with(by_rows(),
                           [](auto& x) {
                             x.product.bias = dense({3, 6});
                           }),
                      Code::GemmShapeMismatch, "bias"));
  EXPECT_TRUE(refused(with(by_depth(),
                           [](auto& x) {
                             x.product.bias = dense({3, 6});
                           }),
                      Code::GemmShapeMismatch, "bias"));
  EXPECT_TRUE(refused(with(by_rows(), [](auto& x) { x.product.a_scale = dense({3}); }),
                      Code::GemmShapeMismatch, "a_scale"));
  EXPECT_TRUE(refused(with(by_rows(),
                           [](auto& x) {
                             const std::int64_t rows = std::int64_t{1} << 31;
                             x.product.a = {DType::F32, {rows, 5}, {0, 1}, 0};
                             x.product.c = dense({rows, 6});
                           }),
                      Code::GemmShapeMismatch, "2^31 - 1"));
  EXPECT_TRUE(refused(with(by_depth(),
                           [](auto& x) {
                             x.product.a = dense({3, 131072}, DType::I8);
                             x.product.b = dense({131072, 6}, DType::I8);
                           }),
                      Code::GemmAccumulatorRange, "131072"));
}

TEST(GroupedCheckTest, ChecksWhatOffsetsSay) {
  GroupedGemmSpec spec = by_rows();
  spec.offsets.strides[0] = 2;
  const GroupedGemmProblem problem = must(check(spec));
  // Every second one counts.
  std::vector<std::int32_t> offsets = {0, -1, 3, -1, 3, -1, 9, -1, 10};
  EXPECT_TRUE(succeeded(check_offsets(problem, offsets.data())));
  EXPECT_EQ(rows_of_group(problem, offsets.data(), 2).begin, 3);
  EXPECT_EQ(rows_of_group(problem, offsets.data(), 2).end, 9);
  const auto refuses = [&](std::size_t at, std::int32_t value, const char* word) {
    std::vector<std::int32_t> changed = offsets;
    changed[at] = value;
    return refused(check_offsets(problem, changed.data()), Code::GroupedOffsets, word);
  };
  EXPECT_TRUE(refuses(0, -1, "offset 0 is -1"));
  EXPECT_TRUE(refuses(0, 4, "offset 1 is 3, the one before it 4"));
  EXPECT_TRUE(refuses(6, 2, "offset 3 is 2, the one before it 3"));
  EXPECT_TRUE(refuses(8, 11, "offset 4 is 11, there are 10 rows"));
  EXPECT_TRUE(refuses(8, -2147483647, "offset 4 is -2147483647"));
}

TEST(GroupedCheckTest, AGroupIsAProductInItsPlace) {
  GroupedGemmSpec spec = by_rows();
  spec.product.bias = dense({4, 6}, DType::BF16);
  spec.product.residual = dense({10, 6}, DType::F16);
  spec.product.a_scale = dense({10});
  spec.product.a_granularity = Granularity::PerRow;
  const GroupedGemmProblem problem = must(check(spec));
  std::vector<std::byte> memory(4096);
  std::vector<float> factors(10);
  GemmOperands operands;
  operands.a = operands.b = operands.bias = operands.residual = memory.data();
  operands.c = memory.data();
  operands.a_scale = factors.data();
  const GroupProduct group = product_of_group(problem, operands, 3, {4, 9});
  EXPECT_EQ(group.problem.m, 5);
  EXPECT_EQ(group.problem.batch, 1);
  EXPECT_EQ(group.problem.k, 5);
  EXPECT_EQ(group.operands.a - memory.data(), 4 * 5 * 4);
  EXPECT_EQ(group.operands.b - memory.data(), 3 * 30 * 4);
  EXPECT_EQ(group.operands.c - memory.data(), 4 * 6 * 4);
  EXPECT_EQ(group.operands.bias - memory.data(), 3 * 6 * 2);
  EXPECT_EQ(group.operands.residual - memory.data(), 4 * 6 * 2);
  EXPECT_EQ(group.operands.a_scale - factors.data(), 4);
  EXPECT_EQ(group.problem.a.alignment, 16);  // 80 bytes on
  EXPECT_EQ(group.problem.b.alignment, 8);   // 360

  const GroupedGemmProblem depth = must(check(by_depth()));
  const GroupProduct slice = product_of_group(depth, operands, 2, {4, 9});
  EXPECT_EQ(slice.problem.m, 3);
  EXPECT_EQ(slice.problem.k, 5);
  EXPECT_EQ(slice.operands.a - memory.data(), 4 * 4);
  EXPECT_EQ(slice.operands.b - memory.data(), 4 * 6 * 4);
  EXPECT_EQ(slice.operands.c - memory.data(), 2 * 18 * 4);
}

}  // namespace
}  // namespace girih
