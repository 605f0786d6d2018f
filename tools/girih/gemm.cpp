#include <cmath>
#include <memory>

#include "core/error.hpp"
#include "girih/commands.hpp"
#include "girih/gemm_report.hpp"

namespace girih::cli {
namespace {

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
  return conclude(options, *outcome, progress);
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
  add_c_scale(command, options.product);
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
      "A is [M, K], B [K, N], or [K, 2N] with --gate, C [M, N]; rank 3 adds a batch. A "
      "Fortran-order .npy is a view, and\n"
      "costs nothing. f64 files are rounded only if --in-dtype is given: A and B to it, a bias to\n"
      "f32, C to the result's type.\n"
      "JSON: m, n, k, batch, operand_dtype, output_dtype, gate (its activation or null), plan {as "
      "in `girih plan gemm`}, runs,\n"
      "seconds (median), gflops, verification {passed, elements, failures, unbounded,\n"
      "worst_error, worst_bound, worst_ratio} or null, output (null if nothing was written).\n\n"
      "Examples:\n"
      "  girih gemm --a x.npy --b w.safetensors:dense.weight --trans-b \\\n"
      "      --bias w.safetensors:dense.bias --activation gelu_tanh --out y.npy --verify\n"
      "  girih gemm --a x.npy --b w.npy --in-dtype bf16 --out-dtype bf16 \\\n"
      "      --out y.safetensors:y --json\n"
      "  girih gemm --a x.npy --b w.npy --c y.npy --beta 1 --out y.npy\n"
      "  girih gemm --a x.npy --b gate_up.npy --gate silu --out y.npy\n"
      "  girih gemm --a x.npy --b w.npy --out-dtype f8e4m3 --c-scale 16 --out y.safetensors:y");
  command->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace girih::cli
