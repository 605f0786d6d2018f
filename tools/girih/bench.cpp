#include <algorithm>
#include <cmath>
#include <memory>

#include "core/error.hpp"
#include "girih/bench_cases.hpp"
#include "girih/bench_report.hpp"
#include "girih/commands.hpp"
#include "girih/options.hpp"
#include "io/file.hpp"
#include "runtime/state.hpp"

namespace girih::cli {
namespace {

struct BenchArguments {
  CaseOptions cases;
  std::string file, commit;
  std::vector<std::string> against;
  std::optional<Backend> backend;
  std::optional<Submission> submission;
  std::optional<double> round_milliseconds;
  int threads = 0;
  std::optional<int> rounds;
};

Result<std::vector<std::unique_ptr<Peer>>> load_peers(const BenchArguments& arguments,
                                                      Backend backend, int threads) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (const std::string& name : arguments.against) {
    if (name == "per-shape") continue;
    const Result<Backend> home = peer_backend(name);
    if (!home) return home.error();
    if (*home != backend) {
      return error(Code::UnsupportedConversion, "peer {} works on {} memory, the backend is {}",
                   name, girih::name(*home), girih::name(backend));
    }
    Result<std::unique_ptr<Peer>> peer = load_peer(name, threads);
    if (!peer) return peer.error();
    for (const DType dtype : arguments.cases.dtypes) {
      const DType output = bench_output(dtype, arguments.cases);
      if (!(*peer)->supports(dtype, output)) {
        return error(Code::UnsupportedConversion, "peer {} does not multiply {} into {}", name,
                     girih::name(dtype), girih::name(output));
      }
    }
    peers.push_back(*std::move(peer));
  }
  return peers;
}

BenchOptions options_of(const BenchArguments& arguments, Backend backend) {
  const bool on_host = backend == Backend::Cpu;
  BenchOptions options;
  // A GPU's clock wanders within tens of milliseconds: there, contenders take turns faster than
  // that.
  options.rounds = arguments.rounds.value_or(on_host ? 11 : 31);
  options.round_seconds = arguments.round_milliseconds.value_or(on_host ? 50 : 5) * 1e-3;
  options.submission =
      arguments.submission.value_or(on_host ? Submission::Eager : Submission::Replay);
  options.against_per_shape = std::find(arguments.against.begin(), arguments.against.end(),
                                        "per-shape") != arguments.against.end();
  return options;
}

/// Times every case. The report is written after each, so that a run which is cut off has left
/// what it found.
Status time_cases(Runtime& runtime, const std::vector<BenchCase>& cases,
                  const std::vector<std::unique_ptr<Peer>>& peers, const std::string& file,
                  BenchReport& report) {
  Progress progress;
  for (const BenchCase& bench : cases) {
    Result<BenchRow> row = bench_gemm(runtime, report.options, bench, peers, progress);
    if (row) {
      report.rows.push_back(*std::move(row));
    } else {
      report.failures.push_back({bench, row.error()});
    }
    if (!file.empty() && file != "-") GIRIH_TRY(write_report(file, to_json(report)));
  }
  return {};
}

Result<int> run(const BenchArguments& arguments) {
  // The option's range lets NaN through.
  if (std::isnan(arguments.round_milliseconds.value_or(0))) {
    return error(Code::InvalidOption, "--round-ms is nan, must be 0.1..10000");
  }
  const Result<std::vector<BenchCase>> cases = bench_cases(arguments.cases);
  if (!cases) return cases.error();
  Result<Runtime> runtime =
      Runtime::open({.backend = arguments.backend, .threads = arguments.threads});
  if (!runtime) return runtime.error();
  Device& device = detail::RuntimeAccess::shared(*runtime)->device();
  const auto peers = load_peers(arguments, device.info().backend, device.threads());
  if (!peers) return peers.error();

  BenchReport report;
  report.commit = arguments.commit;
  report.device = device.info();
  report.threads = device.threads();
  report.options = options_of(arguments, device.info().backend);
  for (const auto& peer : *peers) report.peers.emplace_back(peer->name(), peer->description());
  // A path that cannot be written is found before anything is timed.
  if (!arguments.file.empty() && arguments.file != "-") {
    const Result<OutputFile> file = OutputFile::create(arguments.file);
    if (!file) return file.error();
  }
  GIRIH_TRY(time_cases(*runtime, *cases, *peers, arguments.file, report));
  if (report.rows.empty()) return report.failures.front().error;
  if (arguments.file == "-") {
    print_json(to_json(report));
  } else {
    print_table(report);
  }
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
  gemm.add_option("--threads", arguments.threads, "CPU threads, of the peers as well")
      ->check(CLI::Range(0, 1024));
  gemm.add_option("--rounds", arguments.rounds, "Interleaved rounds; default 31, on the CPU 11")
      ->check(CLI::Range(1, 1001));
  gemm.add_option("--round-ms", arguments.round_milliseconds,
                  "Least duration of one contender's part of a round; default 5, on the CPU 50")
      ->check(CLI::Range(0.1, 10000.0));
  gemm.add_option("--commit", arguments.commit, "Recorded in the report");
  gemm.add_option("--json", arguments.file, "Write the report, as JSON, to this file; - prints it")
      ->type_name("FILE");
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
