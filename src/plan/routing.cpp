#include "plan/routing.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "core/format.hpp"
#include "plan/candidates.hpp"
#include "plan/cuda_routing.hpp"

namespace girih::inline v0 {
namespace {

constexpr double kSecondsPerCall = 1e-6;
/// Of one thread: a logit compared, an exponential, a pair placed.
constexpr double kSecondsPerLogit = 2e-9, kSecondsPerExponential = 8e-9, kSecondsPerPair = 20e-9;
/// A term of an un-permute, beside its bytes.
constexpr double kSecondsPerTerm = 0.4e-9;
/// Tokens of a part at least: a part costs a pass over its counts.
constexpr std::int64_t kTokensOfPart = 64;

Demand demand_of(const RouteProblem& problem) noexcept {
  return {.op = Op::Route, .operand = problem.logits.dtype, .output = problem.weights.dtype};
}
Demand demand_of(const PermuteProblem& problem) noexcept {
  return {.op = Op::Permute, .operand = problem.x.dtype, .output = problem.y.dtype};
}
Demand demand_of(const UnpermuteProblem& problem) noexcept {
  return {.op = Op::Unpermute, .operand = problem.x.dtype, .output = problem.y.dtype};
}

/// Of kernels that run one after the other and move so many bytes in all.
double cuda_seconds(double bytes, int kernels, const SelectionContext& context) noexcept {
  constexpr double kSecondsPerKernel = 2.5e-6, kShareOfBandwidth = 0.85;
  const double bandwidth = std::max(context.device->memory_gb_per_s, 1.0) * 1e9;
  return kernels * kSecondsPerKernel + bytes / (bandwidth * kShareOfBandwidth);
}

RouteSelection candidate(const RouteProblem& problem, const KernelInfo& kernel,
                         const SelectionContext& context) noexcept {
  const auto tokens = static_cast<double>(problem.tokens);
  const auto experts = static_cast<double>(problem.experts);
  const auto k = static_cast<double>(problem.k);
  const bool weighs_all = problem.kind == RouterWeights::SoftmaxOfAll;
  const double alone =
      tokens * (experts * kSecondsPerLogit + (weighs_all ? experts : k) * kSecondsPerExponential +
                k * kSecondsPerPair);
  RouteSelection choice;
  choice.kernel = &kernel;
  choice.threads = worthwhile_threads(alone, context.threads);
  const bool is_cuda = kernel.backend == Backend::Cuda;
  const std::int64_t most =
      is_cuda ? cuda::kRouteParts : (choice.threads == 1 ? 1 : 4 * choice.threads);
  choice.parts = std::clamp<std::int64_t>(
      ceil_div(problem.tokens, is_cuda ? cuda::kRouteTokensOfPart : kTokensOfPart), 1, most);
  choice.workspace_bytes =
      choice.parts * problem.experts * static_cast<std::int64_t>(sizeof(std::int32_t));
  choice.predicted_seconds = is_cuda ? cuda_seconds(problem.bytes(), 3, context)
                                     : alone / choice.threads + kSecondsPerCall;
  return choice;
}

std::int64_t indices_of(const PermuteProblem& problem) noexcept {
  return problem.rows;
}
std::int64_t indices_of(const UnpermuteProblem& problem) noexcept {
  return problem.tokens * problem.k;
}
double terms_of(const PermuteProblem&) noexcept {
  return 0;
}
double terms_of(const UnpermuteProblem& problem) noexcept {
  return static_cast<double>(problem.tokens) * static_cast<double>(problem.k) *
         static_cast<double>(problem.columns);
}

template <class Problem>
PermuteSelection candidate(const Problem& problem, const KernelInfo& kernel,
                           const SelectionContext& context) noexcept {
  if (kernel.backend == Backend::Cuda) {
    return {.kernel = &kernel,
            .workspace_bytes = 8 * cuda::index_check_blocks(indices_of(problem)),
            .predicted_seconds = cuda_seconds(problem.bytes(), 2, context)};
  }
  const auto [threads, seconds] =
      stream(problem.bytes(), terms_of(problem) * kSecondsPerTerm, context);
  PermuteSelection choice;
  choice.kernel = &kernel;
  choice.threads = threads;
  choice.predicted_seconds = seconds;
  return choice;
}

template <class Problem>
auto cheapest_of(const Problem& problem, const SelectionContext& context) {
  return cheapest(demand_of(problem), context,
                  [&](const KernelInfo& kernel) { return candidate(problem, kernel, context); });
}

template <class Problem, class Complete>
Result<Plan> explain_rows(const Problem& problem, const SelectionContext& context,
                          const Complete& complete) noexcept {
  return explain_choice(
      demand_of(problem), context, select(problem, context),
      [&](const KernelInfo& kernel) { return candidate(problem, kernel, context); },
      [&](const auto& choice, Plan& plan) {
        plan.bytes = problem.bytes();
        complete(choice, plan);
      });
}

}  // namespace

Result<RouteSelection> select(const RouteProblem& problem,
                              const SelectionContext& context) noexcept {
  Result<RouteSelection> best = cheapest_of(problem, context);
  if (!best) return best;
  GIRIH_TRY(check_workspace(problem.workspace_bytes, best->workspace_bytes, *best->kernel));
  return best;
}
Result<PermuteSelection> select(const PermuteProblem& problem,
                                const SelectionContext& context) noexcept {
  return cheapest_of(problem, context);
}
Result<PermuteSelection> select(const UnpermuteProblem& problem,
                                const SelectionContext& context) noexcept {
  return cheapest_of(problem, context);
}

Result<Plan> explain(const RouteProblem& problem, const SelectionContext& context) noexcept {
  return explain_rows(problem, context, [&](const RouteSelection& choice, Plan& plan) {
    plan.workspace_bytes = static_cast<std::uint64_t>(choice.workspace_bytes);
    plan.notes.push_back(formatted("{} tokens choose {} of {} experts, in {} parts", problem.tokens,
                                   problem.k, problem.experts, choice.parts));
  });
}
Result<Plan> explain(const PermuteProblem& problem, const SelectionContext& context) noexcept {
  return explain_rows(problem, context, [](const PermuteSelection& choice, Plan& plan) {
    plan.workspace_bytes = static_cast<std::uint64_t>(choice.workspace_bytes);
  });
}
Result<Plan> explain(const UnpermuteProblem& problem, const SelectionContext& context) noexcept {
  return explain_rows(problem, context, [&](const PermuteSelection& choice, Plan& plan) {
    plan.workspace_bytes = static_cast<std::uint64_t>(choice.workspace_bytes);
    plan.flops = problem.flops();
  });
}

}  // namespace girih::inline v0
