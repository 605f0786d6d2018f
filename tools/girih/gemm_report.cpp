#include "girih/gemm_report.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/format.hpp"
#include "girih/commands.hpp"
#include "girih/print.hpp"

namespace girih::cli {
namespace {

double gflops(const GemmOutcome& outcome) {
  return outcome.seconds > 0 ? outcome.problem.flops() / outcome.seconds * 1e-9 : 0;
}

Json to_json(const verify::Comparison& comparison) {
  return {{"passed", comparison.passed()},
          {"elements", comparison.elements},
          {"failures", comparison.failures},
          {"unbounded", comparison.unbounded},
          {"worst_error", std::abs(comparison.got - comparison.want)},
          {"worst_bound", comparison.bound},
          {"worst_ratio", comparison.worst_ratio}};
}

void print_as_json(const GemmOptions& options, const GemmOutcome& outcome) {
  const GemmProblem& problem = outcome.problem;
  const bool is_written = !outcome.comparison || outcome.comparison->passed();
  print_json({{"m", problem.m},
              {"n", problem.c_columns()},
              {"k", problem.k},
              {"batch", problem.batch},
              {"operand_dtype", name(problem.a.dtype)},
              {"output_dtype", name(problem.c.dtype)},
              {"gate", problem.gate ? Json(name(problem.gate->activation)) : Json{}},
              {"plan", cli::to_json(outcome.plan)},
              {"runs", outcome.runs},
              {"seconds", outcome.seconds},
              {"gflops", gflops(outcome)},
              {"verification", outcome.comparison ? to_json(*outcome.comparison) : Json{}},
              {"output", is_written ? Json(options.out->text()) : Json{}}});
}

void print_for_people(const GemmOptions& options, const GemmOutcome& outcome) {
  const GemmProblem& problem = outcome.problem;
  const Plan& plan = outcome.plan;
  Table table;
  table.add({"product", formatted("{}{} x {} x {} (M x N x K), {} -> {}",
                                  problem.batch > 1 ? formatted("{} of ", problem.batch) : "",
                                  problem.m, problem.c_columns(), problem.k, name(problem.a.dtype),
                                  name(problem.c.dtype))});
  table.add({"kernel", formatted("{}, {} thread{}, {} of workspace", plan.kernel, plan.threads,
                                 plan.threads == 1 ? "" : "s",
                                 show_bytes(static_cast<std::int64_t>(plan.workspace_bytes)))});
  for (const std::string& note : plan.notes) table.add({"note", note});
  table.add({"time", formatted("{}{}, {:.4g} GFLOP/s", show_seconds(outcome.seconds),
                               outcome.runs > 1 ? formatted(" (median of {})", outcome.runs) : "",
                               gflops(outcome))});
  if (outcome.comparison) {
    const verify::Comparison& comparison = *outcome.comparison;
    table.add(
        {"verified", formatted("{} of {} elements within bounds{}; worst error {:.3g}, {:.3g} of "
                               "its bound {:.3g}",
                               comparison.elements - comparison.failures, comparison.elements,
                               comparison.unbounded > 0
                                   ? formatted(", {} of them without one", comparison.unbounded)
                                   : "",
                               std::abs(comparison.got - comparison.want), comparison.worst_ratio,
                               comparison.bound)});
  }
  if (!outcome.comparison || outcome.comparison->passed()) {
    table.add({"wrote", formatted("{}: {} [{}]", options.out->text(), name(problem.c.dtype),
                                  joined(outcome.result.shape, ", "))});
  }
  table.print();
}

}  // namespace

Result<int> conclude(const GemmOptions& options, const GemmOutcome& outcome, Progress& progress) {
  const bool passed = !outcome.comparison || outcome.comparison->passed();
  if (passed) {
    progress.stage("writing");
    GIRIH_TRY(save(*options.out, outcome.result.view()));
  }
  progress.stop();
  if (options.product.json) {
    print_as_json(options, outcome);
  } else {
    print_for_people(options, outcome);
  }
  if (passed) return kDone;
  return error(Code::DeviceFailed, "verification failed, nothing was written: {}",
               outcome.comparison->to_string());
}

}  // namespace girih::cli
