#include <chrono>
#include <memory>

#include "core/environment.hpp"
#include "girih/commands.hpp"
#include "girih/options.hpp"
#include "girih/verify_cases.hpp"

namespace girih::cli {
namespace {

using Clock = std::chrono::steady_clock;

Result<int> run(VerifyOptions options) {
  if (options.kernel.empty()) {
    const Result<Environment> environment = read_environment();
    if (!environment) return environment.error();
    options.kernel = environment->force_kernel;
  }
  Result<Runtime> runtime = Runtime::open(
      {.backend = options.backend, .threads = options.threads, .force_kernel = options.kernel});
  if (!runtime) return runtime.error();
  const auto begin = Clock::now();
  const VerifyTally tally = verify_cases(*runtime, options);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return report_cases(options, tally, seconds);
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  CLI::App* const command =
      app.add_subcommand("verify", "Check kernels against the oracle on seeded random cases");
  const auto options = std::make_shared<VerifyOptions>();
  add_choice<Op>(*command, "--op", options->op,
                 {Op::Gemm, Op::GroupedGemm, Op::Route, Op::Permute, Op::Unpermute, Op::Copy,
                  Op::Cast, Op::Fill},
                 "Operation to check")
      ->required();
  command->add_option("--cases", options->cases, "Run cases 0 to N-1")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of the cases")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1'000'000'000'000'000'000}))
      ->capture_default_str();
  command->add_option("--case", options->only, "Run only this case")->check(CLI::NonNegativeNumber);
  add_choice<Backend>(*command, "--backend", options->backend,
                      {Backend::Cpu, Backend::Cuda, Backend::Metal}, "Backend to check");
  command->add_option("--kernel", options->kernel,
                      "Run only this kernel; what it does not take counts as refused");
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
