#include <algorithm>
#include <cstdio>
#include <memory>

#include "core/error.hpp"
#include "core/format.hpp"
#include "girih/bench_moves.hpp"
#include "girih/bench_run.hpp"
#include "girih/commands.hpp"
#include "girih/options.hpp"
#include "girih/text_list.hpp"
#include "runtime/state.hpp"

namespace girih::cli {
namespace {

const std::vector kKinds = {MoveKind::Copy,    MoveKind::CopyRows, MoveKind::Transpose,
                            MoveKind::Narrow,  MoveKind::Widen,    MoveKind::Fill,
                            MoveKind::Permute, MoveKind::Unpermute};

struct MovesArguments {
  std::vector<MoveKind> kinds = kKinds;
  std::vector<DType> dtypes = {DType::F32, DType::BF16};
  std::optional<Backend> backend;
  BenchRun run;
  std::int64_t side = 8192;
};

double rate(const MoveCase& bench, const Interval& seconds) {
  return static_cast<double>(bench.bytes()) / seconds.median * 1e-9;
}

Json case_to_json(const MoveCase& bench) {
  return {{"op", name(bench.kind)},
          {"dtype", name(bench.source())},
          {"out_dtype", name(bench.destination())},
          {"rows", bench.rows()},
          {"columns", bench.columns()},
          {"bytes", bench.bytes()}};
}

std::vector<MoveCase> cases_of(const MovesArguments& arguments) {
  std::vector<MoveCase> cases;
  for (const MoveKind kind : arguments.kinds) {
    for (const DType dtype : arguments.dtypes) {
      const bool casts = kind == MoveKind::Narrow || kind == MoveKind::Widen;
      if (casts && (!is_float(dtype) || dtype == DType::F32)) continue;
      if (kind == MoveKind::Unpermute && (!is_float(dtype) || bit_width(dtype) < 16)) continue;
      cases.push_back({kind, dtype, arguments.side});
    }
  }
  return cases;
}

Result<int> run(const MovesArguments& arguments) {
  const std::vector<MoveCase> cases = cases_of(arguments);
  if (cases.empty()) {
    return error(
        Code::InvalidOption,
        "--op and --dtype name no case: casts are between floats, sums of f32, bf16 and f16");
  }
  Result<Runtime> runtime =
      Runtime::open({.backend = arguments.backend, .threads = arguments.run.threads});
  if (!runtime) return runtime.error();
  GIRIH_TRY(check_run(arguments.run));
  Device& device = detail::RuntimeAccess::shared(*runtime)->device();
  MovesReport report{
      .commit = arguments.run.commit,
      .device = device.info(),
      .threads = device.threads(),
      .options = {.rounds = arguments.run.rounds.value_or(11),
                  .round_seconds = arguments.run.round_milliseconds.value_or(20) * 1e-3}};
  Progress progress;
  for (const MoveCase& bench : cases) {
    Result<MovesRow> row = bench_move(*runtime, report.options, bench, progress);
    if (row) {
      report.rows.push_back(*std::move(row));
    } else {
      report.failures.emplace_back(bench, row.error());
    }
    GIRIH_TRY(keep(arguments.run, report));
  }
  progress.stop();
  if (report.rows.empty()) return report.failures.front().second;
  show(arguments.run, report);
  if (!report.failures.empty()) return report.failures.front().second;
  return kDone;
}

}  // namespace

Json to_json(const MovesReport& report) {
  Json shapes = Json::array(), failures = Json::array();
  for (const MovesRow& row : report.rows) {
    Json entry = case_to_json(row.bench);
    entry["kernel"] = row.kernel;
    entry["seconds"] = to_json(row.seconds);
    entry["gb_per_s"] = rate(row.bench, row.seconds);
    entry["control"] = to_json(row.control);
    entry["peers"] = Json::array({{{"name", "memcpy"},
                                   {"seconds", to_json(row.peer_seconds)},
                                   {"gb_per_s", rate(row.bench, row.peer_seconds)},
                                   {"ratio", to_json(row.ratio)},
                                   {"verdict", name(row.verdict)}}});
    shapes.push_back(std::move(entry));
  }
  for (const auto& [bench, error] : report.failures) {
    Json entry = case_to_json(bench);
    entry["error"] = error.message;
    failures.push_back(std::move(entry));
  }
  return {{"schema", "girih-bench-elementwise-1"},
          {"commit", report.commit},
          {"backend", name(report.device.backend)},
          {"device", report.device.name},
          {"threads", report.threads},
          {"rounds", report.options.rounds},
          {"round_seconds", report.options.round_seconds},
          {"shapes", std::move(shapes)},
          {"failures", std::move(failures)}};
}

void print_table(const MovesReport& report) {
  Table table;
  table.add({"operation", "girih", "rate", "memcpy", "ratio", "interval", "verdict"});
  for (const MovesRow& row : report.rows) {
    const MoveCase& bench = row.bench;
    table.add({formatted("{} {} {} x {}", name(bench.kind), name(bench.dtype), bench.rows(),
                         bench.columns()),
               show_seconds(row.seconds.median), formatted("{:.0f} GB/s", rate(bench, row.seconds)),
               formatted("{:.0f} GB/s", rate(bench, row.peer_seconds)),
               formatted("{:.3f}", row.ratio.median),
               formatted("{:.3f} .. {:.3f}", row.ratio.low, row.ratio.high),
               std::string(name(row.verdict))});
  }
  table.print();
  for (const auto& [bench, error] : report.failures) {
    std::fputs(
        formatted("{} {}: not timed: {}\n", name(bench.kind), name(bench.dtype), error.message)
            .c_str(),
        stdout);
  }
}

void add_bench_elementwise(CLI::App& bench, Action& action) {
  CLI::App* const command = bench.add_subcommand(
      "elementwise",
      "Time copies, transposes, casts, fills and gathered rows against the system's own copy");
  const auto arguments = std::make_shared<MovesArguments>();
  add_list(*command, "--op", arguments->kinds, kKinds, "What is timed; default all");
  add_list(
      *command, "--dtype", arguments->dtypes,
      std::vector{DType::F32, DType::BF16, DType::F16, DType::I8, DType::F8E4M3, DType::F8E5M2},
      "Types; of casts the narrower one; default f32,bf16");
  command->add_option("--side", arguments->side, "Rows and columns; default 8192")
      ->check(CLI::Range(8, 65536));
  add_choice(*command, "--backend", arguments->backend, std::vector{Backend::Cpu, Backend::Cuda},
             "Exactly this backend, or an error");
  add_run_options(*command, arguments->run, "11", "20");
  command->footer(
      "`memcpy` is one copy by the system, cudaMemcpyAsync or memcpy on one thread, of half the\n"
      "bytes that the operation reads and writes, so that it moves as many; a ratio is its time\n"
      "over girih's, paired by round. One element in about a thousand is checked before anything\n"
      "is timed. docs/measuring.md has the method and the fields.\n\n"
      "Example:\n"
      "  girih bench elementwise --backend cuda --dtype f32,bf16,i8 --json moves.json");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace girih::cli
