#include <cmath>
#include <fmt/format.h>
#include <memory>

#include "core/error.hpp"
#include "girih/commands.hpp"
#include "girih/gemm_run.hpp"
#include "girih/print.hpp"

namespace girih::cli {
namespace {

double gflops(const GemmOutcome& outcome) {
  return outcome.seconds > 0 ? outcome.problem.flops() / outcome.seconds * 1e-9 : 0;
}

Json to_json(const verify::Comparison& comparison) {
  return {{"passed", comparison.passed()},
          {"elements", comparison.elements},
          {"failures", comparison.failures},
          {"unbounded", comparison.unbounded},
          {"worst_error", std::abs(comparison.got - comparison.want)},
          {"worst_bound", comparison.bound},
          {"worst_ratio", comparison.worst_ratio}};
}

void print_as_json(const GemmOptions& options, const GemmOutcome& outcome) {
  const GemmProblem& problem = outcome.problem;
  const bool is_written = !outcome.comparison || outcome.comparison->passed();
  print_json({{"m", problem.m},
              {"n", problem.n},
              {"k", problem.k},
              {"batch", problem.batch},
              {"operand_dtype", name(problem.a.dtype)},
              {"output_dtype", name(problem.c.dtype)},
              {"plan", cli::to_json(outcome.plan)},
              {"runs", outcome.runs},
              {"seconds", outcome.seconds},
              {"gflops", gflops(outcome)},
              {"verification", outcome.comparison ? to_json(*outcome.comparison) : Json{}},
              {"output", is_written ? Json(options.out->text()) : Json{}}});
}

void print_for_people(const GemmOptions& options, const GemmOutcome& outcome) {
  const GemmProblem& problem = outcome.problem;
  const Plan& plan = outcome.plan;
  Table table;
  table.add({"product",
             fmt::format("{}{} x {} x {} (M x N x K), {} -> {}",
                         problem.batch > 1 ? fmt::format("{} of ", problem.batch) : "", problem.m,
                         problem.n, problem.k, name(problem.a.dtype), name(problem.c.dtype))});
  table.add({"kernel", fmt::format("{}, {} thread{}, {} of workspace", plan.kernel, plan.threads,
                                   plan.threads == 1 ? "" : "s",
                                   show_bytes(static_cast<std::int64_t>(plan.workspace_bytes)))});
  for (const std::string& note : plan.notes) table.add({"note", note});
  table.add(
      {"time", fmt::format("{}{}, {:.4g} GFLOP/s", show_seconds(outcome.seconds),
                           outcome.runs > 1 ? fmt::format(" (median of {})", outcome.runs) : "",
                           gflops(outcome))});
  if (outcome.comparison) {
    const verify::Comparison& comparison = *outcome.comparison;
    table.add({"verified",
               fmt::format("{} of {} elements within bounds; worst error {:.3g}, {:.3g} of its "
                           "bound {:.3g}",
                           comparison.elements - comparison.failures, comparison.elements,
                           std::abs(comparison.got - comparison.want), comparison.worst_ratio,
                           comparison.bound)});
  }
  if (!outcome.comparison || outcome.comparison->passed()) {
    table.add({"wrote", fmt::format("{}: {} [{}]", options.out->text(), name(problem.c.dtype),
                                    fmt::join(outcome.result.shape, ", "))});
  }
  table.print();
}

/// The output replaces its file whole, so it must not be a file that the call reads; C alone may
/// be, as it is by definition what the result replaces.
Status check_files(const GemmOptions& options) {
  const auto clashes = [&](const std::optional<OperandFile>& file) {
    return file && same_file(*file, *options.out);
  };
  const char* const operand =
      clashes(options.a)                                                                 ? "A"
      : clashes(options.b)                                                               ? "B"
      : clashes(options.bias)                                                            ? "bias"
      : clashes(options.c) && (options.out->is_safetensors || options.c->is_safetensors) ? "C"
                                                                                         : nullptr;
  if (operand == nullptr) return {};
  return error(Code::GemmAliasing, "{}: the output would replace the file that holds {}",
               options.out->text(), operand);
}

Result<int> run(const GemmOptions& options) {
  GIRIH_TRY(check_files(options));
  Progress progress;
  progress.stage("reading");
  Result<GemmInputs> inputs = load_inputs(options);
  if (!inputs) return std::move(inputs).error();
  const Result<GemmOutcome> outcome = run_gemm(options, *std::move(inputs), progress);
  if (!outcome) return outcome.error();
  const bool passed = !outcome->comparison || outcome->comparison->passed();
  if (passed) {
    progress.stage("writing");
    GIRIH_TRY(save(*options.out, outcome->result.view()));
  }
  progress.stop();
  if (options.product.json) {
    print_as_json(options, *outcome);
  } else {
    print_for_people(options, *outcome);
  }
  if (passed) return kDone;
  return error(Code::DeviceFailed, "verification failed, nothing was written: {}",
               outcome->comparison->to_string());
}

void add_options(CLI::App& command, GemmOptions& options) {
  add_operand(command, "--a", options.a, "First operand: x.npy or w.safetensors:NAME")->required();
  add_operand(command, "--b", options.b, "Second operand")->required();
  add_operand(command, "--out", options.out,
              "Result; the file is replaced whole. bf16 and 8-bit floats go to safetensors only")
      ->required();
  add_operand(command, "--bias", options.bias, "Vector added to each row: [N], or [batch, N]");
  CLI::Option* const c = add_operand(command, "--c", options.c, "Matrix that beta multiplies");
  CLI::Option* const beta =
      command.add_option("--beta", options.beta, "Factor of C")->type_name("X");
  c->needs(beta);
  beta->needs(c);
  command.add_option("--alpha", options.alpha, "Factor of the product; default 1")->type_name("X");
  add_choice<Activation>(
      command, "--activation", options.activation,
      {Activation::None, Activation::Relu, Activation::GeluTanh, Activation::Silu},
      "Applied last; default none");
  add_choice<Policy>(command, "--policy", options.policy,
                     {Policy::Auto, Policy::Accel, Policy::Cpu},
                     "Which backend, if --backend does not say; default auto");
  add_product_options(command, options.product);
  command.add_flag("--verify", options.verify,
                   "Compare with the oracle first; write nothing if any element is out of bounds");
}

}  // namespace

void add_gemm(CLI::App& app, Action& action) {
  CLI::App* const command =
      app.add_subcommand("gemm", "Multiply: out = activation(alpha*A.B + beta*C + bias)");
  const auto options = std::make_shared<GemmOptions>();
  add_options(*command, *options);
  command->footer(
      "A is [M, K], B [K, N], C [M, N]; rank 3 adds a batch. A Fortran-order .npy is a view, and\n"
      "costs nothing. f64 files are rounded only if --in-dtype is given: A and B to it, a bias to\n"
      "f32, C to the result's type.\n"
      "JSON: m, n, k, batch, operand_dtype, output_dtype, plan {as in `girih plan gemm`}, runs,\n"
      "seconds (median), gflops, verification {passed, elements, failures, unbounded,\n"
      "worst_error, worst_bound, worst_ratio} or null, output (null if nothing was written).\n\n"
      "Examples:\n"
      "  girih gemm --a x.npy --b w.safetensors:dense.weight --trans-b \\\n"
      "      --bias w.safetensors:dense.bias --activation gelu_tanh --out y.npy --verify\n"
      "  girih gemm --a x.npy --b w.npy --in-dtype bf16 --out-dtype bf16 \\\n"
      "      --out y.safetensors:y --json\n"
      "  girih gemm --a x.npy --b w.npy --c y.npy --beta 1 --out y.npy");
  command->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace girih::cli
