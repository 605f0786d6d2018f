#include <memory>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "girih/commands.hpp"
#include "girih/convert.hpp"
#include "girih/operand_file.hpp"
#include "girih/options.hpp"
#include "girih/product.hpp"
#include "girih/show_plan.hpp"

namespace girih::cli {
namespace {

struct PlanOptions {
  ProductOptions product;
  std::optional<OperandFile> a, b;
  std::optional<std::int64_t> m, n, k, batch;
  std::string device;
};

/// A row-major array of these extents, stored transposed where the product uses it so.
Result<ArrayInfo> make_info(const PlanOptions& options, std::int64_t rows, std::int64_t columns,
                            bool is_transposed, std::string_view what) {
  if (is_transposed) std::swap(rows, columns);
  const Shape shape = options.batch ? Shape{*options.batch, rows, columns} : Shape{rows, columns};
  const Result<std::int64_t> size = checked_size(shape, what);
  if (!size) return size.error();
  return ArrayInfo{options.product.in_dtype.value_or(DType::F32), shape, contiguous_strides(shape)};
}

/// B [K, N], or [K, 2N] with a gate.
Result<ArrayInfo> make_b_info(const PlanOptions& options, bool is_transposed) {
  const auto columns = checked_mul(*options.n, options.product.gate_activation ? 2 : 1);
  if (!columns) {
    return error(Code::SizeOverflow, "N is {}: a gate's 2N does not fit 64 bits", *options.n);
  }
  return make_info(options, *options.k, *columns, is_transposed, "B");
}

Result<ArrayInfo> operand_info(const PlanOptions& options, bool is_a) {
  const bool is_transposed = is_a ? options.product.trans_a : options.product.trans_b;
  const std::optional<OperandFile>& file = is_a ? options.a : options.b;
  Result<ArrayInfo> info = file   ? inspect(*file)
                           : is_a ? make_info(options, *options.m, *options.k, is_transposed, "A")
                                  : make_b_info(options, is_transposed);
  if (!info) return info;
  const Result<DType> dtype =
      operand_type(info->dtype, options.product.in_dtype, file ? file->text() : "");
  if (!dtype) return dtype.error();
  info->dtype = *dtype;
  return is_transposed ? transposed(*info) : *info;
}

Result<GemmProblem> make_problem(const PlanOptions& options) {
  const Result<ArrayInfo> a = operand_info(options, true);
  if (!a) return a.error();
  const Result<ArrayInfo> b = operand_info(options, false);
  if (!b) return b.error();
  return check(make_spec(*a, *b, options.product));
}

Result<int> run(const PlanOptions& options) {
  const Result<GemmProblem> problem = make_problem(options);
  if (!problem) return problem.error();
  return show_plan(options.product, options.device,
                   [&](const SelectionContext& context) { return explain(*problem, context); });
}

void check_forms(const PlanOptions& options) {
  const bool files = options.a && options.b;
  const bool extents = options.m && options.n && options.k;
  const bool any_file = options.a || options.b;
  const bool any_extent = options.m || options.n || options.k || options.batch;
  if (files != extents && any_file != any_extent) return;
  throw CLI::ValidationError("plan gemm", "give --a and --b, or --m, --n and --k");
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  CLI::App* const plan = app.add_subcommand("plan", "Show what a call would run, and why");
  plan->require_subcommand(1);
  plan->footer("Example:\n  girih plan gemm --m 4096 --n 768 --k 2304");
  CLI::App* const command = plan->add_subcommand("gemm", "Plan a matrix product");
  const auto options = std::make_shared<PlanOptions>();
  add_operand(*command, "--a", options->a, "First operand: x.npy or w.safetensors:NAME");
  add_operand(*command, "--b", options->b, "Second operand");
  add_integer(*command, "--m", options->m, "Rows of the result");
  add_integer(*command, "--n", options->n, "Columns of the result");
  add_integer(*command, "--k", options->k, "Length of the sums");
  add_integer(*command, "--batch", options->batch, "Number of products");
  command->add_option("--device", options->device, "Plan for this device: " + fixture_names())
      ->type_name("NAME");
  add_product_options(*command, options->product);
  add_c_scale(*command, options->product);
  command->footer(
      "Without --device the plan is for this machine. Without files the operands are f32 unless\n"
      "--in-dtype is given.\n"
      "JSON: kernel, backend, device, tile [m, n, k], block [m, n, k], split_k, traversal,\n"
      "threads, workspace_bytes, flops, bytes, predicted_seconds, reduction, notes [text],\n"
      "rejected [{kernel, reason}].\n\n"
      "Examples:\n"
      "  girih plan gemm --m 4096 --n 768 --k 2304 --in-dtype bf16\n"
      "  girih plan gemm --m 1 --n 4096 --k 4096 --trans-b --device avx2-2c --json\n"
      "  girih plan gemm --a x.npy --b w.safetensors:dense.weight --trans-b\n"
      "  girih plan gemm --m 64 --n 8192 --k 4096 --gate silu --in-dtype bf16");
  command->callback([&action, options] {
    check_forms(*options);
    action = [options] { return run(*options); };
  });
  add_plan_grouped(*plan, action);
}

}  // namespace girih::cli
