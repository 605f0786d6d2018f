#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "girih/bench_peers.hpp"
#include "girih/bench_report.hpp"
#include "girih/options.hpp"

namespace girih::cli {

/// How long a benchmark runs, on how many threads, and where its report goes.
struct BenchRun {
  std::string file, commit;
  int threads = 0;
  std::optional<int> rounds;
  std::optional<double> round_milliseconds;

  [[nodiscard]] bool writes() const { return !file.empty() && file != "-"; }
};

/// The options for it; `rounds` and `round_ms` say what holds without them.
void add_run_options(CLI::App& command, BenchRun& run, const std::string& rounds,
                     const std::string& round_ms);
/// What the options' ranges let through, and a path that cannot be written: found before anything
/// is timed.
Status check_run(const BenchRun& run);

/// Peers by their names, for products of each of these pairs of operands and output on `backend`.
/// UnsupportedConversion if one does not make them.
Result<std::vector<std::unique_ptr<Peer>>> load_peers(
    std::span<const std::string> names, Backend backend, int threads,
    std::span<const std::pair<DType, DType>> types);

/// What has been found so far, in place of what was written before: a run that is cut off leaves
/// it.
template <class Report>
Status keep(const BenchRun& run, const Report& report) {
  return run.writes() ? write_report(run.file, to_json(report)) : Status{};
}
/// On standard output: the report itself if `--json -` asks for it, else as a table.
template <class Report>
void show(const BenchRun& run, const Report& report) {
  if (run.file == "-") {
    print_json(to_json(report));
  } else {
    print_table(report);
  }
}

}  // namespace girih::cli
