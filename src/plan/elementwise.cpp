#include "plan/elementwise.hpp"

#include <algorithm>

#include "core/error.hpp"
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
  const Demand demand = demand_of(problem);
  GIRIH_TRY(check_forced(demand, context));
  ElementwiseSelection best;
  for (const KernelInfo& kernel : context.kernels) {
    if (kernel.op != demand.op || obstacle(demand, kernel, context) != Obstacle::None) continue;
    const ElementwiseSelection choice = candidate(problem, kernel, context);
    if (best.kernel == nullptr || choice.predicted_seconds < best.predicted_seconds) best = choice;
  }
  if (best.kernel == nullptr) return no_kernel(demand, context);
  return best;
}

Result<Plan> explain(const ElementwiseProblem& problem, const SelectionContext& context) noexcept
    try {
  const Result<ElementwiseSelection> choice = select(problem, context);
  if (!choice) return choice.error();
  Plan plan;
  plan.predicted_seconds = choice->predicted_seconds;
  describe_choice(
      demand_of(problem), context, *choice->kernel,
      [&](const KernelInfo& kernel) {
        return candidate(problem, kernel, context).predicted_seconds;
      },
      plan);
  plan.threads = choice->threads;
  plan.bytes = problem.bytes();
  return plan;
} catch (...) {
  return error(Code::OutOfMemory, "no memory to explain a plan");
}

}  // namespace girih::inline v0
