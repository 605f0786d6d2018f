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

Result<std::vector<std::unique_ptr<Peer>>> load_peers(
    std::span<const std::string> names, Backend backend, int threads,
    std::span<const std::pair<DType, DType>> types) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (const std::string& name : names) {
    const Result<Backend> home = peer_backend(name);
    if (!home) return home.error();
    if (*home != backend) {
      return error(Code::UnsupportedConversion, "peer {} works on {} memory, the backend is {}",
                   name, girih::name(*home), girih::name(backend));
    }
    Result<std::unique_ptr<Peer>> peer = load_peer(name, threads);
    if (!peer) return peer.error();
    for (const auto& [operands, output] : types) {
      if ((*peer)->supports(operands, output)) continue;
      return error(Code::UnsupportedConversion, "peer {} does not multiply {} into {}", name,
                   girih::name(operands), girih::name(output));
    }
    peers.push_back(*std::move(peer));
  }
  return peers;
}

}  // namespace girih::cli
