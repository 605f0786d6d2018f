#include <gtest/gtest.h>

#include "backends/cuda/device.hpp"
#include "plan/cuda_f32_cost.hpp"
#include "plan/cuda_fast_f32.hpp"
#include "plan/cuda_gemm_layout.hpp"
#include "support/expect.hpp"

// Selection of f32 products for an H200, without one.

namespace girih {
namespace {

using testing::must;
using testing::refused;
using testing::succeeded;

GemmSpec spec(std::int64_t m, std::int64_t n, std::int64_t k,
              Precision precision = Precision::Exact) {
  return {.a = {DType::F32, {m, k}, {k, 1}, 0},
          .b = {DType::F32, {k, n}, {n, 1}, 0},
          .c = {DType::F32, {m, n}, {n, 1}, 0},
          .precision = precision};
}

SelectionContext context(std::string_view forced = "") {
  return {.device = find_fixture("h200"),
          .kernels = cuda::kernel_table(),
          .threads = 1,
          .forced_kernel = forced};
}
GemmSelection choose(const GemmSpec& asked) {
  return must(select(must(check(asked)), context()));
}

TEST(CudaF32Select, ExactIsOneChainAnElementUnlessKIsSplit) {
  const GemmSelection large = choose(spec(4096, 4096, 4096));
  EXPECT_EQ(large.kernel->reduction, Reduction::SequentialF32);
  EXPECT_EQ(large.split_k, 1);
  EXPECT_EQ(large.workspace_bytes, 0);
  EXPECT_GE(large.kernel->tile_m * large.kernel->tile_n, 128 * 128);
  EXPECT_EQ(choose(spec(1024, 1024, 1024)).kernel->tile_m, 64);
  GemmSpec few = spec(128, 128, 65536);
  const GemmSelection split = choose(few);
  EXPECT_GT(split.split_k, 1);
  EXPECT_EQ(split.split_kind, SplitKind::Workspace);
  EXPECT_EQ(split.workspace_bytes, 4 * split.split_k * 128 * 128);
  few.reproducibility = Reproducibility::RowInvariant;
  EXPECT_EQ(choose(few).split_k, 1);
  few.reproducibility = Reproducibility::PerShape;
  few.c.strides = {1, 128};
  EXPECT_EQ(choose(few).split_k, 1) << "partial sums are added into rows";
}

TEST(CudaF32Select, FewTilesShareKInClusters) {
  GemmSpec asked = spec(512, 512, 512);
  const GemmSelection choice = choose(asked);
  EXPECT_EQ(choice.split_kind, SplitKind::Cluster);
  EXPECT_EQ(choice.split_k, 2);
  EXPECT_EQ(choice.workspace_bytes, 0);
  // Of 4 only where each block has a multiprocessor to itself.
  EXPECT_EQ(choose(spec(256, 256, 256)).split_k, 4);
  EXPECT_EQ(choose(spec(1024, 1024, 1024)).split_k, 1);
  SelectionContext older = context();
  older.device = find_fixture("a100");
  EXPECT_NE(must(select(must(check(asked)), older)).split_kind, SplitKind::Cluster);
  asked.c.strides = {1, 512};
  EXPECT_EQ(choose(asked).split_k, 1) << "parts of a tile are finished by rows";
  asked = spec(512, 512, 512);
  asked.reproducibility = Reproducibility::RowInvariant;
  EXPECT_EQ(choose(asked).split_k, 1);
}

TEST(CudaF32Select, EveryRowTakesEveryStride) {
  for (const KernelInfo& row : cuda::kernel_table()) {
    if (cuda_f32_tile(row) < 0) continue;
    for (const std::int64_t step : {1, 3}) {
      GemmSpec asked = spec(300, 200, 1000);
      asked.a.strides = {step, 301};
      asked.b.strides = {7, 3000};
      asked.c.strides = {step, 1000};
      EXPECT_EQ(must(select(must(check(asked)), context(row.name))).kernel->name, row.name);
    }
  }
}

TEST(CudaF32Select, FastSplitsLargeProductsAndStaysWithinTheLimit) {
  for (const std::int64_t extent : {2048, 8192, 40000}) {
    const GemmSelection choice = choose(spec(extent, extent, extent, Precision::Fast));
    ASSERT_TRUE(choice.kernel->splits_f32);
    EXPECT_EQ(choice.kernel->reduction, Reduction::WgmmaPartsF32);
    EXPECT_GT(choice.workspace_bytes, 0);
    EXPECT_LE(choice.workspace_bytes, kCudaWorkspaceLimit);
    EXPECT_TRUE(choose(spec(extent, extent, extent)).kernel->path == Path::Portable);
  }
}

TEST(CudaF32Select, FastIsExactWhereThatIsAllThereIs) {
  const auto splits = [](const GemmSpec& asked) { return choose(asked).kernel->splits_f32; };
  const GemmSpec good = spec(2048, 2048, 2048, Precision::Fast);
  ASSERT_TRUE(splits(good));
  GemmSpec x = good;
  x.reproducibility = Reproducibility::RowInvariant;
  EXPECT_FALSE(splits(x));
  x.path = Path::Matrix;
  EXPECT_TRUE(refused(select(must(check(x)), context()), Code::GemmNoKernel, "row-invariant"));
  x = good;
  x.c.strides = {1, 2048};
  EXPECT_FALSE(splits(x));
  x = spec(16, 16, 64, Precision::Fast);
  EXPECT_FALSE(splits(x)) << "the parts cost more than the product";
  x.path = Path::Matrix;
  EXPECT_TRUE(splits(x));
}

TEST(CudaF32Select, FastCountsThreeMatricesForEachOfABatch) {
  const auto choice = [](std::int64_t batch) {
    GemmSpec x = spec(64, 64, 64, Precision::Fast);
    x.path = Path::Matrix;
    for (Geometry* each : {&x.a, &x.b, &x.c}) {
      *each = {DType::F32, {batch, 64, 64}, {64 * 64, 64, 1}, 0};
    }
    return select(must(check(x)), context());
  };
  EXPECT_TRUE(succeeded(choice((std::int64_t{1} << 31) / 3 - 1024)));
  EXPECT_TRUE(refused(choice((std::int64_t{1} << 31) / 3 + 1), Code::GemmNoKernel, ""));
}

TEST(CudaF32Select, PiecesOfAFastProductCoverItAndFit) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{8192, 8192, 8192},
                                {100'000, 64, 4096},
                                {300, 300, 1'000'000},
                                {20'000, 30'000, 10'000}}) {
    const GemmProblem problem = must(check(spec(m, n, k, Precision::Fast)));
    const CudaFastPieces piece = cuda_fast_pieces(problem);
    EXPECT_LE(piece.bytes, std::max(kCudaWorkspaceLimit, 2 * 128 * 6 * (k + 64) + 1024));
    EXPECT_TRUE(piece.m == m || piece.m % 128 == 0);
    EXPECT_TRUE(piece.n == n || piece.n % 128 == 0);
    const CudaFastLayout layout = cuda_fast_layout(cuda_piece(problem, 1, piece.m, piece.n));
    EXPECT_EQ(layout.bytes, piece.bytes);
    EXPECT_EQ(layout.a.ld % kFastDepth, 0);
    EXPECT_GE(layout.b.at, layout.a.at + layout.a.bytes());
  }
}

}  // namespace
}  // namespace girih
