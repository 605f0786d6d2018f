#include "runtime/gemm_choices.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "runtime/registry.hpp"
#include "support/expect.hpp"
#include "support/random_gemm.hpp"

namespace girih {
namespace {

using testing::must;
using testing::random_gemm;

SelectionContext context_on(const char* device) {
  const DeviceInfo* const info = find_fixture(device);
  return {.device = info,
          .kernels = kernels_of(info->backend),
          .threads = info->cores,
          .forced_kernel = ""};
}

std::string describe(const Result<GemmSelection>& choice) {
  if (!choice) return choice.error().message;
  const GemmSelection& x = *choice;
  std::string text(x.kernel->name);
  for (const auto number :
       {x.block.m, x.block.n, x.block.k, x.chunk.m, x.chunk.n, x.chunk.k,
        std::int64_t{x.sums_per_thread}, std::int64_t{x.threads},
        std::int64_t{x.concurrent_products}, std::int64_t{x.split_k},
        static_cast<std::int64_t>(x.split_kind), static_cast<std::int64_t>(x.traversal),
        std::int64_t{x.cluster_rows}, std::int64_t{x.cluster_columns}, std::int64_t{x.band},
        std::int64_t{x.swaps_sides}, std::int64_t{x.joins_halves}, std::int64_t{x.is_tuned},
        x.workspace_bytes}) {
    text += ' ' + std::to_string(number);
  }
  return text + ' ' + std::to_string(x.predicted_seconds * 1e9);
}

std::vector<GemmProblem> random_problems(std::size_t count, std::uint64_t seed) {
  std::vector<GemmProblem> problems;
  verify::Random random(seed);
  while (problems.size() < count) {
    const Result<GemmProblem> problem = check(random_gemm(random));
    if (problem) problems.push_back(*problem);
  }
  return problems;
}

// More products than there is room for, in an order in which some come again soon.
TEST(GemmChoices, AreThoseOfSelection) {
  const std::vector<GemmProblem> problems = random_problems(3000, 7);
  for (const char* const device : {"h200", "a100", "amx-2c", "m5pro"}) {
    const SelectionContext context = context_on(device);
    GemmChoices choices;
    verify::Random random(11);
    std::size_t chosen = 0;
    for (std::int64_t i = 0; i < 6000; ++i) {
      const std::int64_t last = static_cast<std::int64_t>(problems.size()) - 1;
      const std::int64_t at = std::min(random.integer(i / 3, i / 3 + 100), last);
      const GemmProblem& problem = problems[static_cast<std::size_t>(at)];
      const Result<GemmSelection> choice = choices.choose(problem, context);
      ASSERT_EQ(describe(choice), describe(select(problem, context))) << device;
      chosen += choice ? 1 : 0;
    }
    EXPECT_GT(chosen, 1500U) << device;
  }
}

TEST(GemmChoices, AreMadeAnewWhereTheirRowWasTurnedOff) {
  const auto table = kernels_of(Backend::Cuda);
  std::vector<KernelInfo> rows(table.begin(), table.end());
  const SelectionContext context{
      .device = find_fixture("h200"), .kernels = rows, .forced_kernel = ""};
  GemmChoices choices;
  for (const GemmProblem& problem : random_problems(50, 3)) {
    const Result<GemmSelection> before = choices.choose(problem, context);
    if (!before) continue;
    KernelInfo& row = rows[static_cast<std::size_t>(before->kernel - rows.data())];
    row.obstacle = "its trial product was wrong";
    const Result<GemmSelection> after = choices.choose(problem, context);
    EXPECT_EQ(describe(after), describe(select(problem, context)));
    EXPECT_NE(describe(after), describe(before));
    row.obstacle = {};
  }
}

TEST(GemmChoices, DependOnTheNumberOfThreads) {
  SelectionContext context = context_on("avx512-16c");
  GemmChoices choices;
  const Geometry square{DType::F32, {2000, 2000}, {2000, 1}, 0};
  const GemmProblem problem = must(check(GemmSpec{.a = square, .b = square, .c = square}));
  EXPECT_EQ(must(choices.choose(problem, context)).threads, 16);
  context.threads = 4;
  EXPECT_EQ(must(choices.choose(problem, context)).threads, 4);
}

TEST(GemmKeys, TellApartWhatSelectionTellsApart) {
  const Geometry matrix{DType::F8E4M3, {3, 256, 256}, {65536, 256, 1}, 0};
  const Geometry result{DType::BF16, {3, 256, 256}, {65536, 256, 1}, 0};
  const Geometry factors{DType::F32, {2, 256}, {256, 1}, 0};
  const GemmSpec plain{.a = matrix, .b = matrix, .c = result};
  std::vector<GemmSpec> specs{plain};
  const auto add = [&](const auto& change) {
    specs.push_back(plain);
    change(specs.back());
  };
  const Geometry row{DType::F32, {256}, {1}, 0};
  add([](GemmSpec& x) { x.a.shape = x.c.shape = {3, 255, 256}; });
  add([](GemmSpec& x) { x.a.strides[0] = 0; });
  add([](GemmSpec& x) { x.a.strides[1] = 257; });
  add([](GemmSpec& x) { x.b.strides = {65536, 1, 256}; });
  add([](GemmSpec& x) { x.a.offset = 1; });
  add([](GemmSpec& x) { x.b.offset = 16; });
  add([](GemmSpec& x) { x.a.dtype = x.b.dtype = DType::F8E5M2; });
  add([](GemmSpec& x) { x.c.dtype = DType::F32; });
  add([](GemmSpec& x) { x.c.dtype = DType::I8; });
  add([](GemmSpec& x) {
    x.c.dtype = DType::I8;
    x.c_scale = Geometry{DType::F32, {1}, {1}, 0};
  });
  add([&](GemmSpec& x) { x.bias = row; });
  add([&](GemmSpec& x) { x.bias = Geometry{DType::F32, {256}, {2}, 0}; });
  add([&](GemmSpec& x) { x.residual = result; });
  add([&](GemmSpec& x) {
    x.a_scale = row;
    x.a_granularity = Granularity::PerRow;
  });
  add([&](GemmSpec& x) {
    x.b_scale = row;
    x.b_granularity = Granularity::PerColumn;
  });
  add([&](GemmSpec& x) {
    x.b_scale = factors;
    x.b_granularity = Granularity::PerColumnBlock;
  });
  add([](GemmSpec& x) { x.alpha.value = 0; });
  add([](GemmSpec& x) { x.beta.value = 1; });
  add([](GemmSpec& x) { x.activation = Activation::Silu; });
  add([](GemmSpec& x) {
    x.gate = Gate{};
    x.c.shape = {3, 256, 128};
  });
  add([](GemmSpec& x) {
    x.gate = Gate{.order = GateOrder::Interleaved};
    x.c.shape = {3, 256, 128};
  });
  add([](GemmSpec& x) { x.precision = Precision::Fast; });
  add([](GemmSpec& x) { x.path = Path::Matrix; });
  add([](GemmSpec& x) { x.reproducibility = Reproducibility::RowInvariant; });
  add([](GemmSpec& x) { x.workspace_bytes = 0; });
  add([](GemmSpec& x) { x.workspace_bytes = 1; });
  std::set<GemmKey> keys;
  for (const GemmSpec& spec : specs) {
    EXPECT_TRUE(keys.insert(key_of(must(check(spec)), 1)).second) << keys.size();
  }
  EXPECT_TRUE(keys.insert(key_of(must(check(plain)), 2)).second);
  GemmSpec scaled = plain;
  scaled.alpha.value = 0.5F;
  EXPECT_EQ(key_of(must(check(scaled)), 1), key_of(must(check(plain)), 1));
}

}  // namespace
}  // namespace girih
