#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/format.hpp"
#include "girih/commands.hpp"
#include "girih/print.hpp"
#include "girih/progress.hpp"
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

/// Reads a line and runs it again.
ReplayedLine replay_text(Runtimes& runtimes, const std::string& text, bool verify) {
  Result<CallLine> line = parse_call_line(text);
  if (!line) return {{}, line.error()};
  const Result<Runtime*> runtime = runtimes.get(*line);
  if (!runtime) return {*std::move(line), runtime.error()};
  Result<Replay> result = replay(**runtime, *line, verify);
  return {*std::move(line), std::move(result)};
}

/// What was recorded; the rest as if there had been no line or no replay.
Json to_json(const ReplayedLine& replayed) {
  const CallLine line = replayed.line.value_or(CallLine{});
  const Replay replay = replayed.replay ? *replayed.replay : Replay{};
  const bool was_read = replayed.line.has_value();
  const Status& status = replayed.replay ? replay.status : Status(replayed.replay.error());
  return {{"op", was_read ? Json(name(line.op)) : Json{}},
          {"kernel", replay.kernel},
          {"recorded_kernel", line.kernel},
          {"outcome", outcome_of(replayed)},
          {"message", status ? "" : status.error().message},
          {"recorded_status", line.status == Code::Ok ? "ok" : name(line.status)},
          {"runs", replay.runs},
          {"us", replay.seconds * 1e6},
          {"recorded_us", line.microseconds},
          {"worst_ratio", replay.comparison ? Json(replay.comparison->worst_ratio) : Json{}}};
}

void print_for_people(const std::vector<ReplayedLine>& lines) {
  const auto shown = [](const std::string& kernel) { return kernel.empty() ? "none" : kernel; };
  Table table;
  table.add({"line", "op", "kernel", "recorded kernel", "time", "recorded", "outcome"});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string number = formatted("{}", i + 1);
    const std::string outcome(outcome_of(lines[i]));
    if (!lines[i].line) {
      table.add({number, "-", "-", "-", "-", "-", outcome});
      continue;
    }
    const CallLine& line = *lines[i].line;
    const Replay replay = lines[i].replay ? *lines[i].replay : Replay{};
    table.add({number, std::string(name(line.op)), shown(replay.kernel), shown(line.kernel),
               replay.runs > 0 ? show_seconds(replay.seconds) : "-",
               show_seconds(line.microseconds * 1e-6), outcome});
  }
  table.print();
}

/// The first failure of any line.
Status judge_all(const std::vector<ReplayedLine>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Status status = judge(lines[i]);
    if (!status) {
      return error(status.error().code, "line {}: {}", i + 1, status.error().message);
    }
  }
  return {};
}

Result<int> run(const ReplayOptions& options) {
  const Result<std::vector<std::string>> texts = read_lines(options);
  if (!texts) return texts.error();
  if (texts->empty()) return error(Code::FileFormat, "there is no line to replay");
  Runtimes runtimes;
  std::vector<ReplayedLine> lines;
  Progress progress;
  for (const std::string& text : *texts) {
    progress.stage(formatted("line {} of {}", lines.size() + 1, texts->size()));
    lines.push_back(replay_text(runtimes, text, options.verify));
  }
  progress.stop();
  if (options.json) {
    Json array = Json::array();
    for (const ReplayedLine& line : lines) array.push_back(to_json(line));
    print_json({{"lines", array}});
  } else {
    print_for_people(lines);
  }
  GIRIH_TRY(judge_all(lines));
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
      "device scalars are 1, groups have equal shares of the rows, indices of rows go through "
      "them\n"
      "in turn. A call that is refused as it was when recorded is no failure. Lines that\n"
      "want over 4 GiB, or a minute of the call or of --verify, are not tried. All lines are\n"
      "gone through; the first failure is the exit code.\n"
      "JSON: lines [{op or null, kernel, recorded_kernel, outcome (ok, verified, WRONG, not read,\n"
      "not tried or a code), message, recorded_status, runs, us (median), recorded_us, "
      "worst_ratio\n"
      "or null}].\n\n"
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
