#include <memory>

#include "girih/bench_grouped.hpp"
#include "girih/bench_run.hpp"
#include "girih/commands.hpp"
#include "girih/text_list.hpp"
#include "runtime/state.hpp"

namespace girih::cli {
namespace {

struct GroupedArguments {
  Backend backend = Backend::Cpu;
  std::string ladder = "experts";
  std::optional<std::string> shapes;
  std::vector<DType> dtypes = {DType::BF16};
  std::optional<DType> output;
  std::vector<std::string> against;
  BenchRun run;
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
  const Result<std::vector<GroupsCase>> cases = cases_of(arguments);
  if (!cases) return cases.error();
  Result<Runtime> runtime =
      Runtime::open({.backend = arguments.backend, .threads = arguments.run.threads});
  if (!runtime) return runtime.error();
  Device& device = detail::RuntimeAccess::shared(*runtime)->device();
  std::vector<std::pair<DType, DType>> types;
  for (const GroupsCase& bench : *cases) types.emplace_back(bench.operands, bench.output);
  const auto peers = load_peers(arguments.against, device.info().backend, device.threads(), types);
  if (!peers) return peers.error();
  GIRIH_TRY(check_run(arguments.run));
  GroupsReport report{
      .commit = arguments.run.commit,
      .device = device.info(),
      .threads = device.threads(),
      .options = {.rounds = arguments.run.rounds.value_or(11),
                  .round_seconds = arguments.run.round_milliseconds.value_or(50) * 1e-3}};
  for (const auto& peer : *peers) report.peers.emplace_back(peer->name(), peer->description());
  Progress progress;
  for (const GroupsCase& bench : *cases) {
    Result<GroupsRow> row = bench_grouped(*runtime, report.options, bench, *peers, progress);
    if (row) {
      report.rows.push_back(*std::move(row));
    } else {
      report.failures.emplace_back(bench, row.error());
    }
    GIRIH_TRY(runtime->trim());
    GIRIH_TRY(keep(arguments.run, report));
  }
  progress.stop();
  if (report.rows.empty()) return report.failures.front().second;
  show(arguments.run, report);
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
  command
      ->add_option("--against", arguments->against,
                   "Loops of a peer's products too, if installed: openblas, onednn, cublaslt")
      ->delimiter(',');
  add_run_options(*command, arguments->run, "11", "50");
  command->footer(
      "Each group has as many rows as the others and weights of its own. Parts of all results "
      "are\n"
      "held against the oracle before anything is timed. `gemm-loop` is a call of gemm a group, "
      "on\n"
      "the same operands, `cublaslt-loop` a product of the peer's; a ratio is a loop's time over\n"
      "girih's, paired by round. The last shapes of `experts` take 9 GB in 16-bit types.\n"
      "docs/measuring.md has the method and the fields.\n\n"
      "Examples:\n"
      "  girih bench grouped_gemm --json grouped.json\n"
      "  girih bench grouped_gemm --backend cuda --against cublaslt\n"
      "  girih bench grouped_gemm --shapes 64x16x1024x512 --dtype f32,bf16");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace girih::cli
