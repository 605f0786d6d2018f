#include <gtest/gtest.h>
#include <optional>

#include "backends/cuda/kernels/skinny_kernels.hpp"
#include "cuda/unit/lowering.hpp"

// What a product with few rows or columns hands to its kernel, whatever its geometry.

namespace girih::testing {
namespace {

using cuda::SkinnyParams;
using cuda::StridedRef;

class Product final : public cuda::LaunchSink {
 public:
  Status add(const cuda::Launch& launch) noexcept override {
    EXPECT_FALSE(params) << "one launch";
    params = *static_cast<const SkinnyParams*>(launch.params);
    grid = launch.grid.x;
    block = launch.block.x;
    cluster = launch.cluster.x;
    return {};
  }
  std::optional<SkinnyParams> params;
  unsigned grid = 0, block = 0, cluster = 0;
};

/// C of f32 with every term of an epilogue, each of another type or at other strides.
GemmSpec spec(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.a = {DType::F32, {2, m, k}, {m * k, k, 1}, 0},
          .b = {DType::F32, {2, k, n}, {k * n, 1, k}, 0},
          .c = {DType::F32, {2, m, n}, {m * n, n, 1}, 0},
          .bias = Geometry{DType::BF16, {2, n}, {5 * n, 5}, 0},
          .residual = Geometry{DType::F16, {2, m, n}, {m * n + 8, n, 1}, 0},
          .a_scale = Geometry{DType::F32, {m}, {2}, 0},
          .b_scale = Geometry{DType::F32, {n}, {3}, 0},
          .a_granularity = Granularity::PerRow,
          .b_granularity = Granularity::PerColumn,
          .beta = {.value = 1}};
}
Product lower(const GemmSpec& asked) {
  const GemmProblem problem = must(check(asked));
  const GemmSelection selection =
      must(select(problem, {.device = find_fixture("h200"),
                            .kernels = cuda::kernel_table(),
                            .threads = 1,
                            .forced_kernel = "cuda_gemm_f32_16x32_skinny"}));
  const GemmCall call{problem,
                      {.a = address(1),
                       .b = address(2),
                       .c = address(3),
                       .bias = address(5),
                       .residual = address(6),
                       .a_scale = reinterpret_cast<const float*>(address(7)),
                       .b_scale = reinterpret_cast<const float*>(address(8))},
                      selection,
                      nullptr};
  Product record;
  must(cuda::lower(call, {.multiprocessors = 132, .maps = nullptr}, record));
  return record;
}

void expect(const StridedRef& x, const std::byte* data, std::int64_t row, std::int64_t column,
            std::int64_t batch) {
  EXPECT_EQ(x.data, data);
  EXPECT_EQ(x.row, row);
  EXPECT_EQ(x.column, column);
  EXPECT_EQ(x.batch, batch);
}

TEST(CudaSkinnyLowering, FewRowsAreTheShortSide) {
  constexpr std::int64_t kM = 3, kN = 4096, kK = 1024;
  const cuda::SimtParams p = lower(spec(kM, kN, kK)).params.value().product;
  EXPECT_EQ(p.m, kM);
  EXPECT_EQ(p.n, kN);
  EXPECT_EQ(p.k, kK);
  EXPECT_EQ(p.batch, 2);
  EXPECT_TRUE(p.reads_c);
  expect(p.a, address(1), kK, 1, kM * kK);
  expect(p.b, address(2), 1, kK, kK * kN);
  expect(p.c, address(3), kN, 1, kM * kN);
  expect(p.residual, address(6), kN, 1, kM * kN + 8);
  EXPECT_EQ(p.residual.type, cuda::Element::F16);
  expect(p.bias, address(5), 0, 5, 5 * kN);
  EXPECT_EQ(p.a_scale.data, address(7));
  EXPECT_EQ(p.a_scale.row, 2);
  EXPECT_EQ(p.b_scale.data, address(8));
  EXPECT_EQ(p.b_scale.column, 3);
}

TEST(CudaSkinnyLowering, FewColumnsAreItWhereSidesAreExchangedWithAllThatBelongsToThem) {
  constexpr std::int64_t kM = 4096, kN = 3, kK = 1024;
  const cuda::SimtParams p = lower(spec(kM, kN, kK)).params.value().product;
  EXPECT_EQ(p.m, kN);
  EXPECT_EQ(p.n, kM);
  EXPECT_EQ(p.k, kK);
  expect(p.a, address(2), kK, 1, kK * kN);
  expect(p.b, address(1), 1, kK, kM * kK);
  expect(p.c, address(3), 1, kN, kM * kN);
  expect(p.residual, address(6), 1, kN, kM * kN + 8);
  expect(p.bias, address(5), 5, 0, 5 * kN);
  EXPECT_EQ(p.a_scale.data, address(8));
  EXPECT_EQ(p.a_scale.row, 3);
  EXPECT_EQ(p.b_scale.data, address(7));
  EXPECT_EQ(p.b_scale.column, 2);
}

TEST(CudaSkinnyLowering, AGridIsWholeClustersOfBlocksOfTheirWarps) {
  for (const std::int64_t n : {64, 4096, 200'000}) {
    for (const std::int64_t k : {96, 4096, 65536}) {
      const Product record = lower(spec(3, n, k));
      const SkinnyParams& p = record.params.value();
      EXPECT_EQ(record.cluster, static_cast<unsigned>(p.cluster));
      EXPECT_GE(record.grid, record.cluster);
      EXPECT_EQ(record.grid % record.cluster, 0U);
      EXPECT_LE(record.grid, p.units * record.cluster);
      EXPECT_EQ(record.block, static_cast<unsigned>(32 * p.groups * p.slices));
      EXPECT_EQ(p.units, p.tiles * p.chunks * 2);
    }
  }
}

}  // namespace
}  // namespace girih::testing
