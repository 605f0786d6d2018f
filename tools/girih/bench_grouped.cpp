#include "girih/bench_grouped.hpp"

#include <memory>

#include "core/error.hpp"
#include "core/format.hpp"
#include "measure/rounds.hpp"

namespace girih::cli {
namespace {

/// One case's experiment: girih, girih again (the control), and the loop.
class GroupsExperiment {
 public:
  GroupsExperiment(Runtime& runtime, const GroupsOptions& options, GroupsOperands operands)
      : runtime_(runtime), options_(options), operands_(std::move(operands)) {}

  Status prepare(GroupsRow& row) {
    const Result<Plan> chosen = plan(runtime_, operands_.desc(0));
    if (!chosen) return chosen.error();
    row.kernel = chosen->kernel;
    row.notes = chosen->notes;
    row.sets = operands_.sets();
    for (int i = 0; i < operands_.sets(); ++i) {
      Result<std::vector<GemmDesc>> products = operands_.products(i);
      if (!products) return products.error();
      loops_.push_back(*std::move(products));
    }
    const Result<Plan> one = plan(runtime_, loops_[0][0]);
    if (!one) return one.error();
    row.loop_kernel = one->kernel;
    add("girih", [this](std::int64_t i) { return options_.launcher(runtime_, operands_.desc(i)); });
    add("control", contenders_[0].run);
    add("gemm-loop", [this](std::int64_t i) -> Status {
      for (const GemmDesc& product : loops_[static_cast<std::size_t>(i) % loops_.size()]) {
        GIRIH_TRY(gemm(runtime_, product));
      }
      return {};
    });
    return {};
  }

  /// Runs each contender once and holds what it wrote against the oracle.
  Status check() {
    for (const Contender& contender : contenders_) {
      GIRIH_TRY(operands_.poison(runtime_));
      GIRIH_TRY(contender.run(0));
      GIRIH_TRY(runtime_.synchronize());
      GIRIH_TRY(operands_.check(runtime_, contender.name));
    }
    return {};
  }

  Status run(GroupsRow& row, Progress& progress) {
    const RoundOptions rounds = {
        .rounds = options_.rounds,
        .round_seconds = options_.round_seconds,
        .warm_up_seconds = 2,
        .progress = [&](int done) {
          progress.stage(
              formatted("{}: round {} of {}", to_string(row.bench.shape), done, options_.rounds));
        }};
    const Result<std::vector<Times>> times = run_rounds(contenders_, rounds);
    if (!times) return times.error();
    const std::vector<double>&ours = (*times)[0].seconds, &again = (*times)[1].seconds,
          &loop = (*times)[2].seconds;
    row.seconds = median_interval(ours);
    row.control = paired_ratio(again, ours);
    row.control_verdict = judge_control(row.control);
    row.loop_seconds = median_interval(loop);
    row.ratio = paired_ratio(loop, ours);
    row.verdict = judge(row.ratio, row.control);
    return {};
  }

 private:
  void add(std::string name, std::function<Status(std::int64_t)> run) {
    contenders_.push_back(
        {std::move(name), std::move(run), [this] { return runtime_.synchronize(); }});
  }

  Runtime& runtime_;
  const GroupsOptions& options_;
  GroupsOperands operands_;
  std::vector<std::vector<GemmDesc>> loops_;  ///< of each set
  std::vector<Contender> contenders_;
};

}  // namespace

Result<GroupsRow> bench_grouped(Runtime& runtime, const GroupsOptions& options,
                                const GroupsCase& bench, Progress& progress) {
  progress.stage(to_string(bench.shape) + ": checking");
  Result<GroupsOperands> operands = GroupsOperands::make(runtime, bench);
  if (!operands) return operands.error();
  GroupsExperiment experiment(runtime, options, *std::move(operands));
  GroupsRow row;
  row.bench = bench;
  GIRIH_TRY(experiment.prepare(row));
  GIRIH_TRY(experiment.check());
  GIRIH_TRY(experiment.run(row, progress));
  return row;
}

}  // namespace girih::cli
