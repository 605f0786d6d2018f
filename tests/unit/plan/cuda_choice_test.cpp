#include <gtest/gtest.h>

#include "backends/cuda/device.hpp"
#include "plan/candidates.hpp"
#include "plan/cuda_gemm_cost.hpp"
#include "support/random_gemm.hpp"

namespace girih {
namespace {

Demand demand_of(const GemmProblem& problem) {
  return {.operand = problem.a.dtype,
          .output = problem.c.dtype,
          .precision = problem.precision,
          .path = problem.path,
          .reproducibility = problem.reproducibility,
          .gate = problem.gate.has_value(),
          .block_scales = problem.has_block_scales()};
}

// Most launches are never looked at; the choice is as if all had been.
TEST(CudaGemmSelect, NoWgmmaRowBeatsTheChoiceIfAllItsLaunchesAreLookedAt) {
  const SelectionContext context{
      .device = find_fixture("h200"), .kernels = cuda::kernel_table(), .forced_kernel = ""};
  verify::Random random(20261130);
  int compared = 0, split = 0;
  for (int i = 0; i < 3000; ++i) {
    const Result<GemmProblem> problem = check(testing::random_gemm(random));
    if (!problem) continue;
    const Result<GemmSelection> chosen = select(*problem, context);
    if (!chosen || chosen->kernel->form == cuda::TileForm::None || chosen->kernel->splits_f32) {
      continue;
    }
    split += chosen->split_k > 1 ? 1 : 0;
    const GemmSelection again = cuda_gemm_candidate(*problem, *chosen->kernel, context);
    EXPECT_EQ(again.predicted_seconds, chosen->predicted_seconds) << chosen->kernel->name;
    EXPECT_EQ(again.split_k, chosen->split_k);
    EXPECT_EQ(again.workspace_bytes, chosen->workspace_bytes);
    for (const KernelInfo& row : context.kernels) {
      if (row.form == cuda::TileForm::None || row.splits_f32 || chosen->is_tuned ||
          obstacle(demand_of(*problem), row, context) != Obstacle::None || !row.serves(Op::Gemm)) {
        continue;
      }
      const GemmSelection other = cuda_gemm_candidate(*problem, row, context);
      if (other.kernel == nullptr) continue;
      ++compared;
      ASSERT_LE(chosen->predicted_seconds, other.predicted_seconds)
          << chosen->kernel->name << " is not the fastest of " << problem->m << " x " << problem->n
          << " x " << problem->k << ": " << row.name;
    }
  }
  EXPECT_GT(compared, 10000);
  EXPECT_GT(split, 50);
}

}  // namespace
}  // namespace girih
