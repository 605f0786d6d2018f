#include "girih/bench_run.hpp"

#include <cmath>

#include "core/error.hpp"
#include "io/file.hpp"

namespace girih::cli {

void add_run_options(CLI::App& command, BenchRun& run, const std::string& rounds,
                     const std::string& round_ms) {
  command.add_option("--threads", run.threads, "CPU threads, of the peers as well")
      ->check(CLI::Range(0, 1024));
  command.add_option("--rounds", run.rounds, "Interleaved rounds; default " + rounds)
      ->check(CLI::Range(1, 1001));
  command
      .add_option("--round-ms", run.round_milliseconds,
                  "Least duration of one contender's part of a round; default " + round_ms)
      ->check(CLI::Range(0.1, 10000.0));
  command.add_option("--commit", run.commit, "Recorded in the report");
  command.add_option("--json", run.file, "Write the report, as JSON, to this file; - prints it")
      ->type_name("FILE");
}

Status check_run(const BenchRun& run) {
  if (std::isnan(run.round_milliseconds.value_or(0))) {
    return error(Code::InvalidOption, "--round-ms is nan, must be 0.1..10000");
  }
  if (!run.writes()) return {};
  const Result<OutputFile> file = OutputFile::create(run.file);
  return file ? Status{} : Status(file.error());
}

}  // namespace girih::cli
