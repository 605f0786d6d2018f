#include "plan/elementwise.hpp"

#include "plan/candidates.hpp"

namespace girih::inline v0 {
namespace {

constexpr double kSecondsPerLaunch = 2e-6;  // on a GPU

Demand demand_of(const ElementwiseProblem& problem) noexcept {
  return {.op = problem.op, .operand = problem.source_type, .output = problem.destination_type};
}

ElementwiseSelection candidate(const ElementwiseProblem& problem, const KernelInfo& kernel,
                               const SelectionContext& context) noexcept {
  if (kernel.backend != Backend::Cpu) {
    ElementwiseSelection choice;
    choice.kernel = &kernel;
    choice.predicted_seconds =
        problem.bytes() / (context.device->memory_gb_per_s * 1e9) + kSecondsPerLaunch;
    return choice;
  }
  const auto [threads, seconds] = stream(problem.bytes(), 0, context);
  ElementwiseSelection choice;
  choice.kernel = &kernel;
  choice.threads = threads;
  choice.predicted_seconds = seconds;
  return choice;
}

}  // namespace

Result<ElementwiseSelection> select(const ElementwiseProblem& problem,
                                    const SelectionContext& context) noexcept {
  return cheapest(demand_of(problem), context,
                  [&](const KernelInfo& kernel) { return candidate(problem, kernel, context); });
}

Result<Plan> explain(const ElementwiseProblem& problem, const SelectionContext& context) noexcept {
  return explain_choice(
      demand_of(problem), context, select(problem, context),
      [&](const KernelInfo& kernel) { return candidate(problem, kernel, context); },
      [&](const ElementwiseSelection&, Plan& plan) { plan.bytes = problem.bytes(); });
}

}  // namespace girih::inline v0
