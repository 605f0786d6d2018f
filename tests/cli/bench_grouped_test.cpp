#include "girih/bench_grouped.hpp"

#include <gtest/gtest.h>

#include "support/expect.hpp"

namespace girih::testing {
namespace {

using namespace cli;

class BenchGroups : public ::testing::Test {
 protected:
  Result<GroupsRow> run(const GroupsShape& shape, DType dtype = DType::BF16) {
    GroupsCase bench{.shape = shape, .operands = dtype, .output = dtype};
    return bench_grouped(runtime_, options_, bench, progress_);
  }

  Runtime runtime_ = must(Runtime::open({.backend = Backend::Cpu}));
  GroupsOptions options_{.rounds = 6, .round_seconds = 1e-4};
  Progress progress_;
};

TEST_F(BenchGroups, TimesTheCallAndTheLoop) {
  const GroupsRow row = must(run({5, 7, 40, 24}));
  EXPECT_EQ(row.seconds.samples, 6);
  EXPECT_EQ(row.ratio.samples, 6);
  EXPECT_GT(row.loop_seconds.median, 0);
  EXPECT_FALSE(row.kernel.empty());
  EXPECT_EQ(row.loop_kernel, row.kernel);
  EXPECT_GT(row.sets, 1);
}

TEST_F(BenchGroups, AWrongResultHasNoTime) {
  int calls = 0;
  options_.launcher = [&](Runtime& runtime, GroupedGemmDesc desc) -> Status {
    ++calls;
    // The last group is left out.
    const Tensor& b = desc.b.tensor();
    const Tensor& offsets = desc.offsets.tensor();
    desc.b = must(b.slice(0, 0, b.extent(0) - 1));
    desc.offsets = must(offsets.slice(0, 0, offsets.extent(0) - 1));
    return grouped_gemm(runtime, desc);
  };
  EXPECT_TRUE(refused(run({5, 7, 40, 24}), Code::DeviceFailed, "girih is wrong: NaN in row 28"));
  options_.launcher = [&](Runtime& runtime, GroupedGemmDesc desc) {
    ++calls;
    desc.alpha = 1.125F;
    return grouped_gemm(runtime, desc);
  };
  EXPECT_TRUE(refused(run({5, 7, 40, 24}), Code::DeviceFailed, "of group 0 on: worst at"));
  EXPECT_EQ(calls, 2);
}

TEST_F(BenchGroups, TheLadderIsThatOfExperts) {
  const std::vector<GroupsShape> shapes = must(groups_ladder("experts"));
  ASSERT_EQ(shapes.size(), 6U);
  EXPECT_EQ(to_string(shapes[2]), "128x64x4096x2048");
  EXPECT_EQ(to_string(shapes[5]), "512x40x2048x4096");
  EXPECT_EQ(must(parse_groups("2x3x4x5"))[0].flops(), 2.0 * 2 * 3 * 4 * 5);
}

}  // namespace
}  // namespace girih::testing
