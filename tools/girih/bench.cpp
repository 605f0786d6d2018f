#include <algorithm>
#include <memory>

#include "girih/bench_cases.hpp"
#include "girih/bench_run.hpp"
#include "girih/commands.hpp"
#include "runtime/state.hpp"

namespace girih::cli {
namespace {

struct BenchArguments {
  CaseOptions cases;
  BenchRun run;
  std::vector<std::string> against;
  std::optional<Backend> backend;
  std::optional<Submission> submission;
};

constexpr const char* kPerShape = "per-shape";

Result<std::vector<std::unique_ptr<Peer>>> peers_of(const BenchArguments& arguments,
                                                    const DeviceInfo& device, int threads) {
  std::vector<std::string> names = arguments.against;
  std::erase(names, kPerShape);
  std::vector<std::pair<DType, DType>> types;
  for (const DType dtype : arguments.cases.dtypes) {
    types.emplace_back(dtype, bench_output(dtype, arguments.cases));
  }
  return load_peers(names, device.backend, threads, types);
}

BenchOptions options_of(const BenchArguments& arguments, Backend backend) {
  const bool on_host = backend == Backend::Cpu;
  BenchOptions options;
  // A GPU's clock wanders within tens of milliseconds: there, contenders take turns faster than
  // that.
  options.rounds = arguments.run.rounds.value_or(on_host ? 11 : 31);
  options.round_seconds = arguments.run.round_milliseconds.value_or(on_host ? 50 : 5) * 1e-3;
  options.submission =
      arguments.submission.value_or(on_host ? Submission::Eager : Submission::Replay);
  options.against_per_shape = std::find(arguments.against.begin(), arguments.against.end(),
                                        kPerShape) != arguments.against.end();
  return options;
}

/// Times every case. The report is written after each, so that a run which is cut off has left
/// what it found.
Status time_cases(Runtime& runtime, const std::vector<BenchCase>& cases,
                  const std::vector<std::unique_ptr<Peer>>& peers, const BenchRun& run,
                  BenchReport& report) {
  Progress progress;
  for (const BenchCase& bench : cases) {
    Result<BenchRow> row = bench_gemm(runtime, report.options, bench, peers, progress);
    if (row) {
      report.rows.push_back(*std::move(row));
    } else {
      report.failures.push_back({bench, row.error()});
    }
    GIRIH_TRY(keep(run, report));
  }
  return {};
}

Result<int> run(const BenchArguments& arguments) {
  const Result<std::vector<BenchCase>> cases = bench_cases(arguments.cases);
  if (!cases) return cases.error();
  Result<Runtime> runtime =
      Runtime::open({.backend = arguments.backend, .threads = arguments.run.threads});
  if (!runtime) return runtime.error();
  Device& device = detail::RuntimeAccess::shared(*runtime)->device();
  const auto peers = peers_of(arguments, device.info(), device.threads());
  if (!peers) return peers.error();
  GIRIH_TRY(check_run(arguments.run));

  BenchReport report;
  report.commit = arguments.run.commit;
  report.device = device.info();
  report.threads = device.threads();
  report.options = options_of(arguments, device.info().backend);
  for (const auto& peer : *peers) report.peers.emplace_back(peer->name(), peer->description());
  GIRIH_TRY(time_cases(*runtime, *cases, *peers, arguments.run, report));
  if (report.rows.empty()) return report.failures.front().error;
  show(arguments.run, report);
  if (!report.failures.empty()) return report.failures.front().error;
  return kDone;
}

void add_how(CLI::App& gemm, BenchArguments& arguments) {
  add_choice(gemm, "--backend", arguments.backend,
             std::vector{Backend::Cpu, Backend::Cuda, Backend::Metal},
             "Exactly this backend, or an error");
  gemm.add_option("--against", arguments.against,
                  "Peers, if installed: openblas, onednn, cublaslt; per-shape is girih itself "
                  "with that reproducibility")
      ->delimiter(',');
  add_choice(gemm, "--submission", arguments.submission,
             std::vector{Submission::Eager, Submission::Replay},
             "One call a product, or captured sequences, of the peers as well; default replay, "
             "on the CPU eager");
  add_run_options(gemm, arguments.run, "31, on the CPU 11", "5, on the CPU 50");
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* const bench = app.add_subcommand("bench", "Time girih against other libraries");
  bench->require_subcommand(1);
  bench->footer("Example:\n  girih bench gemm --ladder square --against openblas");
  CLI::App* const gemm = bench->add_subcommand("gemm", "Time products");
  auto arguments = std::make_shared<BenchArguments>();
  add_case_options(*gemm, arguments->cases);
  add_how(*gemm, *arguments);
  gemm->footer(
      "Results are checked against the oracle before anything is timed. All contenders, girih "
      "twice\n"
      "(`itself` is the control), run in interleaved rounds; a ratio is the peer's time over "
      "girih's,\n"
      "paired by round. cublaslt is two contenders: its first heuristic, and `cublaslt-best`, "
      "the\n"
      "fastest of its candidates. docs/measuring.md has the method and the report's fields.\n\n"
      "Example:\n"
      "  girih bench gemm --ladder square --against openblas,onednn --json bench.json\n"
      "  girih bench gemm --backend cuda --ladder square,tessl --dtype bf16,f16 --layout NN,NT "
      "--against cublaslt");
  gemm->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
  add_bench_grouped(*bench, action);
  add_bench_elementwise(*bench, action);
  add_bench_launches(*bench, action);
}

}  // namespace girih::cli
