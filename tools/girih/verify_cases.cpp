#include "girih/verify_cases.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>

#include "core/format.hpp"
#include "girih/commands.hpp"
#include "girih/print.hpp"
#include "verify/bound_grouped.hpp"
#include "verify/bound_permute.hpp"
#include "verify/bound_route.hpp"
#include "verify/elementwise_case.hpp"

namespace girih::cli {
namespace {

using verify::CaseReport;
using verify::Mode;
using verify::Refusals;
using Clock = std::chrono::steady_clock;

/// "cases done" on standard error, a few times a second, if that is a terminal.
class CaseCounter {
 public:
  ~CaseCounter() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }
  void show(const VerifyOptions& options, const VerifyTally& tally) {
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

std::string command_for(const VerifyOptions& options, std::uint64_t index) {
  std::string command =
      formatted("girih verify --op {} --seed {} --case {}", name(options.op), options.seed, index);
  if (options.backend) command += formatted(" --backend {}", name(*options.backend));
  if (!options.kernel.empty()) command += formatted(" --kernel {}", options.kernel);
  if (options.threads != 0) command += formatted(" --threads {}", options.threads);
  return command;
}

/// Runs one case in one mode; `description` becomes its line.
CaseReport run_one(Runtime& runtime, const VerifyOptions& options, std::uint64_t index, Mode mode,
                   const verify::GemmLauncher& launcher, std::string& description) {
  const Refusals refusals = options.kernel.empty() ? Refusals::OfTheCase : Refusals::OfTheRow;
  if (options.op == Op::Gemm) {
    const verify::GemmCase x = verify::make_gemm_case(options.seed, index);
    description = x.to_string();
    return run_case(runtime, x, mode, launcher, refusals);
  }
  if (options.op == Op::GroupedGemm) {
    const verify::GroupedCase x = verify::make_grouped_case(options.seed, index);
    description = x.to_string();
    return run_case(runtime, x, mode, grouped_gemm, refusals);
  }
  if (options.op == Op::Route) {
    const verify::RouteCase x = verify::make_route_case(options.seed, index);
    description = x.to_string();
    return run_case(runtime, x, mode, route, refusals);
  }
  if (options.op == Op::Permute || options.op == Op::Unpermute) {
    const verify::PermuteCase x = verify::make_permute_case(options.op, options.seed, index);
    description = x.to_string();
    return run_case(runtime, x, mode, {}, refusals);
  }
  const verify::ElementwiseCase x = verify::make_elementwise_case(options.op, options.seed, index);
  description = x.to_string();
  return run_case(runtime, x, mode);
}

/// Every case eagerly, then captured and replayed with changed contents.
void verify_case(Runtime& runtime, const VerifyOptions& options, std::uint64_t index,
                 const verify::GemmLauncher& launcher, VerifyTally& tally) {
  bool failed = false, refused = false;
  for (const Mode mode : {Mode::Eager, Mode::Replayed}) {
    std::string description;
    const CaseReport report = run_one(runtime, options, index, mode, launcher, description);
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

}  // namespace

VerifyTally verify_cases(Runtime& runtime, const VerifyOptions& options,
                         const verify::GemmLauncher& launcher) {
  VerifyTally tally;
  CaseCounter counter;
  if (options.only) {
    verify_case(runtime, options, *options.only, launcher, tally);
    return tally;
  }
  for (std::int64_t i = 0; i < options.cases; ++i) {
    verify_case(runtime, options, static_cast<std::uint64_t>(i), launcher, tally);
    counter.show(options, tally);
  }
  return tally;
}

namespace {

void print_for_people(const VerifyOptions& options, const VerifyTally& tally, double seconds) {
  for (const VerifyFailure& failure : tally.failures) {
    std::fputs(formatted("FAILED case {} ({}): {}\n  {}: {}\n  again: {}\n", failure.index,
                         name(failure.mode), failure.description,
                         failure.report.kernel.empty() ? "no kernel" : failure.report.kernel,
                         failure.report.detail, failure.command)
                   .c_str(),
               stdout);
  }
  if (options.only && tally.refused > 0)
    std::fputs(formatted("refused: {}\n", tally.refusal).c_str(), stdout);
  Table table;
  table.add({"op", formatted("{}, seed {}, {}", name(options.op), options.seed,
                             options.only ? formatted("case {}", *options.only)
                                          : formatted("cases 0..{}", options.cases - 1))});
  table.add({"cases", formatted("{}: {} passed, {} refused, {} failed", tally.cases, tally.passed,
                                tally.refused, tally.failed)});
  table.add({"worst", formatted("{:.3g} of the error bound", tally.worst_ratio)});
  for (const auto& [kernel, count] : tally.kernels) {
    table.add({"kernel", formatted("{}, {} cases", kernel, count)});
  }
  table.add({"time", show_seconds(seconds)});
  table.print();
}

void print_as_json(const VerifyOptions& options, const VerifyTally& tally, double seconds) {
  Json failures = Json::array();
  for (const VerifyFailure& failure : tally.failures) {
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

}  // namespace

int report_cases(const VerifyOptions& options, const VerifyTally& tally, double seconds) {
  if (options.json) {
    print_as_json(options, tally, seconds);
  } else {
    print_for_people(options, tally, seconds);
  }
  if (tally.failed > 0) return kFailed;
  return tally.passed > 0 ? kDone : kUnsupported;
}

}  // namespace girih::cli
