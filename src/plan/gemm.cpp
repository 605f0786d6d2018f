#include "plan/gemm.hpp"

#include "core/error.hpp"
#include "plan/candidates.hpp"
#include "plan/gemm_cost.hpp"

namespace girih::inline v0 {
namespace {

Demand demand_of(const GemmProblem& problem) noexcept {
  return {.op = Op::Gemm,
          .operand = problem.a.dtype,
          .output = problem.c.dtype,
          .precision = problem.precision,
          .path = problem.path,
          .reproducibility = problem.reproducibility};
}

std::vector<std::string> notes_on(const GemmProblem& problem, const GemmSelection& choice) {
  std::vector<std::string> notes;
  if (problem.precision == Precision::Fast) {
    notes.emplace_back("precision fast: no split kernel in the table, the exact one is used");
  }
  if (problem.skips_product()) notes.emplace_back("A and B are not read");
  if (choice.kernel->backend == Backend::Cpu && choice.kernel->reduction != Reduction::None) {
    notes.emplace_back(
        "bits depend on types and K only, not on tile, block or threads: every row is invariant");
  }
  if (choice.concurrent_products > 1) notes.emplace_back("the batch is spread over the threads");
  return notes;
}

}  // namespace

Result<GemmSelection> select(const GemmProblem& problem, const SelectionContext& context) noexcept {
  const Demand demand = demand_of(problem);
  GIRIH_TRY(check_forced(demand, context));
  GemmSelection best;
  for (const KernelInfo& kernel : context.kernels) {
    if (kernel.op != Op::Gemm || obstacle(demand, kernel, context) != Obstacle::None) continue;
    const GemmSelection candidate = cpu_gemm_candidate(problem, kernel, context);
    if (best.kernel == nullptr || candidate.predicted_seconds < best.predicted_seconds) {
      best = candidate;
    }
  }
  if (best.kernel == nullptr) return no_kernel(demand, context);
  return best;
}

Result<Plan> explain(const GemmProblem& problem, const SelectionContext& context) noexcept try {
  const Result<GemmSelection> choice = select(problem, context);
  if (!choice) return choice.error();
  Plan plan;
  describe_choice(
      demand_of(problem), context, *choice->kernel,
      [&](const KernelInfo& kernel) {
        return cpu_gemm_candidate(problem, kernel, context).predicted_seconds;
      },
      plan);
  plan.block = {choice->block.m, choice->block.n, choice->block.k};
  plan.split_k = choice->split_k;
  plan.traversal = choice->traversal;
  plan.threads = choice->threads;
  plan.workspace_bytes = static_cast<std::uint64_t>(choice->workspace_bytes);
  plan.flops = problem.flops();
  plan.bytes = problem.bytes();
  plan.predicted_seconds = choice->predicted_seconds;
  plan.notes = notes_on(problem, *choice);
  return plan;
} catch (...) {
  return error(Code::OutOfMemory, "no memory to explain a plan");
}

}  // namespace girih::inline v0
