#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "backends/cpu/device.hpp"
#include "plan/elementwise.hpp"
#include "plan/gemm.hpp"
#include "support/expect.hpp"

// Selection is pure, so it is tested here for devices that are elsewhere.

namespace girih {
namespace {

using testing::must;
using testing::refused;
using testing::succeeded;

constexpr std::int64_t kWorkspaceLimit = std::int64_t{64} << 20;

GemmSpec spec(std::int64_t m, std::int64_t n, std::int64_t k, DType operands = DType::F32,
              DType output = DType::F32) {
  return {.a = {operands, {m, k}, {k, 1}, 0},
          .b = {operands, {k, n}, {n, 1}, 0},
          .c = {output, {m, n}, {n, 1}, 0}};
}

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k, DType operands = DType::F32,
                    DType output = DType::F32) {
  return must(check(spec(m, n, k, operands, output)));
}

class SelectTest : public ::testing::TestWithParam<DeviceInfo> {
 protected:
  [[nodiscard]] SelectionContext context(int threads = 1, std::string_view forced = "") const {
    return {.device = &GetParam(),
            .kernels = cpu::kernel_table(),
            .threads = threads,
            .forced_kernel = forced};
  }
  [[nodiscard]] bool can_run(const KernelInfo& row) const {
    return GetParam().features.missing(row.needs).empty();
  }
};

TEST_P(SelectTest, EveryTypeHasAKernel) {
  for (const DType operands : {DType::F32, DType::BF16, DType::F16, DType::I8}) {
    for (const DType output : {DType::F32, DType::BF16, DType::F16, DType::I32}) {
      if (output == DType::I32 && operands != DType::I8) continue;
      for (const Path path : {Path::Auto, Path::Portable}) {
        GemmSpec asked = spec(100, 200, 300, operands, output);
        asked.path = path;
        const auto chosen = select(must(check(asked)), context());
        ASSERT_TRUE(succeeded(chosen)) << name(operands) << " " << name(path);
        EXPECT_TRUE(chosen->kernel->operands.has(operands));
        EXPECT_TRUE(chosen->kernel->outputs.has(output));
        EXPECT_TRUE(can_run(*chosen->kernel)) << chosen->kernel->name;
      }
    }
  }
}

TEST_P(SelectTest, TakesTheRowOfThePathThatWasAsked) {
  for (const Path path : {Path::Matrix, Path::Portable}) {
    GemmSpec asked = spec(64, 64, 64);
    asked.path = path;
    const auto chosen = select(must(check(asked)), context());
    const bool exists = std::any_of(cpu::kernel_table().begin(), cpu::kernel_table().end(),
                                    [&](const KernelInfo& row) {
                                      return row.op == Op::Gemm && row.path == path &&
                                             row.operands.has(DType::F32) && can_run(row);
                                    });
    ASSERT_EQ(chosen.has_value(), exists) << name(path);
    if (exists) {
      EXPECT_EQ(chosen->kernel->path, path);
    } else {
      EXPECT_TRUE(refused(chosen, Code::GemmNoKernel, "needs"));
    }
  }
}

TEST_P(SelectTest, IsDeterministic) {
  for (const int threads : {1, 2, 7}) {
    const GemmProblem x = problem(333, 257, 129, DType::BF16);
    const GemmSelection first = must(select(x, context(threads)));
    for (int i = 0; i < 10; ++i) {
      const GemmSelection again = must(select(x, context(threads)));
      EXPECT_EQ(again.kernel, first.kernel);
      EXPECT_EQ(again.block.m, first.block.m);
      EXPECT_EQ(again.block.n, first.block.n);
      EXPECT_EQ(again.block.k, first.block.k);
      EXPECT_EQ(again.threads, first.threads);
      EXPECT_EQ(again.workspace_bytes, first.workspace_bytes);
      EXPECT_EQ(again.predicted_seconds, first.predicted_seconds);
    }
  }
}

TEST_P(SelectTest, ForcingTakesThatRowOrSaysWhyNot) {
  for (const KernelInfo& row : cpu::kernel_table()) {
    if (row.op != Op::Gemm) continue;
    const DType operands = row.operands.has(DType::I8) ? DType::I8 : DType::F32;
    const auto chosen = select(problem(50, 60, 70, operands), context(2, row.name));
    if (can_run(row)) {
      ASSERT_TRUE(succeeded(chosen));
      EXPECT_EQ(chosen->kernel->name, row.name);
    } else {
      EXPECT_TRUE(refused(chosen, Code::GemmNoKernel, "needs")) << row.name;
    }
    const DType other = operands == DType::I8 ? DType::F32 : DType::I8;
    EXPECT_TRUE(
        refused(select(problem(50, 60, 70, other), context(2, row.name)), Code::GemmNoKernel, ""))
        << row.name;
  }
  EXPECT_TRUE(refused(select(problem(5, 6, 7), context(1, "cpu_gemm_f32_1x1_abacus")),
                      Code::GemmUnknownKernel, "cpu_gemm_f32_1x1_abacus"));
}

TEST_P(SelectTest, AGatesBlocksHoldWholeTilesOfBothHalves) {
  for (const std::int64_t m : {1, 100, 3000}) {
    for (const std::int64_t n : {1, 7, 100, 5001}) {
      GemmSpec gated = spec(m, 2 * n, 700);
      gated.c = {DType::F32, {m, n}, {n, 1}, 0};
      gated.gate = Gate{};
      const GemmProblem x = must(check(gated));
      const GemmSelection choice = must(select(x, context(4)));
      const std::int64_t pair = 2 * choice.kernel->tile_n;
      EXPECT_EQ(choice.block.n % pair, 0);
      EXPECT_EQ(choice.chunk.n % pair, 0);
      EXPECT_GE(choice.block.n * ((2 * n + choice.block.n - 1) / choice.block.n), 2 * n);
      const Plan plan = must(explain(x, context(4)));
      EXPECT_EQ(plan.flops, 2.0 * static_cast<double>(m * 2 * n * 700));
      EXPECT_NE(plan.to_string().find("a gate (silu, concatenated) joins"), std::string::npos);
    }
  }
}

TEST_P(SelectTest, ARowWithoutAGateSaysSo) {
  std::vector<KernelInfo> rows(cpu::kernel_table().begin(), cpu::kernel_table().end());
  for (KernelInfo& row : rows) row.gates = false;
  SelectionContext without = context();
  without.kernels = rows;
  GemmSpec gated = spec(64, 128, 64);
  EXPECT_TRUE(succeeded(select(must(check(gated)), without)));
  gated.c = {DType::F32, {64, 64}, {64, 1}, 0};
  gated.gate = Gate{};
  EXPECT_TRUE(
      refused(select(must(check(gated)), without), Code::GemmNoKernel, "has no gated epilogue"));
}

TEST_P(SelectTest, EveryRowGivesEighthOutputs) {
  for (const DType operands : {DType::F32, DType::BF16, DType::F16, DType::I8}) {
    for (const DType output : {DType::I8, DType::F8E4M3, DType::F8E5M2}) {
      GemmSpec asked = spec(64, 96, 64, operands);
      const GemmSelection plain = must(select(must(check(asked)), context()));
      asked.c.dtype = output;
      EXPECT_EQ(must(select(must(check(asked)), context())).kernel, plain.kernel);
      const std::string text = must(explain(must(check(asked)), context())).to_string();
      EXPECT_NE(text.find("C is rounded to"), std::string::npos) << text;
    }
  }
}

TEST_P(SelectTest, Tf32IsRefusedAndNamesFast) {
  GemmSpec asked = spec(64, 64, 64);
  asked.precision = Precision::Tf32;
  const auto chosen = select(must(check(asked)), context());
  EXPECT_TRUE(refused(chosen, Code::GemmNoKernel, "fast"));
  EXPECT_EQ(chosen.error().kind(), ErrorKind::Unsupported);
  asked.a.dtype = asked.b.dtype = DType::BF16;  // exact in every mode
  EXPECT_TRUE(succeeded(select(must(check(asked)), context())));
}

TEST_P(SelectTest, EightBitFloatsAreRefusedUntilAKernelTakesThem) {
  for (const DType type : {DType::F8E4M3, DType::F8E5M2}) {
    EXPECT_TRUE(refused(select(problem(8, 8, 8, type), context()), Code::GemmNoKernel, ""));
  }
}

TEST_P(SelectTest, ThePlanExplainsEveryOtherRow) {
  GemmSpec asked = spec(300, 200, 100);
  asked.precision = Precision::Fast;
  const GemmProblem x = must(check(asked));
  const GemmSelection chosen = must(select(x, context(2)));
  const Plan plan = must(explain(x, context(2)));
  EXPECT_EQ(plan.kernel, chosen.kernel->name);
  EXPECT_EQ(plan.workspace_bytes, static_cast<std::uint64_t>(chosen.workspace_bytes));
  EXPECT_EQ(plan.device, GetParam().name);
  EXPECT_GT(plan.predicted_seconds, 0);
  EXPECT_FALSE(plan.notes.empty());  // Fast uses the exact kernels, and says so
  std::set<std::string> named{plan.kernel};
  for (const Plan::Rejected& rejected : plan.rejected) {
    EXPECT_FALSE(rejected.reason.empty());
    EXPECT_TRUE(named.insert(rejected.kernel).second) << rejected.kernel;
  }
  for (const KernelInfo& row : cpu::kernel_table()) {
    EXPECT_EQ(named.count(std::string(row.name)), row.op == Op::Gemm ? 1U : 0U) << row.name;
  }
  const std::string text = plan.to_string();
  for (const std::string& kernel : named) EXPECT_NE(text.find(kernel), std::string::npos);
}

TEST_P(SelectTest, TheWorkspaceStaysUnder64MiB) {
  constexpr std::int64_t kExtents[] = {1, 2, 63, 64, 1000, 4096, 16384, 65537, 1'000'000};
  for (const DType operands : {DType::F32, DType::BF16, DType::I8}) {
    for (const int threads : {1, 2, 3, 7, 16, 64, 255, 256}) {
      for (const std::int64_t m : kExtents) {
        for (const std::int64_t n : kExtents) {
          for (const std::int64_t k : kExtents) {
            if (operands == DType::I8 && k > 131071) continue;
            const GemmSelection chosen = must(select(problem(m, n, k, operands), context(threads)));
            ASSERT_LT(chosen.workspace_bytes, kWorkspaceLimit)
                << m << "x" << n << "x" << k << " " << name(operands) << " on " << threads;
            ASSERT_GE(chosen.workspace_bytes, 0);
            ASSERT_TRUE(chosen.threads >= 1 && chosen.threads <= threads);
            ASSERT_GT(chosen.predicted_seconds, 0);
          }
        }
      }
    }
  }
}

TEST_P(SelectTest, TheWorkspaceOfBatchesStaysUnder64MiB) {
  for (const int threads : {1, 2, 7, 64, 256}) {
    for (const std::int64_t batch : {1, 2, 7, 64, 1000, 100'000}) {
      for (const std::int64_t side : {1, 16, 200, 700, 3000}) {
        GemmSpec batched = spec(side, side, side);
        for (Geometry* x : {&batched.a, &batched.b, &batched.c}) {
          *x = {DType::F32, {batch, side, side}, {side * side, side, 1}, 0};
        }
        const GemmSelection chosen = must(select(must(check(batched)), context(threads)));
        ASSERT_LT(chosen.workspace_bytes, kWorkspaceLimit) << batch << " x " << side;
      }
    }
  }
}

TEST_P(SelectTest, RowInvariantSelectionKeepsOneReductionClassForAllM) {
  for (const DType operands : {DType::F32, DType::BF16, DType::I8}) {
    std::set<Reduction> classes;
    std::set<int> splits;
    for (const std::int64_t m : {1, 2, 3, 16, 17, 70, 1000, 30'000}) {
      GemmSpec asked = spec(m, 96, 4000, operands);
      asked.reproducibility = Reproducibility::RowInvariant;
      const GemmSelection chosen = must(select(must(check(asked)), context(4)));
      classes.insert(chosen.kernel->reduction);
      splits.insert(chosen.split_k);
      EXPECT_NE(chosen.kernel->reduction, Reduction::None);
    }
    EXPECT_EQ(classes.size(), 1U);
    EXPECT_EQ(splits.size(), 1U);
  }
}

TEST_P(SelectTest, ARowWithoutAReductionClassIsNotEligibleForRowInvariance) {
  std::vector<KernelInfo> rows(cpu::kernel_table().begin(), cpu::kernel_table().end());
  for (KernelInfo& row : rows) row.reduction = Reduction::None;
  SelectionContext unclassed = context();
  unclassed.kernels = rows;
  GemmSpec asked = spec(64, 64, 64);
  EXPECT_TRUE(succeeded(select(must(check(asked)), unclassed)));
  asked.reproducibility = Reproducibility::RowInvariant;
  EXPECT_TRUE(
      refused(select(must(check(asked)), unclassed), Code::GemmNoKernel, "reduction class"));
}

TEST_P(SelectTest, ExtentsAtTheLimitOfAnEmptyProductAreNoOverflow) {
  GemmSpec asked = spec(INT64_MAX, 0, 1);
  EXPECT_TRUE(succeeded(select(must(check(asked)), context(3))));
  asked = spec(INT64_MAX, INT64_MAX, 1);
  EXPECT_TRUE(refused(check(asked), Code::SizeOverflow, "C"));
}

TEST_P(SelectTest, PrefersTheFasterRowForALargeProduct) {
  double best = 0;
  for (const KernelInfo& row : cpu::kernel_table()) {
    if (row.op == Op::Gemm && row.operands.has(DType::F32) && can_run(row)) {
      best = std::max(best, row.flops_per_cycle);
    }
  }
  EXPECT_EQ(must(select(problem(1024, 1024, 1024), context())).kernel->flops_per_cycle, best);
}

std::vector<DeviceInfo> cpu_fixtures() {
  std::vector<DeviceInfo> found;
  for (const DeviceInfo& device : device_fixtures()) {
    if (device.backend == Backend::Cpu) found.push_back(device);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Devices, SelectTest, ::testing::ValuesIn(cpu_fixtures()),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(FixtureTest, AreFoundByName) {
  for (const DeviceInfo& device : device_fixtures()) EXPECT_EQ(find_fixture(device.name), &device);
  EXPECT_EQ(find_fixture("none such"), nullptr);
}

TEST(FeaturesTest, MissingIsTheDifference) {
  const Features have = {Feature::Avx2, Feature::Neon};
  EXPECT_TRUE(have.missing({Feature::Avx2}).empty());
  EXPECT_TRUE(have.missing({Feature::Avx512, Feature::Avx2}).has(Feature::Avx512));
  EXPECT_FALSE(have.missing({Feature::Avx512, Feature::Avx2}).has(Feature::Avx2));
  EXPECT_EQ(describe(Features{Feature::Avx2, Feature::Avx512}), "avx2, avx512");
}

}  // namespace
}  // namespace girih
