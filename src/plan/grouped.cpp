#include "plan/grouped.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/format.hpp"
#include "plan/candidates.hpp"
#include "plan/cuda_grouped.hpp"
#include "plan/gemm_cost.hpp"

namespace girih::inline v0 {
namespace {

/// Rows of a group that one thread may have for itself: several panels of A, few enough that B, not
/// the sums, fills its cache.
constexpr std::int64_t kAloneRows = 128;
constexpr double kSecondsPerRegion = 1.5e-6;
constexpr double kSecondsPerCall = 1e-6;

Demand demand_of(const GroupedGemmProblem& problem) noexcept {
  const GemmProblem& product = problem.product;
  return {.op = Op::GroupedGemm,
          .operand = product.a.dtype,
          .output = product.c.dtype,
          .precision = product.precision,
          .path = product.path,
          .reproducibility = product.reproducibility,
          .gate = product.gate.has_value()};
}

/// Half a thread's second-level cache of packed operands: it packs and multiplies by itself.
BlockLimits limits_alone(const DeviceInfo& device) noexcept {
  const std::int64_t l2 = device.l2_bytes > 0 ? device.l2_bytes : 256 * 1024;
  return {.rows = 256, .columns = 512, .most_columns = 512, .packed_bytes = l2 / 2};
}

std::int64_t even_rows(const GroupedGemmProblem& problem) noexcept {
  return ceil_div(problem.rows(), std::max<std::int64_t>(problem.groups(), 1));
}

bool is_alone(const GroupedGemmProblem& problem, const GroupedGemmSelection& choice) noexcept {
  return even_rows(problem) <= choice.alone_rows && choice.runs_alone(problem.groups());
}

GroupedGemmSelection candidate(const GroupedGemmProblem& problem, const KernelInfo& kernel,
                               const SelectionContext& context) noexcept {
  if (kernel.backend == Backend::Cuda) return cuda_grouped_candidate(problem, kernel, context);
  const DeviceInfo& device = *context.device;
  GroupedGemmSelection choice;
  choice.kernel = &kernel;
  choice.alone_rows = std::min(problem.rows(), kAloneRows);
  choice.alone = cpu_team_selection(problem.group_of(choice.alone_rows), kernel, device, 1,
                                    limits_alone(device));
  const GemmProblem even = problem.group_of(even_rows(problem));
  const auto groups = static_cast<double>(problem.groups());
  const double one = cpu_product_seconds(even, kernel, device, choice.alone.block);
  choice.threads = worthwhile_threads(one * groups, context.threads);
  choice.together = cpu_team_selection(problem.group_of(problem.rows()), kernel, device,
                                       choice.threads, BlockLimits{});
  const std::int64_t own = std::max<std::int64_t>(choice.alone.workspace_bytes, 1);
  choice.concurrent_groups =
      static_cast<int>(std::clamp<std::int64_t>(kCpuConcurrentBytes / own, 1, choice.threads));
  choice.workspace_bytes = std::max(choice.together.workspace_bytes,
                                    choice.alone.workspace_bytes * choice.concurrent_groups);

  const bool alone = is_alone(problem, choice);
  const double work =
      groups / (alone ? choice.concurrent_groups : choice.threads) *
      (alone ? one : cpu_product_seconds(even, kernel, device, choice.together.block));
  const double bandwidth = device.memory_gb_per_s * 1e9;
  const double traffic = bandwidth > 0 ? problem.bytes() / bandwidth : 0;
  const double regions = alone ? 1 : 2 * groups;
  choice.predicted_seconds = std::max(work, traffic) + kSecondsPerCall +
                             (choice.threads > 1 ? regions * kSecondsPerRegion : 0);
  return choice;
}

std::vector<std::string> notes_on(const GroupedGemmProblem& problem,
                                  const GroupedGemmSelection& choice) {
  std::vector<std::string> notes;
  const std::int64_t groups = problem.groups();
  notes.push_back(formatted("{} groups share the {}, {} in all; time is predicted for {} each",
                            groups, problem.extent == GroupedExtent::Rows ? "rows" : "depth",
                            problem.rows(), even_rows(problem)));
  if (choice.threads > 1) {
    notes.push_back(
        formatted("groups of up to {} rows run one a thread if there are {} or more of "
                  "them, longer ones on all threads",
                  choice.alone_rows, 2 * choice.concurrent_groups));
  }
  if (problem.product.skips_product()) notes.emplace_back("A and B are not read");
  if (problem.product.precision == Precision::Fast) {
    notes.emplace_back("precision fast: no row that splits f32 takes this, the exact one is used");
  }
  if (choice.kernel->backend == Backend::Cuda) {
    notes.emplace_back("a kernel before it reads the offsets and lays out the tiles");
    notes.emplace_back("no depth is split");
  } else {
    notes.emplace_back("bits are those of each group's product alone: every row is invariant");
  }
  return notes;
}

}  // namespace

Result<GroupedGemmSelection> select(const GroupedGemmProblem& problem,
                                    const SelectionContext& context) noexcept {
  const Result<GroupedGemmSelection> best = cheapest(
      demand_of(problem), context,
      [&](const KernelInfo& kernel) { return candidate(problem, kernel, context); },
      [](const GroupedGemmSelection& a, const GroupedGemmSelection& b) {
        return a.kernel->backend == Backend::Cuda ? is_better_on_cuda(a, b) : IsFaster{}(a, b);
      });
  if (!best) return best;
  if (best->kernel == nullptr) {
    return error(Code::GemmNoKernel,
                 "no kernel for {} groups of {} rows, {} x {} x {}, path {}: rows of these types "
                 "decline the layouts, or count to 2^31 - 1025",
                 problem.groups(), problem.rows(), problem.product.m, problem.product.n,
                 problem.product.k, name(problem.product.path));
  }
  GIRIH_TRY(check_workspace(problem.product.workspace_bytes, best->workspace_bytes, *best->kernel));
  return best;
}

Result<Plan> explain(const GroupedGemmProblem& problem, const SelectionContext& context) noexcept {
  return explain_choice(
      demand_of(problem), context, select(problem, context),
      [&](const KernelInfo& kernel) { return candidate(problem, kernel, context); },
      [&](const GroupedGemmSelection& choice, Plan& plan) {
        if (choice.kernel->backend == Backend::Cpu) {
          const GemmSelection& usual = is_alone(problem, choice) ? choice.alone : choice.together;
          plan.block = {usual.block.m, usual.block.n, usual.block.k};
        }
        plan.workspace_bytes = static_cast<std::uint64_t>(choice.workspace_bytes);
        plan.flops = problem.flops();
        plan.bytes = problem.bytes();
        plan.notes = notes_on(problem, choice);
      });
}

}  // namespace girih::inline v0
