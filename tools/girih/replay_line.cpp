#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/format.hpp"
#include "girih/commands.hpp"
#include "girih/print.hpp"
#include "girih/replay.hpp"

namespace girih::cli {
namespace {

struct ReplayOptions {
  std::vector<std::string> lines;
  std::string file;
  bool verify = false;
  bool json = false;
};

/// The lines to run, with their numbers for messages; without empty ones at the end.
Result<std::vector<std::string>> read_lines(const ReplayOptions& options) {
  if (options.file.empty()) return options.lines;
  std::ifstream file;
  if (options.file != "-") {
    file.open(options.file);
    if (!file) return error(Code::FileNotFound, "{} cannot be opened", options.file);
  }
  std::istream& in = options.file == "-" ? std::cin : file;
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// A runtime as the line asks for it; the last one again if it fits.
class Runtimes {
 public:
  Result<Runtime*> get(const CallLine& line) {
    if (!runtime_ || backend_ != line.backend || threads_ != line.threads) {
      runtime_.reset();
      Result<Runtime> fresh = Runtime::open(
          {.backend = line.backend, .threads = line.backend == Backend::Cpu ? line.threads : 0});
      if (!fresh) return fresh.error();
      runtime_ = std::make_unique<Runtime>(*std::move(fresh));
      backend_ = line.backend;
      threads_ = line.threads;
    }
    return runtime_.get();
  }

 private:
  std::unique_ptr<Runtime> runtime_;
  Backend backend_ = Backend::None;
  int threads_ = 0;
};

std::string_view outcome_of(const Replay& replay) {
  if (!replay.status) return name(replay.status.error().code);
  if (!replay.comparison) return "ok";
  return replay.comparison->passed() ? "verified" : "WRONG";
}

Json to_json(const CallLine& line, const Replay& replay) {
  return {{"op", name(line.op)},
          {"kernel", replay.kernel},
          {"recorded_kernel", line.kernel},
          {"outcome", outcome_of(replay)},
          {"message", replay.status ? "" : replay.status.error().message},
          {"recorded_status", line.status == Code::Ok ? "ok" : name(line.status)},
          {"runs", replay.runs},
          {"us", replay.seconds * 1e6},
          {"recorded_us", line.microseconds},
          {"worst_ratio", replay.comparison ? Json(replay.comparison->worst_ratio) : Json{}}};
}

void print_for_people(const std::vector<CallLine>& lines, const std::vector<Replay>& replays) {
  Table table;
  table.add({"line", "op", "kernel", "recorded kernel", "time", "recorded", "outcome"});
  for (std::size_t i = 0; i < replays.size(); ++i) {
    const CallLine& line = lines[i];
    const Replay& replay = replays[i];
    table.add({formatted("{}", i + 1), std::string(name(line.op)),
               replay.kernel.empty() ? "none" : replay.kernel,
               line.kernel.empty() ? "none" : line.kernel,
               replay.runs > 0 ? show_seconds(replay.seconds) : "-",
               show_seconds(line.microseconds * 1e-6), std::string(outcome_of(replay))});
  }
  table.print();
}

/// The failure that the replays amount to: a wrong result, or a refusal of what had worked.
Status judge(const std::vector<CallLine>& lines, const std::vector<Replay>& replays) {
  for (std::size_t i = 0; i < replays.size(); ++i) {
    const Replay& replay = replays[i];
    if (replay.comparison && !replay.comparison->passed()) {
      return error(Code::DeviceFailed, "line {}: {}", i + 1, replay.comparison->to_string());
    }
    if (!replay.status && replay.status.error().code != lines[i].status) {
      return error(replay.status.error().code, "line {}: {}", i + 1, replay.status.error().message);
    }
  }
  return {};
}

Result<int> run(const ReplayOptions& options) {
  const Result<std::vector<std::string>> texts = read_lines(options);
  if (!texts) return texts.error();
  std::vector<CallLine> lines;
  for (const std::string& text : *texts) {
    Result<CallLine> line = parse_call_line(text);
    if (!line)
      return error(line.error().code, "line {}: {}", lines.size() + 1, line.error().message);
    lines.push_back(*std::move(line));
  }
  if (lines.empty()) return error(Code::FileFormat, "there is no line to replay");
  Runtimes runtimes;
  std::vector<Replay> replays;
  for (const CallLine& line : lines) {
    const Result<Runtime*> runtime = runtimes.get(line);
    Result<Replay> result =
        runtime ? replay(**runtime, line, options.verify) : Result<Replay>(runtime.error());
    if (!result) {
      return error(result.error().code, "line {}: {}", replays.size() + 1, result.error().message);
    }
    replays.push_back(*std::move(result));
  }
  if (options.json) {
    Json array = Json::array();
    for (std::size_t i = 0; i < lines.size(); ++i) array.push_back(to_json(lines[i], replays[i]));
    print_json({{"lines", array}});
  } else {
    print_for_people(lines, replays);
  }
  GIRIH_TRY(judge(lines, replays));
  return kDone;
}

}  // namespace

void add_replay_line(CLI::App& app, Action& action) {
  CLI::App* const command =
      app.add_subcommand("replay-line", "Run calls again that GIRIH_TRACE=line has written down");
  const auto options = std::make_shared<ReplayOptions>();
  CLI::Option* const lines = command->add_option("LINE", options->lines, "Lines, quoted");
  CLI::Option* const file =
      command->add_option("--file", options->file, "Read the lines from a file; - is the input");
  lines->excludes(file);
  command->add_flag("--verify", options->verify, "Hold each result against the oracle");
  command->add_flag("--json", options->json, "Print one JSON object instead");
  command->footer(
      "Operands get the recorded types, shapes, strides and alignments, and contents at random;\n"
      "device scalars are 1. A call that is refused as it was when recorded is no failure. Lines\n"
      "that want over 4 GiB or a minute are not tried.\n"
      "JSON: lines [{op, kernel, recorded_kernel, outcome (ok, verified, WRONG or a code), "
      "message,\n"
      "recorded_status, runs, us (median), recorded_us, worst_ratio or null}].\n\n"
      "Examples:\n"
      "  GIRIH_TRACE=line GIRIH_TRACE_FILE=calls.txt ./app && girih replay-line --file calls.txt\n"
      "  girih replay-line --verify 'girih-call-1 fill backend=cpu destination=f32[4]:1@0 "
      "value=2'");
  command->callback([&action, options, lines, file] {
    if (lines->count() + file->count() == 0) {
      throw CLI::ValidationError("replay-line", "a LINE or --file is required");
    }
    action = [options] { return run(*options); };
  });
}

}  // namespace girih::cli
