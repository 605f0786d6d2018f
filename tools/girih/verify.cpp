#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <unistd.h>

#include "girih/commands.hpp"
#include "girih/options.hpp"
#include "girih/print.hpp"
#include "ops/op.hpp"
#include "verify/bound_gemm.hpp"
#include "verify/elementwise_case.hpp"

namespace girih::cli {
namespace {

using verify::CaseReport;
using verify::Mode;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kDefaultCases = 100;

struct Options {
  Op op = Op::Gemm;
  std::int64_t cases = kDefaultCases;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> only;  ///< --case
  std::optional<Backend> backend;
  int threads = 0;
  bool json = false;
};

/// One case in one mode that failed.
struct Failure {
  std::uint64_t index;
  Mode mode;
  std::string description;
  CaseReport report;
  std::string command;  ///< that runs it again
};

struct Tally {
  std::int64_t cases = 0, passed = 0, refused = 0, failed = 0;
  double worst_ratio = 0;
  std::map<std::string, std::int64_t> kernels;
  std::vector<Failure> failures;
  std::string refusal;  ///< the last one's reason
};

/// "cases done" on standard error, a few times a second, if that is a terminal.
class CaseCounter {
 public:
  ~CaseCounter() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }
  void show(const Options& options, const Tally& tally) {
    if (!terminal_ || Clock::now() < next_) return;
    next_ = Clock::now() + std::chrono::milliseconds(200);
    shown_ = true;
    std::fprintf(stderr, "\r\033[Kgirih: verify %s, %lld of %lld cases, %lld failed",
                 std::string(name(options.op)).c_str(), static_cast<long long>(tally.cases),
                 static_cast<long long>(options.cases), static_cast<long long>(tally.failed));
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
};

std::string command_for(const Options& options, std::uint64_t index) {
  std::string command = fmt::format("girih verify --op {} --seed {} --case {}", name(options.op),
                                    options.seed, index);
  if (options.backend) command += fmt::format(" --backend {}", name(*options.backend));
  if (options.threads != 0) command += fmt::format(" --threads {}", options.threads);
  return command;
}

/// Runs one case in one mode; `description` becomes its line.
CaseReport run_one(Runtime& runtime, const Options& options, std::uint64_t index, Mode mode,
                   std::string& description) {
  if (options.op == Op::Gemm) {
    const verify::GemmCase x = verify::make_gemm_case(options.seed, index);
    description = x.to_string();
    return run_case(runtime, x, mode);
  }
  const verify::ElementwiseCase x = verify::make_elementwise_case(options.op, options.seed, index);
  description = x.to_string();
  return run_case(runtime, x, mode);
}

/// Every case eagerly, then captured and replayed with changed contents.
void verify_case(Runtime& runtime, const Options& options, std::uint64_t index, Tally& tally) {
  bool failed = false, refused = false;
  for (const Mode mode : {Mode::Eager, Mode::Replayed}) {
    std::string description;
    const CaseReport report = run_one(runtime, options, index, mode, description);
    tally.worst_ratio = std::max(tally.worst_ratio, report.worst_ratio);
    if (report.outcome == CaseReport::Outcome::Refused) {
      refused = true;
      tally.refusal = report.detail;
    }
    if (report.failed()) {
      failed = true;
      tally.failures.push_back({index, mode, description, report, command_for(options, index)});
    }
    if (mode == Mode::Eager && !report.kernel.empty()) ++tally.kernels[report.kernel];
  }
  ++tally.cases;
  ++(failed ? tally.failed : refused ? tally.refused : tally.passed);
}

Tally verify_all(Runtime& runtime, const Options& options) {
  Tally tally;
  CaseCounter counter;
  if (options.only) {
    verify_case(runtime, options, *options.only, tally);
    return tally;
  }
  for (std::int64_t i = 0; i < options.cases; ++i) {
    verify_case(runtime, options, static_cast<std::uint64_t>(i), tally);
    counter.show(options, tally);
  }
  return tally;
}

void print_for_people(const Options& options, const Tally& tally, double seconds) {
  for (const Failure& failure : tally.failures) {
    fmt::print("FAILED case {} ({}): {}\n  {}: {}\n  again: {}\n", failure.index,
               name(failure.mode), failure.description,
               failure.report.kernel.empty() ? "no kernel" : failure.report.kernel,
               failure.report.detail, failure.command);
  }
  if (options.only && tally.refused > 0) fmt::print("refused: {}\n", tally.refusal);
  Table table;
  table.add({"op", fmt::format("{}, seed {}, {}", name(options.op), options.seed,
                               options.only ? fmt::format("case {}", *options.only)
                                            : fmt::format("cases 0..{}", options.cases - 1))});
  table.add({"cases", fmt::format("{}: {} passed, {} refused, {} failed", tally.cases, tally.passed,
                                  tally.refused, tally.failed)});
  table.add({"worst", fmt::format("{:.3g} of the error bound", tally.worst_ratio)});
  for (const auto& [kernel, count] : tally.kernels) {
    table.add({"kernel", fmt::format("{}, {} cases", kernel, count)});
  }
  table.add({"time", show_seconds(seconds)});
  table.print();
}

void print_as_json(const Options& options, const Tally& tally, double seconds) {
  Json failures = Json::array();
  for (const Failure& failure : tally.failures) {
    failures.push_back({{"case", failure.index},
                        {"mode", name(failure.mode)},
                        {"description", failure.description},
                        {"kernel", failure.report.kernel},
                        {"detail", failure.report.detail},
                        {"command", failure.command}});
  }
  print_json({{"op", name(options.op)},
              {"seed", options.seed},
              {"cases", tally.cases},
              {"passed", tally.passed},
              {"refused", tally.refused},
              {"failed", tally.failed},
              {"worst_ratio", tally.worst_ratio},
              {"seconds", seconds},
              {"kernels", tally.kernels},
              {"failures", failures}});
}

Result<int> run(const Options& options) {
  RuntimeOptions open{.backend = options.backend, .threads = options.threads};
  Result<Runtime> runtime = Runtime::open(open);
  if (!runtime) return runtime.error();
  const auto begin = Clock::now();
  const Tally tally = verify_all(*runtime, options);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (options.json) {
    print_as_json(options, tally, seconds);
  } else {
    print_for_people(options, tally, seconds);
  }
  if (tally.failed > 0) return kFailed;
  return tally.passed > 0 ? kDone : kUnsupported;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  CLI::App* const command =
      app.add_subcommand("verify", "Check kernels against the oracle on seeded random cases");
  const auto options = std::make_shared<Options>();
  add_choice<Op>(*command, "--op", options->op, {Op::Gemm, Op::Copy, Op::Cast, Op::Fill},
                 "Operation to check")
      ->required();
  command->add_option("--cases", options->cases, "Run cases 0 to N-1")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of the cases")->capture_default_str();
  command->add_option("--case", options->only, "Run only this case");
  add_choice<Backend>(*command, "--backend", options->backend,
                      {Backend::Cpu, Backend::Cuda, Backend::Metal}, "Backend to check");
  command->add_option("--threads", options->threads, "Threads of the cpu; 0 takes the usable cores")
      ->check(CLI::Range(0, 1024));
  command->add_flag("--json", options->json, "Print one JSON object instead");
  command->footer(
      "Each case runs eagerly twice and as a graph replayed with changed contents, on operands\n"
      "inside guard zones of NaN, and every element is held to the computed error bound.\n"
      "JSON: op, seed, cases, passed, refused, failed, worst_ratio, seconds, kernels {name: "
      "cases},\n"
      "failures [{case, mode, description, kernel, detail, command}].\n\n"
      "Examples:\n"
      "  girih verify --op gemm --cases 2500 --seed 1\n"
      "  girih verify --op gemm --seed 1 --case 17");
  command->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace girih::cli
