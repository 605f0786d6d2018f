#include <gtest/gtest.h>
#include <optional>

#include "backends/cuda/findings.hpp"
#include "backends/cuda/kernels/grouped_kernels.hpp"
#include "backends/cuda/tensor_maps.hpp"
#include "cuda/unit/encoded_map.hpp"
#include "cuda/unit/lowering.hpp"
#include "plan/cuda_grouped.hpp"

// What a grouped product hands to its two kernels.

namespace girih::testing {
namespace {

using cuda::GroupedGate;
using cuda::GroupedParams;
using cuda::GroupedSimtParams;
using cuda::GroupedStore;
using cuda::GroupedTableParams;

constexpr std::int64_t kGroups = 6, kRows = 1000, kN = 520, kK = 264;

struct Launches final : cuda::LaunchSink {
  Status add(const cuda::Launch& launch) noexcept override {
    if (launch.function == cuda::grouped_table_kernel()) {
      table = *static_cast<const GroupedTableParams*>(launch.params);
      return {};
    }
    product = launch;
    product.params = nullptr;
    if (launch.function == cuda::grouped_simt_kernel(false)) {
      simt = *static_cast<const GroupedSimtParams*>(launch.params);
    } else {
      params = *static_cast<const GroupedParams*>(launch.params);
    }
    return {};
  }
  std::optional<GroupedTableParams> table;
  std::optional<GroupedParams> params;
  std::optional<GroupedSimtParams> simt;
  cuda::Launch product;
};

GroupedGemmSpec by_rows() {
  return {.product = {.a = {DType::BF16, {kRows, kK}, {kK, 1}, 0},
                      .b = {DType::BF16, {kGroups, kK, kN}, {kK * kN, kN, 1}, 0},
                      .c = {DType::BF16, {kRows, kN}, {kN, 1}, 0}},
          .offsets = {DType::I32, {kGroups + 1}, {2}, 0}};
}
GroupedGemmSpec by_depth() {
  return {.product = {.a = {DType::F16, {kK, kRows}, {1, kK}, 0},
                      .b = {DType::F16, {kRows, kN}, {kN, 1}, 0},
                      .c = {DType::F32, {kGroups, kK, kN}, {kK * kN, kN, 1}, 0}},
          .offsets = {DType::I32, {kGroups + 1}, {1}, 0}};
}

struct LoweredGroups {
  GroupedGemmSelection selection;
  Launches record;
};
cuda::Finding finding_of_device;

LoweredGroups lower(const GroupedGemmSpec& spec) {
  const GroupedGemmProblem problem = must(check(spec));
  LoweredGroups result;
  result.selection = must(select(problem, {.device = find_fixture("h200"),
                                           .kernels = cuda::kernel_table(),
                                           .threads = 1,
                                           .forced_kernel = ""}));
  GemmOperands product{.a = address(1), .b = address(2), .c = address(3)};
  if (problem.product.bias) product.bias = address(6);
  if (problem.product.residual) product.residual = address(7);
  if (problem.product.a_scale) product.a_scale = reinterpret_cast<const float*>(address(8));
  if (problem.product.b_scale) product.b_scale = reinterpret_cast<const float*>(address(9));
  const GroupedGemmCall call{
      problem,
      {.product = product, .offsets = reinterpret_cast<const std::int32_t*>(address(5))},
      result.selection,
      address(4)};
  cuda::TensorMaps maps(encode);
  must(cuda::lower(call, {.multiprocessors = 132, .maps = &maps, .finding = &finding_of_device},
                   result.record));
  return result;
}
GroupedStore store_of(const GroupedGemmSpec& spec) {
  return lower(spec).record.params.value().store;
}

TEST(CudaGroupedLowering, TheTableIsWrittenWhereTheProductReadsIt) {
  const LoweredGroups lowered = lower(by_rows());
  const GroupedTableParams& table = lowered.record.table.value();
  const GroupedParams& p = lowered.record.params.value();
  EXPECT_EQ(table.groups, kGroups);
  EXPECT_EQ(table.rows, kRows);
  EXPECT_EQ(table.offset_stride, 2);
  EXPECT_EQ(table.unit_rows, lowered.selection.kernel->tile_m);
  EXPECT_EQ(table.row_align, 1);
  EXPECT_EQ(table.finding, &finding_of_device);
  EXPECT_EQ(p.header, table.header);
  EXPECT_EQ(p.units, table.units);
  const auto* const end = reinterpret_cast<const std::byte*>(table.firsts + kGroups + 1);
  EXPECT_LE(end - address(4), lowered.selection.workspace_bytes);
}

TEST(CudaGroupedLowering, RowsAreOneMatrixAndWeightsOneAGroup) {
  const LoweredGroups lowered = lower(by_rows());
  const GroupedParams& p = lowered.record.params.value();
  const auto a = contents(p.a), b = contents(p.b);
  const auto is = [](auto got, std::int64_t want) {
    EXPECT_EQ(got, static_cast<cuuint64_t>(want));
  };
  is(a[1], kK), is(a[2], kRows), is(a[3], 1);
  is(b[1], kN), is(b[2], kK), is(b[3], kGroups);
  is(b[4], 2 * kN), is(b[5], 2 * kN * kK);
  EXPECT_TRUE(p.b_grouped);
  EXPECT_EQ(p.store, GroupedStore::Packed);
  EXPECT_EQ(p.gated, GroupedGate::None);
  EXPECT_EQ(p.k_stages, 5);
  EXPECT_EQ(p.column_tiles.value, 3U);
  EXPECT_EQ(p.band.value, cuda::kGroupedBand * p.column_tiles.value);
}

TEST(CudaGroupedLowering, TilesBeginWhereTensorCopiesOfAContiguousRowExtentCan) {
  GroupedGemmSpec spec = by_rows();
  spec.product.a.strides = {1, kRows};
  LoweredGroups lowered = lower(spec);
  ASSERT_TRUE(lowered.record.params);
  EXPECT_EQ(lowered.record.table->row_align, cuda::kCopyRows);
  spec.product.path = Path::Portable;
  lowered = lower(spec);
  ASSERT_TRUE(lowered.record.simt);
  EXPECT_EQ(lowered.record.table->row_align, 1) << "nothing is copied";
  EXPECT_EQ(lowered.record.table->finding, &finding_of_device);
}

TEST(CudaGroupedLowering, ASkippedProductReadsNeitherOperand) {
  for (GroupedGemmSpec spec : {by_rows(), by_depth()}) {
    spec.product.path = Path::Portable;
    EXPECT_EQ(lower(spec).record.simt.value().product.k,
              spec.product.c.shape.rank() == 2 ? kK : kRows);
    spec.product.alpha.value = 0;
    EXPECT_EQ(lower(spec).record.simt.value().product.k, 0);
  }
}

TEST(CudaGroupedLowering, PackedTilesAreOfWholePiecesWithAlphaBiasAndActivationAlone) {
  GroupedGemmSpec x = by_rows();
  x.product.alpha.value = 2;
  x.product.bias = Geometry{DType::F32, {kGroups, kN}, {kN, 1}, 0};
  x.product.activation = Activation::Silu;
  ASSERT_EQ(store_of(x), GroupedStore::Packed);
  const GroupedGemmSpec good = x;
  const auto expect_general = [&](const char* what) {
    EXPECT_EQ(store_of(x), GroupedStore::General) << what;
    x = good;
  };
  x.product.c.offset = 4;
  expect_general("C begins inside a piece");
  x.product.c.strides = {kN + 4, 1};
  expect_general("rows of C do");
  x.product.beta.value = 1;
  expect_general("C is read");
  x.product.residual = x.product.c;
  expect_general("a residual");
  x.product.a_scale = Geometry{DType::F32, {kRows}, {1}, 0};
  x.product.a_granularity = Granularity::PerRow;
  expect_general("factors of rows");
  x.product.b_scale = Geometry{DType::F32, {kGroups}, {1}, 0};
  expect_general("a factor of each group");
}

TEST(CudaGroupedLowering, FragmentsAreOfWholePairsWithAlphaAndBetaAlone) {
  GroupedGemmSpec x = by_depth();
  x.product.beta.value = 1;
  ASSERT_EQ(store_of(x), GroupedStore::Fragments);
  const GroupedGemmSpec good = x;
  const auto expect_general = [&](const char* what) {
    EXPECT_EQ(store_of(x), GroupedStore::General) << what;
    x = good;
  };
  x.product.c.offset = 1;
  expect_general("C begins inside a pair");
  x.product.c.strides = {kK * (kN + 1), kN + 1, 1};
  expect_general("rows of C do");
  x.product.c.strides[0] += 1;
  expect_general("a group's C does");
  x.product.bias = Geometry{DType::F32, {kN}, {1}, 0};
  expect_general("a bias");
  x.product.activation = Activation::Relu;
  expect_general("an activation");
  x.product.residual = x.product.c;
  expect_general("a residual");
  x.product.b_scale = Geometry{DType::F32, {kGroups, kN}, {kN, 1}, 0};
  x.product.b_granularity = Granularity::PerColumn;
  expect_general("factors of columns");
}

TEST(CudaGroupedLowering, DepthHasOneUnitForEachPartOfEachGroup) {
  const LoweredGroups lowered = lower(by_depth());
  EXPECT_EQ(lowered.record.table.value().unit_rows, 0);
  const GroupedParams& p = lowered.record.params.value();
  EXPECT_EQ(p.rows, kK);
  EXPECT_EQ(p.row_tiles, 3);
  EXPECT_EQ(p.plane.value, 9U);
  EXPECT_FALSE(p.b_grouped);
  EXPECT_EQ(p.store, GroupedStore::Fragments);
  EXPECT_EQ(p.epilogue.out.batch_stride, kK * kN);
  EXPECT_EQ(lowered.record.product.grid.x, 54U);
}

TEST(CudaGroupedLowering, EachGroupOfTheDepthHasItsOwnFactors) {
  GroupedGemmSpec spec = by_depth();
  spec.product.a_scale = Geometry{DType::F32, {kGroups, kK}, {3 * kK, 3}, 0};
  spec.product.a_granularity = Granularity::PerRow;
  spec.product.b_scale = Geometry{DType::F32, {kGroups}, {2}, 0};
  const GroupedParams p = lower(spec).record.params.value();
  EXPECT_EQ(p.epilogue.row_scale.data, address(8));
  EXPECT_EQ(p.epilogue.row_scale.batch_stride, 3 * kK);
  EXPECT_EQ(p.epilogue.row_scale.stride, 3);
  EXPECT_EQ(p.epilogue.col_scale.data, address(9));
  EXPECT_EQ(p.epilogue.col_scale.batch_stride, 2);
  EXPECT_EQ(p.epilogue.col_scale.stride, 0);
}

TEST(CudaGroupedLowering, AGateTakesHalfOfEachTile) {
  GroupedGemmSpec spec = by_rows();
  spec.product.c = {DType::BF16, {kRows, kN / 2}, {kN / 2, 1}, 0};
  for (const GateOrder order : {GateOrder::Concatenated, GateOrder::Interleaved}) {
    spec.product.gate = Gate{.order = order};
    if (order == GateOrder::Concatenated) {
      spec.product.b.strides = {kN * kK, 1, kK};  // columns of B from 260 on are at no whole copy
    }
    const LoweredGroups lowered = lower(spec);
    const GroupedParams& p = lowered.record.params.value();
    EXPECT_EQ(p.gated, order == GateOrder::Concatenated ? GroupedGate::Concatenated
                                                        : GroupedGate::Interleaved);
    EXPECT_EQ(p.columns, kN / 2);
    EXPECT_EQ(p.column_tiles.value, 3U);
    EXPECT_EQ(p.store, GroupedStore::General);  // 260 columns are no whole pieces
  }
}

TEST(CudaFindings, SayWhatTheHostWouldHaveFound) {
  const auto message = [](const cuda::Finding& finding) {
    const Status status = cuda::status_of(finding);
    return status ? std::string() : status.error().message;
  };
  using Kind = cuda::FindingKind;
  EXPECT_TRUE(cuda::status_of({}));
  EXPECT_EQ(message({.kind = Kind::Offset, .index = 2, .value = 7, .before = 8, .limit = 10}),
            "offset 2 is 7, the one before it 8");
  EXPECT_EQ(message({.kind = Kind::Offset, .index = 1, .value = -3, .limit = 10}),
            "offset 1 is -3");
  EXPECT_EQ(message({.kind = Kind::Offset, .index = 3, .value = 12, .before = 8, .limit = 10}),
            "offset 3 is 12, there are 10 rows");
  EXPECT_EQ(message({.kind = Kind::Source, .index = 4, .value = 9, .limit = 9}),
            "source 4 is 9, x has 9 rows");
  EXPECT_EQ(message({.kind = Kind::Row, .index = 197, .value = -1, .limit = 6, .per = 2}),
            "row [98, 1] is -1, x has 6 rows");
  EXPECT_EQ(cuda::status_of({.kind = Kind::Row}).error().code, Code::RoutingIndex);
}

}  // namespace
}  // namespace girih::testing
