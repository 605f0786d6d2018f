#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include <girih/status.hpp>

namespace girih::cli {

/// What the process returns.
enum Exit : int {
  kDone = 0,
  kUsage = 2,
  kInvalid = 3,
  kUnsupported = 4,
  kUnavailable = 5,
  kFailed = 6,  ///< also: a verification that failed
};

/// What is left to do once the command line is parsed: the chosen sub-command. Gives the exit code;
/// an error is printed by `main` as one line and gives the code of its kind.
using Action = std::function<Result<int>()>;

/// Each adds one sub-command, which sets `action` when it is the one that was called.
void add_probe(CLI::App& app, Action& action);
void add_kernels(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
/// `plan grouped_gemm`, a sub-command of `plan`.
void add_plan_grouped(CLI::App& plan, Action& action);
void add_gemm(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
/// `bench grouped_gemm`, a sub-command of `bench`.
void add_bench_grouped(CLI::App& bench, Action& action);
/// `bench elementwise`, a sub-command of `bench`.
void add_bench_elementwise(CLI::App& bench, Action& action);
/// `bench launches`, a sub-command of `bench`.
void add_bench_launches(CLI::App& bench, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_replay_line(CLI::App& app, Action& action);

}  // namespace girih::cli
