#include <cmath>
#include <memory>

#include "core/error.hpp"
#include "girih/bench_grouped.hpp"
#include "girih/bench_report.hpp"
#include "girih/commands.hpp"
#include "girih/options.hpp"
#include "girih/text_list.hpp"
#include "io/file.hpp"
#include "runtime/state.hpp"

namespace girih::cli {
namespace {

struct GroupedArguments {
  Backend backend = Backend::Cpu;
  std::string ladder = "experts";
  std::optional<std::string> shapes;
  std::vector<DType> dtypes = {DType::BF16};
  std::optional<DType> output;
  std::string file, commit;
  int threads = 0, rounds = 11;
  double round_milliseconds = 50;
};

Result<std::vector<GroupsCase>> cases_of(const GroupedArguments& arguments) {
  const Result<std::vector<GroupsShape>> shapes =
      arguments.shapes ? parse_groups(*arguments.shapes) : groups_ladder(arguments.ladder);
  if (!shapes) return shapes.error();
  std::vector<GroupsCase> cases;
  for (const DType dtype : arguments.dtypes) {
    for (const GroupsShape& shape : *shapes) {
      cases.push_back(
          {.shape = shape,
           .ladder = arguments.shapes ? "" : arguments.ladder,
           .operands = dtype,
           .output = arguments.output.value_or(dtype == DType::I8 ? DType::I32 : dtype)});
    }
  }
  return cases;
}

Result<int> run(const GroupedArguments& arguments) {
  // The option's range lets NaN through.
  if (std::isnan(arguments.round_milliseconds)) {
    return error(Code::InvalidOption, "--round-ms is nan, must be 0.1..10000");
  }
  const Result<std::vector<GroupsCase>> cases = cases_of(arguments);
  if (!cases) return cases.error();
  Result<Runtime> runtime =
      Runtime::open({.backend = arguments.backend, .threads = arguments.threads});
  if (!runtime) return runtime.error();
  const bool writes = !arguments.file.empty() && arguments.file != "-";
  // A path that cannot be written is found before anything is timed.
  if (writes) {
    const Result<OutputFile> file = OutputFile::create(arguments.file);
    if (!file) return file.error();
  }
  Device& device = detail::RuntimeAccess::shared(*runtime)->device();
  GroupsReport report{.commit = arguments.commit,
                      .device = device.info(),
                      .threads = device.threads(),
                      .options = {.rounds = arguments.rounds,
                                  .round_seconds = arguments.round_milliseconds * 1e-3}};
  Progress progress;
  for (const GroupsCase& bench : *cases) {
    Result<GroupsRow> row = bench_grouped(*runtime, report.options, bench, progress);
    if (row) {
      report.rows.push_back(*std::move(row));
    } else {
      report.failures.emplace_back(bench, row.error());
    }
    GIRIH_TRY(runtime->trim());
    if (writes) GIRIH_TRY(write_report(arguments.file, to_json(report)));
  }
  progress.stop();
  if (report.rows.empty()) return report.failures.front().second;
  if (arguments.file == "-") {
    print_json(to_json(report));
  } else {
    print_table(report);
  }
  if (!report.failures.empty()) return report.failures.front().second;
  return kDone;
}

}  // namespace

void add_bench_grouped(CLI::App& bench, Action& action) {
  CLI::App* const command =
      bench.add_subcommand("grouped_gemm", "Time grouped products against a loop of single ones");
  const auto arguments = std::make_shared<GroupedArguments>();
  add_choice(*command, "--backend", arguments->backend, std::vector{Backend::Cpu, Backend::Cuda},
             "Exactly this backend; default cpu");
  CLI::Option* const ladder =
      command->add_option("--ladder", arguments->ladder, "Named list of shapes; default experts")
          ->type_name("experts");
  command->add_option("--shapes", arguments->shapes, "Shapes of your own instead")
      ->type_name("GROUPSxROWSxNxK,...")
      ->excludes(ladder);
  add_list(*command, "--dtype", arguments->dtypes,
           std::vector{DType::F32, DType::BF16, DType::F16, DType::I8},
           "Types of A and B; default bf16");
  add_choice(*command, "--out-dtype", arguments->output,
             std::vector{DType::F32, DType::BF16, DType::F16, DType::I32},
             "Type of C; default i32 for i8, else that of A and B");
  command->add_option("--threads", arguments->threads, "Threads of both")
      ->check(CLI::Range(0, 1024));
  command->add_option("--rounds", arguments->rounds, "Interleaved rounds; default 11")
      ->check(CLI::Range(1, 1001));
  command
      ->add_option("--round-ms", arguments->round_milliseconds,
                   "Least duration of one contender's part of a round; default 50")
      ->check(CLI::Range(0.1, 10000.0));
  command->add_option("--commit", arguments->commit, "Recorded in the report");
  command
      ->add_option("--json", arguments->file,
                   "Write the report, as JSON, to this file; - prints it")
      ->type_name("FILE");
  command->footer(
      "Each group has as many rows as the others and weights of its own. Parts of both results "
      "are\n"
      "held against the oracle before anything is timed. `gemm-loop` is a call of gemm a group, "
      "on\n"
      "the same operands; a ratio is its time over girih's, paired by round. The last shapes of\n"
      "`experts` take 9 GB in 16-bit types. docs/measuring.md has the method and the fields.\n\n"
      "Examples:\n"
      "  girih bench grouped_gemm --json grouped.json\n"
      "  girih bench grouped_gemm --shapes 64x16x1024x512 --dtype f32,bf16");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace girih::cli
