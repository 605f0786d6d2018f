#include "plan/elementwise.hpp"

#include <algorithm>

#include "plan/candidates.hpp"

namespace girih::inline v0 {
namespace {

constexpr double kBytesPerSecondOfThread = 8e9;
constexpr double kSecondsPerCall = 1e-6;
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
  const double alone = problem.bytes() / kBytesPerSecondOfThread;
  ElementwiseSelection choice;
  choice.kernel = &kernel;
  choice.threads = worthwhile_threads(alone, context.threads);
  const double bandwidth = context.device->memory_gb_per_s * 1e9;
  const double traffic = bandwidth > 0 ? problem.bytes() / bandwidth : 0;
  choice.predicted_seconds = std::max(alone / choice.threads, traffic) + kSecondsPerCall;
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
