#include "girih/bench_launches.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>

#include "core/error.hpp"
#include "core/format.hpp"
#include "girih/bench_cases.hpp"
#include "girih/bench_clock.hpp"
#include "girih/commands.hpp"
#include "girih/print.hpp"
#include "girih/progress.hpp"
#include "measure/rounds.hpp"
#include "plan/cuda_gemm_cost.hpp"
#include "plan/cuda_gemm_layout.hpp"
#include "runtime/state.hpp"

namespace girih::cli {
namespace {

/// Trials of each launch before the rounds, and how many go into them.
constexpr int kTrials = 5;
constexpr std::size_t kFinalists = 6;
/// Launches whose bands are varied.
constexpr std::size_t kBanded = 3;
constexpr double kReplaySeconds = 2e-3;

struct LaunchOptions {
  CaseOptions cases;
  std::string rows, timings;
  int most = 48;
  int rounds = 31;
};

/// What was found for one product.
struct Finding {
  BenchCase bench;
  std::string row;                   ///< of the table
  std::vector<std::string> timings;  ///< a row and microseconds, of each launch timed
  std::string kernel;
  double seconds = 0;
  Interval ratio;  ///< of the time of `select`'s choice over the best's
};

/// Queues a product with a launch of the caller's choice.
Status launch(Runtime& runtime, const GemmDesc& desc, const GemmSelection& choice) {
  const Result<detail::Entry> entry =
      detail::Entry::enter(detail::RuntimeAccess::shared(runtime).get());
  if (!entry) return entry.error();
  detail::RuntimeState& state = *detail::RuntimeAccess::shared(runtime);
  const Result<GemmProblem> problem = girih::check(desc, state.check_context());
  if (!problem) return problem.error();
  GemmCall call{*problem, bind(desc), choice, nullptr};
  return state.dispatch(call, tensors_of(desc));
}

/// The search for one product's fastest launch.
class Search {
 public:
  Search(Runtime& runtime, const BenchCase& bench, BenchOperands operands, GemmProblem problem)
      : runtime_(runtime),
        bench_(bench),
        operands_(std::move(operands)),
        problem_(std::move(problem)) {}

  Result<Finding> run(const LaunchOptions& options);

 private:
  struct Timed {
    GemmSelection launch;
    double seconds = 0;
  };

  Result<Contender> contender(const GemmSelection& choice);
  Status time(std::span<const GemmSelection> launches, std::vector<Timed>& timed);
  Status check(const GemmSelection& choice);

  Runtime& runtime_;
  const BenchCase& bench_;
  BenchOperands operands_;
  const GemmProblem problem_;
  std::vector<std::string> timings_;
};

Result<Contender> Search::contender(const GemmSelection& choice) {
  const std::int64_t sets = operands_.sets();
  const double wanted = std::ceil(kReplaySeconds / std::max(choice.predicted_seconds, 1e-6) /
                                  static_cast<double>(sets));
  const std::int64_t units =
      std::min<std::int64_t>(static_cast<std::int64_t>(std::min(wanted, 1e3)) * sets, 1024);
  Result<Graph> graph = capture(runtime_, [&]() -> Status {
    for (std::int64_t i = 0; i < units; ++i) {
      GIRIH_TRY(launch(runtime_, operands_.desc(i, false), choice));
    }
    return {};
  });
  if (!graph) return graph.error();
  const auto shared = std::make_shared<Graph>(*std::move(graph));
  Contender timed = {std::string(choice.kernel->name),
                     [shared](std::int64_t) { return shared->replay(); },
                     [this] { return runtime_.synchronize(); }, units};
  Result<StreamClock> clock = clock_of(runtime_);
  if (!clock) return clock.error();
  use_clock(timed, *std::move(clock));
  return timed;
}

Status Search::time(std::span<const GemmSelection> launches, std::vector<Timed>& timed) {
  for (const GemmSelection& choice : launches) {
    const Result<Contender> one = contender(choice);
    if (!one) return one.error();
    const Result<std::vector<double>> seconds = run_trials(std::span(&*one, 1), kTrials, 1);
    if (!seconds) return seconds.error();
    timed.push_back({choice, seconds->front()});
    timings_.push_back(formatted("{} {:.3f}", tuned_row(problem_, choice), seconds->front() * 1e6));
  }
  // The first is what `select` chooses, and stays first.
  std::stable_sort(timed.begin() + 1, timed.end(),
                   [](const Timed& a, const Timed& b) { return a.seconds < b.seconds; });
  return {};
}

Status Search::check(const GemmSelection& choice) {
  GIRIH_TRY(operands_.poison(runtime_));
  GIRIH_TRY(launch(runtime_, operands_.desc(0, false), choice));
  GIRIH_TRY(runtime_.synchronize());
  const Result<double> error = operands_.check(runtime_, false, choice.kernel->name);
  return error ? Status() : Status(error.error());
}

Result<Finding> Search::run(const LaunchOptions& options) {
  const detail::RuntimeState& state = *detail::RuntimeAccess::shared(runtime_);
  const Result<std::vector<GemmSelection>> launches =
      launches_to_time(problem_, state.selection_context(Op::Gemm), options.most);
  if (!launches) return launches.error();
  std::vector<Timed> timed;
  GIRIH_TRY(time(*launches, timed));
  std::vector<GemmSelection> banded;
  for (std::size_t i = 1; i < std::min(timed.size(), kBanded + 1); ++i) {
    for (const int band : {4, 8, 16}) {
      for (const Traversal traversal : {Traversal::RowMajor, Traversal::ColumnMajor}) {
        GemmSelection choice = timed[i].launch;
        if (choice.band == band && choice.traversal == traversal) continue;
        choice.band = band;
        choice.traversal = traversal;
        banded.push_back(choice);
      }
    }
  }
  GIRIH_TRY(time(banded, timed));
  timed.resize(std::min(timed.size(), kFinalists + 1));
  std::vector<Contender> finalists;
  for (const Timed& each : timed) {
    GIRIH_TRY(check(each.launch));
    Result<Contender> one = contender(each.launch);
    if (!one) return one.error();
    finalists.push_back(*std::move(one));
  }
  const Result<std::vector<Times>> times = run_rounds(
      finalists,
      {.rounds = options.rounds, .round_seconds = 0.005, .warm_up_seconds = 0.2, .progress = {}});
  if (!times) return times.error();
  std::size_t best = 0;
  for (std::size_t i = 1; i < times->size(); ++i) {
    if (median((*times)[i].seconds) < median((*times)[best].seconds)) best = i;
  }
  return Finding{bench_,
                 tuned_row(problem_, timed[best].launch),
                 std::move(timings_),
                 std::string(timed[best].launch.kernel->name),
                 median((*times)[best].seconds),
                 paired_ratio(times->front().seconds, (*times)[best].seconds)};
}

Result<Finding> search(Runtime& runtime, const BenchCase& bench, const LaunchOptions& options) {
  Result<BenchOperands> operands = BenchOperands::make(runtime, bench);
  if (!operands) return operands.error();
  const detail::RuntimeState& state = *detail::RuntimeAccess::shared(runtime);
  Result<GemmProblem> problem = girih::check(operands->desc(0, false), state.check_context());
  if (!problem) return problem.error();
  return Search(runtime, bench, *std::move(operands), *std::move(problem)).run(options);
}

Status write_lines(const std::string& path, const std::vector<std::string>& lines) {
  if (path.empty()) return {};
  std::ofstream file(path, std::ios::trunc);
  for (const std::string& line : lines) file << line << '\n';
  file.close();
  if (!file) return error(Code::FileWrite, "{}: cannot be written", path);
  return {};
}

void print(const std::vector<Finding>& findings) {
  Table table;
  table.add({"product", "fastest", "time", "choice's time over it", "95 % interval"});
  for (const Finding& each : findings) {
    table.add({formatted("{} {}", name(each.bench.layout), to_string(each.bench.shape)),
               each.kernel, show_seconds(each.seconds), formatted("{:.3f}", each.ratio.median),
               formatted("{:.3f} .. {:.3f}", each.ratio.low, each.ratio.high)});
  }
  table.print();
}

Result<int> run(const LaunchOptions& options) {
  const Result<std::vector<BenchCase>> cases = bench_cases(options.cases);
  if (!cases) return cases.error();
  Result<Runtime> runtime = Runtime::open({.backend = Backend::Cuda});
  if (!runtime) return runtime.error();
  std::vector<Finding> findings;
  std::vector<std::string> rows, timings;
  Progress progress;
  for (const BenchCase& bench : *cases) {
    progress.stage(formatted("{} {}", name(bench.layout), to_string(bench.shape)));
    Result<Finding> finding = search(*runtime, bench, options);
    if (!finding) return finding.error();
    // Written each time, so that a run which is cut off has left what it found.
    rows.push_back(finding->row);
    timings.insert(timings.end(), finding->timings.begin(), finding->timings.end());
    GIRIH_TRY(write_lines(options.rows, rows));
    GIRIH_TRY(write_lines(options.timings, timings));
    findings.push_back(*std::move(finding));
  }
  progress.stop();
  print(findings);
  return kDone;
}

std::string_view name_of(cuda::Major major) {
  return major == cuda::Major::K ? "K" : "MN";
}

}  // namespace

std::string tuned_row(const GemmProblem& problem, const GemmSelection& launch) {
  constexpr std::string_view kPrefix = "cuda_gemm_";
  const bool in_cluster = launch.split_kind == SplitKind::Cluster;
  return formatted("GIRIH_CUDA_TUNED({}, {}, {}, {}, {}, {}, \"{}\", {}, {}, {}, {}, {}, {}, {})",
                   problem.m, problem.n, problem.k, problem.batch,
                   name_of(cuda_operand_a(problem).major), name_of(cuda_operand_b(problem).major),
                   launch.kernel->name.substr(kPrefix.size()), launch.cluster_rows,
                   launch.cluster_columns, in_cluster ? launch.split_k : 1,
                   in_cluster ? 1 : launch.split_k, launch.band,
                   launch.traversal == Traversal::ColumnMajor, launch.swaps_sides);
}

Result<std::vector<GemmSelection>> launches_to_time(const GemmProblem& problem,
                                                    const SelectionContext& context, int most) {
  const Result<GemmSelection> choice = select(problem, context);
  if (!choice) return choice.error();
  std::vector<GemmSelection> launches;
  for (const KernelInfo& kernel : context.kernels) {
    if (kernel.op != Op::Gemm) continue;
    if (!kernel.operands.has(problem.a.dtype) || !kernel.outputs.has(problem.c.dtype)) continue;
    if (kernel.precision.value_or(problem.precision) != problem.precision) continue;
    const std::vector<GemmSelection> of_row = cuda_gemm_launches(problem, kernel, *context.device);
    launches.insert(launches.end(), of_row.begin(), of_row.end());
  }
  std::stable_sort(launches.begin(), launches.end(),
                   [](const GemmSelection& a, const GemmSelection& b) {
                     return a.predicted_seconds < b.predicted_seconds;
                   });
  if (launches.size() > static_cast<std::size_t>(most)) {
    launches.resize(static_cast<std::size_t>(most));
  }
  launches.insert(launches.begin(), *choice);
  return launches;
}

void add_bench_launches(CLI::App& bench, Action& action) {
  CLI::App* const app =
      bench.add_subcommand("launches", "Time every way in which the cuda backend could launch");
  auto options = std::make_shared<LaunchOptions>();
  options->cases.dtypes = {DType::BF16};
  add_case_options(*app, options->cases);
  app->add_option("--most", options->most, "Launches timed a product, best predicted; default 48")
      ->check(CLI::Range(1, 10000));
  app->add_option("--rounds", options->rounds, "Interleaved rounds of the six fastest; default 31")
      ->check(CLI::Range(1, 1001));
  app->add_option("--rows", options->rows,
                  "Write the fastest as rows of src/plan/cuda_gemm_tuned_h200.inc to this file")
      ->type_name("FILE");
  app->add_option("--timings", options->timings,
                  "Write each launch that was timed, as such a row, and its microseconds")
      ->type_name("FILE");
  app->footer(
      "For whoever refills the table of measured launches. What `select` chooses is timed with\n"
      "them; every finalist is checked against the oracle.\n\n"
      "Example:\n"
      "  girih bench launches --ladder square,tessl --layout NN,NT,TN --rows tuned.inc");
  app->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace girih::cli
