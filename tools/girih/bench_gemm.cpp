#include "girih/bench_gemm.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/format.hpp"
#include "girih/bench_clock.hpp"
#include "measure/rounds.hpp"

namespace girih::cli {
namespace {

/// One replay lasts about so long, so that queueing it is no part of the time.
constexpr double kReplaySeconds = 2e-3;
constexpr std::int64_t kMostReplayed = 1024;
/// A contender whose times do not settle is warmed up for as long as so many rounds.
constexpr double kWarmUpRounds = 40;

/// Someone who makes the product, with the case's epilogue or without.
struct Subject {
  std::string kernel;
  Contender contender;
  std::function<Status()> once;
  bool fused = false;
  int split_k = 0;
  double max_error = 0;
};

/// One case's experiment.
class Experiment {
 public:
  Experiment(Runtime& runtime, const BenchOptions& options, const BenchCase& bench,
             BenchOperands operands)
      : runtime_(runtime), options_(options), case_(bench), operands_(std::move(operands)) {}

  Status prepare(const std::vector<std::unique_ptr<Peer>>& peers);
  /// Runs each subject once and holds what it wrote against the oracle.
  Status check();
  Result<BenchRow> run(Progress& progress);

 private:
  [[nodiscard]] bool has_epilogue() const {
    return case_.epilogue.bias || case_.epilogue.activation != Activation::None ||
           case_.epilogue.scales;
  }
  Status add_girih(std::string name, bool fused, Reproducibility reproducibility);
  Status add_peer(Peer& peer, bool fused);
  [[nodiscard]] BenchTimes times_of(std::size_t subject) const;
  /// What the epilogue adds to this subject; the plain one lies `plain_` places behind.
  [[nodiscard]] std::optional<Interval> epilogue_cost(std::size_t subject) const;

  Runtime& runtime_;
  const BenchOptions& options_;
  const BenchCase case_;
  BenchOperands operands_;
  std::int64_t replayed_ = 0;
  BenchRow row_;
  /// girih, girih again (the control), the others; with an epilogue, then all of them but the
  /// control without it.
  std::vector<Subject> subjects_;
  std::vector<Times> times_;
};

Status Experiment::add_girih(std::string name, bool fused, Reproducibility reproducibility) {
  const auto desc = [this, fused, reproducibility](std::int64_t i) {
    GemmDesc result = operands_.desc(i, fused);
    result.reproducibility = reproducibility;
    return result;
  };
  const Result<Plan> chosen = plan(runtime_, desc(0));
  if (!chosen) return chosen.error();
  Subject subject;
  subject.kernel = chosen->kernel;
  subject.split_k = chosen->split_k;
  subject.fused = fused;
  subject.contender.name = std::move(name);
  subject.contender.finish = [this] { return runtime_.synchronize(); };
  subject.once = [this, desc]() -> Status {
    GIRIH_TRY(gemm(runtime_, desc(0)));
    return runtime_.synchronize();
  };
  if (replayed_ == 0) {
    subject.contender.run = [this, desc](std::int64_t i) { return gemm(runtime_, desc(i)); };
  } else {
    Result<Graph> graph = capture(runtime_, [&]() -> Status {
      for (std::int64_t i = 0; i < replayed_; ++i) GIRIH_TRY(gemm(runtime_, desc(i)));
      return {};
    });
    if (!graph) return graph.error();
    const auto shared = std::make_shared<Graph>(*std::move(graph));
    subject.contender.run = [shared](std::int64_t) { return shared->replay(); };
    subject.contender.units = replayed_;
    Result<StreamClock> clock = clock_of(runtime_);
    if (!clock) return clock.error();
    use_clock(subject.contender, *std::move(clock));
  }
  subjects_.push_back(std::move(subject));
  return {};
}

Status Experiment::add_peer(Peer& peer, bool fused) {
  Result<std::vector<PeerWay>> ways =
      peer.prepare(operands_.peer_products(fused), {.replayed = replayed_});
  if (!ways) return ways.error();
  for (PeerWay& way : *ways) {
    subjects_.push_back(
        {std::move(way.kernel), std::move(way.contender), std::move(way.once), fused});
  }
  return {};
}

Status Experiment::prepare(const std::vector<std::unique_ptr<Peer>>& peers) {
  const bool fused = has_epilogue();
  const Result<Plan> chosen = plan(runtime_, operands_.desc(0, fused));
  if (!chosen) return chosen.error();
  row_.bench = case_;
  row_.notes = chosen->notes;
  row_.sets = operands_.sets();
  if (options_.submission == Submission::Replay) {
    const std::int64_t sets = operands_.sets();
    const double wanted = std::ceil(kReplaySeconds / std::max(chosen->predicted_seconds, 1e-6) /
                                    static_cast<double>(sets));
    replayed_ = std::min(static_cast<std::int64_t>(std::min(wanted, 1e6)) * sets, kMostReplayed);
    row_.replayed = replayed_;
  }
  GIRIH_TRY(add_girih("girih", fused, case_.reproducibility));
  GIRIH_TRY(add_girih("control", fused, case_.reproducibility));
  const auto add_others = [&](bool with_epilogue) -> Status {
    if (options_.against_per_shape) {
      GIRIH_TRY(add_girih("per-shape", with_epilogue, Reproducibility::PerShape));
    }
    for (const auto& peer : peers) GIRIH_TRY(add_peer(*peer, with_epilogue));
    return {};
  };
  GIRIH_TRY(add_others(fused));
  if (!fused) return {};
  GIRIH_TRY(add_girih("girih", false, case_.reproducibility));
  return add_others(false);
}

Status Experiment::check() {
  for (Subject& subject : subjects_) {
    GIRIH_TRY(operands_.poison(runtime_));
    GIRIH_TRY(subject.once());
    const Result<double> checked = operands_.check(runtime_, subject.fused, subject.contender.name);
    if (!checked) return checked.error();
    subject.max_error = *checked;
  }
  return {};
}

BenchTimes Experiment::times_of(std::size_t subject) const {
  return {subjects_[subject].contender.name, subjects_[subject].kernel,
          median_interval(times_[subject].seconds), subjects_[subject].split_k,
          subjects_[subject].max_error};
}

std::optional<Interval> Experiment::epilogue_cost(std::size_t subject) const {
  if (!has_epilogue()) return {};
  for (std::size_t i = 0; i < subjects_.size(); ++i) {
    if (subjects_[i].fused || times_[i].name != times_[subject].name) continue;
    std::vector<double> costs;
    for (std::size_t round = 0; round < times_[i].seconds.size(); ++round) {
      costs.push_back(times_[subject].seconds[round] - times_[i].seconds[round]);
    }
    return median_interval(costs);
  }
  return {};
}

Result<BenchRow> Experiment::run(Progress& progress) {
  std::vector<Contender> contenders;
  for (const Subject& subject : subjects_) contenders.push_back(subject.contender);
  const RoundOptions rounds = {
      .rounds = options_.rounds,
      .round_seconds = options_.round_seconds,
      .warm_up_seconds = 2,
      .progress = [&](int done) {
        progress.stage(
            formatted("{}: round {} of {}", to_string(case_.shape), done, options_.rounds));
      }};
  Result<std::vector<Times>> times = run_rounds(contenders, rounds);
  if (!times) return times.error();
  times_ = *std::move(times);
  const std::vector<double>& ours = times_[0].seconds;
  row_.girih = times_of(0);
  row_.epilogue_cost = epilogue_cost(0);
  row_.control = paired_ratio(times_[1].seconds, ours);
  row_.control_verdict = judge_control(row_.control);
  for (std::size_t i = 2; i < subjects_.size(); ++i) {
    if (subjects_[i].fused != subjects_[0].fused) break;
    const Interval ratio = paired_ratio(times_[i].seconds, ours);
    row_.peers.push_back({times_of(i), ratio, judge(ratio, row_.control), epilogue_cost(i)});
  }
  return std::move(row_);
}

}  // namespace

std::string_view name(Submission submission) noexcept {
  return submission == Submission::Eager ? "eager" : "replay";
}

Result<BenchRow> bench_gemm(Runtime& runtime, const BenchOptions& options, const BenchCase& bench,
                            const std::vector<std::unique_ptr<Peer>>& peers, Progress& progress) {
  progress.stage(to_string(bench.shape) + ": checking");
  Result<BenchOperands> operands = BenchOperands::make(runtime, bench);
  if (!operands) return operands.error();
  Experiment experiment(runtime, options, bench, *std::move(operands));
  GIRIH_TRY(experiment.prepare(peers));
  GIRIH_TRY(experiment.check());
  return experiment.run(progress);
}

}  // namespace girih::cli
