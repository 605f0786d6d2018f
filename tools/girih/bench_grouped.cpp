#include "girih/bench_grouped.hpp"

#include <memory>

#include "core/error.hpp"
#include "core/format.hpp"
#include "measure/rounds.hpp"

namespace girih::cli {
namespace {

/// One case's experiment: girih, girih again (the control), and the loops.
class GroupsExperiment {
 public:
  GroupsExperiment(Runtime& runtime, const GroupsOptions& options, GroupsOperands operands)
      : runtime_(runtime), options_(options), operands_(std::move(operands)) {}

  Status prepare(const std::vector<std::unique_ptr<Peer>>& peers, GroupsRow& row) {
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
    add("girih", [this](std::int64_t i) { return options_.launcher(runtime_, operands_.desc(i)); });
    add("control", contenders_[0].run);
    row.loops.push_back({.name = "gemm-loop", .kernel = one->kernel});
    add(row.loops.back().name, [this](std::int64_t i) -> Status {
      for (const GemmDesc& product : loops_[static_cast<std::size_t>(i) % loops_.size()]) {
        GIRIH_TRY(gemm(runtime_, product));
      }
      return {};
    });
    for (const auto& peer : peers) GIRIH_TRY(add_peer(*peer, row));
    return {};
  }

  /// Runs each contender once and holds what it wrote against the oracle.
  Status check() {
    for (const Contender& contender : contenders_) {
      GIRIH_TRY(operands_.poison(runtime_));
      GIRIH_TRY(contender.run(0));
      GIRIH_TRY(contender.finish());
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
    const std::vector<double>&ours = (*times)[0].seconds, &again = (*times)[1].seconds;
    row.seconds = median_interval(ours);
    row.control = paired_ratio(again, ours);
    row.control_verdict = judge_control(row.control);
    for (std::size_t i = 0; i < row.loops.size(); ++i) {
      GroupsLoop& loop = row.loops[i];
      const std::vector<double>& its = (*times)[2 + i].seconds;
      loop.seconds = median_interval(its);
      loop.ratio = paired_ratio(its, ours);
      loop.verdict = judge(loop.ratio, row.control);
    }
    return {};
  }

 private:
  /// A peer makes the products of all groups of all sets in turn: a loop is those of one set.
  Status add_peer(Peer& peer, GroupsRow& row) {
    Result<std::vector<PeerWay>> ways = peer.prepare(operands_.peer_products(), {});
    if (!ways) return ways.error();
    const std::int64_t groups = row.bench.shape.groups;
    for (PeerWay& way : *ways) {
      row.loops.push_back({.name = way.contender.name + "-loop", .kernel = std::move(way.kernel)});
      const auto one = std::move(way.contender.run);
      const auto loop = [this, one, groups](std::int64_t i) -> Status {
        const std::int64_t first = i % operands_.sets() * groups;
        for (std::int64_t g = 0; g < groups; ++g) GIRIH_TRY(one(first + g));
        return {};
      };
      auto finish = std::move(way.contender.finish);
      if (!finish) finish = [] { return Status{}; };
      contenders_.push_back({row.loops.back().name, loop, std::move(finish)});
    }
    return {};
  }

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
                                const GroupsCase& bench,
                                const std::vector<std::unique_ptr<Peer>>& peers,
                                Progress& progress) {
  progress.stage(to_string(bench.shape) + ": checking");
  Result<GroupsOperands> operands = GroupsOperands::make(runtime, bench);
  if (!operands) return operands.error();
  GroupsExperiment experiment(runtime, options, *std::move(operands));
  GroupsRow row;
  row.bench = bench;
  GIRIH_TRY(experiment.prepare(peers, row));
  GIRIH_TRY(experiment.check());
  GIRIH_TRY(experiment.run(row, progress));
  return row;
}

}  // namespace girih::cli
