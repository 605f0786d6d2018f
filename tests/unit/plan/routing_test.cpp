#include "plan/routing.hpp"

#include <gtest/gtest.h>

#include "runtime/registry.hpp"
#include "support/expect.hpp"

namespace girih {
namespace {

using testing::must;
using testing::refused;

class RoutingSelectTest : public ::testing::Test {
 protected:
  RouteDesc routing(std::int64_t tokens, std::int64_t experts, std::int64_t k) {
    const auto tensor = [&](const Shape& shape, DType dtype) {
      return must(runtime_.tensor(shape, dtype));
    };
    return {.logits = tensor({tokens, experts}, DType::BF16),
            .chosen = tensor({tokens, k}, DType::I32),
            .weights = tensor({tokens, k}, DType::F32),
            .offsets = tensor({experts + 1}, DType::I32),
            .rows = tensor({tokens, k}, DType::I32),
            .sources = tensor({tokens * k}, DType::I32)};
  }
  PermuteProblem permuting() {
    return must(check(PermuteDesc{.x = must(runtime_.tensor({64, 32}, DType::BF16)),
                                  .sources = must(runtime_.tensor({128}, DType::I32)),
                                  .y = must(runtime_.tensor({128, 32}, DType::BF16))},
                      check_context_));
  }
  RouteProblem checked(const RouteDesc& desc) { return must(check(desc, check_context_)); }
  static SelectionContext context_of(const DeviceInfo& device, int threads) {
    return {.device = &device,
            .kernels = kernels_of(device.backend),
            .threads = threads,
            .forced_kernel = ""};
  }

  Runtime runtime_ = must(Runtime::open({.backend = Backend::Cpu}));
  CheckContext check_context_{.runtime = runtime_.id()};
};

TEST_F(RoutingSelectTest, DevicesWithoutKernelsRefuse) {
  int refusals = 0;
  for (const DeviceInfo& device : device_fixtures()) {
    const auto choice = select(checked(routing(8, 4, 2)), context_of(device, 1));
    const auto rows = select(permuting(), context_of(device, 1));
    const bool has_rows = device.backend != Backend::Metal;
    if (has_rows) {
      EXPECT_TRUE(testing::succeeded(choice)) << device.name;
      EXPECT_TRUE(testing::succeeded(rows)) << device.name;
      continue;
    }
    EXPECT_TRUE(refused(choice, Code::GemmNoKernel, "route of bf16"));
    EXPECT_TRUE(refused(rows, Code::GemmNoKernel, "permute of bf16"));
    ++refusals;
  }
  EXPECT_GT(refusals, 1);
}

TEST_F(RoutingSelectTest, PartsAndWorkspaceFollowTokensAndThreads) {
  const DeviceInfo& device = *find_fixture("avx512-16c");
  const RouteProblem few = checked(routing(10, 64, 4)), many = checked(routing(20'000, 64, 4));
  EXPECT_EQ(must(select(few, context_of(device, 16))).parts, 1);
  const RouteSelection choice = must(select(many, context_of(device, 16)));
  EXPECT_GT(choice.threads, 8);
  EXPECT_GE(choice.parts, choice.threads);
  EXPECT_EQ(choice.workspace_bytes, choice.parts * 64 * 4);
  EXPECT_LT(choice.predicted_seconds,
            must(select(many, context_of(device, 1))).predicted_seconds / 4);
}

TEST_F(RoutingSelectTest, AWorkspaceMustHoldTheCounts) {
  const DeviceInfo& device = *find_fixture("avx2-2c");
  RouteDesc desc = routing(10, 64, 4);
  desc.workspace = must(runtime_.tensor({64 * 4 - 1}, DType::I8));
  EXPECT_TRUE(refused(select(checked(desc), context_of(device, 1)), Code::WorkspaceTooSmall,
                      "workspace has 255 bytes, cpu_route_float_1x256_scalar needs 256"));
  desc.workspace = must(runtime_.tensor({64 * 4}, DType::I8));
  EXPECT_TRUE(testing::succeeded(select(checked(desc), context_of(device, 1))));
}

TEST_F(RoutingSelectTest, PlansSayWhatRunsAndMoves) {
  const SelectionContext context = context_of(*find_fixture("avx2-2c"), 2);
  const RouteProblem problem = checked(routing(1000, 64, 4));
  const Plan plan = must(explain(problem, context));
  EXPECT_EQ(plan.kernel, "cpu_route_float_1x256_scalar");
  EXPECT_EQ(plan.bytes, problem.bytes());
  ASSERT_EQ(plan.notes.size(), 1U);
  EXPECT_NE(plan.notes[0].find("1000 tokens choose 4 of 64 experts"), std::string::npos);
  EXPECT_EQ(must(explain(permuting(), context)).bytes, 2 * 128 * 32 * 2 + 128 * 4);
}

TEST_F(RoutingSelectTest, AForcedRowOfAnotherOperationIsUnknown) {
  SelectionContext context = context_of(*find_fixture("avx2-2c"), 1);
  context.forced_kernel = "cpu_permute_any_1x1_scalar";
  EXPECT_TRUE(testing::succeeded(select(permuting(), context)));
  EXPECT_TRUE(refused(select(checked(routing(8, 4, 2)), context), Code::GemmUnknownKernel,
                      "no row of route"));
}

}  // namespace
}  // namespace girih
