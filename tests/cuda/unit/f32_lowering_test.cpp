#include <gtest/gtest.h>
#include <vector>

#include "backends/cuda/kernels/f32_params.hpp"
#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "cuda/unit/lowering.hpp"
#include "plan/cuda_f32_cost.hpp"

// What an exact f32 product hands to its kernels.

namespace girih::testing {
namespace {

using cuda::F32Load;
using cuda::F32Params;

class Products final : public cuda::LaunchSink {
 public:
  Status add(const cuda::Launch& launch) noexcept override {
    grids.push_back(launch.grid.x);
    if (launch.function == cuda::gemm_split_reduce_kernel()) {
      reduce = *static_cast<const cuda::SplitReduceParams*>(launch.params);
    } else {
      function = launch.function;
      params = *static_cast<const F32Params*>(launch.params);
    }
    return {};
  }
  const void* function = nullptr;
  std::vector<unsigned> grids;
  F32Params params;
  cuda::SplitReduceParams reduce;
};

/// Both operands contiguous along their own extents.
GemmSpec spec(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.a = {DType::F32, {batch, m, k}, {m * k, 1, m}, 0},
          .b = {DType::F32, {batch, k, n}, {k * n, n, 1}, 0},
          .c = {DType::F32, {batch, m, n}, {m * n, n, 1}, 0}};
}
struct LoweredF32 {
  int tile = 0;
  Products record;
};
/// On the row that is chosen; in slices of K where `splits` says so.
LoweredF32 lower(const GemmSpec& asked, int splits = 1) {
  const GemmProblem problem = must(check(asked));
  GemmSelection selection = must(select(problem, {.device = find_fixture("h200"),
                                                  .kernels = cuda::kernel_table(),
                                                  .threads = 1,
                                                  .forced_kernel = ""}));
  selection.split_k = splits;
  selection.split_kind = splits > 1 ? SplitKind::Workspace : SplitKind::None;
  const GemmOperands operands{
      .a = address(1) + 4 * asked.a.offset, .b = address(2) + 4 * asked.b.offset, .c = address(3)};
  LoweredF32 result{cuda_f32_tile(*selection.kernel), {}};
  must(cuda::lower(GemmCall{problem, operands, selection, address(4)},
                   {.multiprocessors = 132, .maps = nullptr}, result.record));
  return result;
}
constexpr std::int64_t kM = 1024, kN = 768, kK = 512;

TEST(CudaF32Lowering, PiecesOf16BytesAreLoadedWhereEveryOneIsWhole) {
  const GemmSpec good = spec(3, kM, kN, kK);
  GemmSpec x = good;
  const auto expect = [&](F32Load a, F32Load b, const char* what) {
    const LoweredF32 lowered = lower(x);
    EXPECT_EQ(lowered.record.function, cuda::gemm_f32_kernel(lowered.tile, a, b)) << what;
    x = good;
  };
  expect(F32Load::Wide, F32Load::Wide, "all are");
  x.a.offset = 1;
  expect(F32Load::Any, F32Load::Wide, "A begins inside a piece");
  x.b.offset = 2;
  expect(F32Load::Wide, F32Load::Any, "B does");
  x.a.strides[2] = kM + 1;
  expect(F32Load::Any, F32Load::Wide, "the next k of A does");
  x.b.strides[1] = kN + 2;
  expect(F32Load::Wide, F32Load::Any, "that of B does");
  x.a.strides[0] += 1;
  expect(F32Load::Any, F32Load::Wide, "the next A does");
  x.b.strides[0] += 2;
  expect(F32Load::Wide, F32Load::Any, "the next B does");
  x.a.strides = {kM * kK, kK, 1};
  x.b.strides = {kN * kK, 1, kK};
  expect(F32Load::AlongK, F32Load::AlongK, "contiguous along K");
  x = spec(1, kM, kN, kK);
  x.a.strides[0] = x.b.strides[0] = 1;
  expect(F32Load::Wide, F32Load::Wide, "one product has no distance to the next");
}

TEST(CudaF32Lowering, SlicesOfKAreWrittenToTheWorkspaceAndAddedThere) {
  const Products record = lower(spec(2, kM, kN, kK), 3).record;
  ASSERT_EQ(record.grids.size(), 2U);
  const cuda::MatrixRef& sums = record.params.epilogue.out;
  EXPECT_EQ(record.params.splits, 3);
  EXPECT_EQ(record.reduce.splits, 3);
  EXPECT_EQ(sums.data, address(4));
  EXPECT_EQ(record.reduce.partial, address(4));
  EXPECT_EQ(record.reduce.partial_ld, sums.ld);
  EXPECT_GE(sums.ld, kN);
  EXPECT_EQ(sums.batch_stride, kM * sums.ld);
  EXPECT_EQ(record.reduce.batch, 2);
  EXPECT_EQ(record.reduce.epilogue.out.data, address(3));
}

TEST(CudaF32Lowering, MoreTilesThanAGridCountsAreCutAlongTheBatch) {
  const std::int64_t batch = (std::int64_t{5} << 30) + 3;
  GemmSpec asked = spec(batch, 8, 8, 8);
  asked.a.strides[0] = asked.b.strides[0] = 0;
  const Products record = lower(asked).record;
  ASSERT_GT(record.grids.size(), 1U);
  std::int64_t tiles = 0;
  for (const unsigned grid : record.grids) {
    EXPECT_LT(grid, 1U << 31);
    tiles += grid;
  }
  EXPECT_EQ(tiles, batch);
  const auto* const last = static_cast<const std::byte*>(record.params.simt.c.data);
  EXPECT_EQ(last - address(3), 4 * 64 * (batch - record.params.simt.batch));
}

}  // namespace
}  // namespace girih::testing
