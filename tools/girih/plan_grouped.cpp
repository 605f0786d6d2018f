#include <charconv>
#include <memory>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "girih/commands.hpp"
#include "girih/options.hpp"
#include "girih/show_plan.hpp"
#include "girih/text_list.hpp"
#include "plan/grouped.hpp"

namespace girih::cli {
namespace {

struct GroupedOptions {
  ProductOptions product;
  std::optional<std::int64_t> m, n, k, groups;
  std::string sizes;
  bool by_depth = false;
  std::string device;
};

/// The extent that the groups share, and how many there are.
struct Groups {
  std::int64_t rows = 0, count = 0;
};

Result<Groups> groups_of(const GroupedOptions& options) {
  const std::optional<std::int64_t>& rows = options.by_depth ? options.k : options.m;
  if (options.sizes.empty()) return Groups{*rows, *options.groups};
  Groups groups;
  for (const std::string& part : split(options.sizes)) {
    std::int64_t size = 0;
    const char* const end = part.data() + part.size();
    const auto [stop, failure] = std::from_chars(part.data(), end, size);
    const std::optional<std::int64_t> sum = checked_add(groups.rows, size);
    if (failure != std::errc{} || stop != end || size < 0 || !sum) {
      return error(Code::InvalidOption, "sizes '{}': must be numbers of rows, from 0 on",
                   options.sizes);
    }
    groups.rows = *sum;
    ++groups.count;
  }
  return groups;
}

/// A row-major view, its last two extents swapped in memory if the product uses it transposed.
Result<Geometry> view(DType dtype, const Shape& shape, bool is_transposed, const char* what) {
  const Result<std::int64_t> size = checked_size(shape, what);
  if (!size) return size.error();
  Geometry result{dtype, shape, contiguous_strides(shape), 0};
  if (is_transposed) {
    const auto last = static_cast<std::size_t>(shape.rank() - 1);
    result.strides[last - 1] = 1;
    result.strides[last] = shape[shape.rank() - 2];
  }
  return result;
}

Result<GroupedGemmProblem> make_problem(const GroupedOptions& options) {
  const Result<Groups> groups = groups_of(options);
  if (!groups) return groups.error();
  const ProductOptions& product = options.product;
  const std::optional<Gate> gate = gate_of(product);
  const std::optional<std::int64_t> columns = checked_mul(*options.n, gate ? 2 : 1);
  if (!columns) {
    return error(Code::SizeOverflow, "N is {}: a gate's 2N does not fit 64 bits", *options.n);
  }
  const std::int64_t m = options.by_depth ? *options.m : groups->rows;
  const std::int64_t k = options.by_depth ? groups->rows : *options.k;
  const DType type = product.in_dtype.value_or(DType::F32);
  const DType output = product.out_dtype.value_or(default_output(type, gate.has_value()));
  const Shape b = options.by_depth ? Shape{k, *columns} : Shape{groups->count, k, *columns};
  const Shape c = options.by_depth ? Shape{groups->count, m, *options.n} : Shape{m, *options.n};
  GroupedGemmSpec spec;
  const Result<Geometry> a_view = view(type, {m, k}, product.trans_a, "A");
  if (!a_view) return a_view.error();
  const Result<Geometry> b_view = view(type, b, product.trans_b, "B");
  if (!b_view) return b_view.error();
  const Result<Geometry> c_view = view(output, c, false, "C");
  if (!c_view) return c_view.error();
  spec.product.a = *a_view;
  spec.product.b = *b_view;
  spec.product.c = *c_view;
  spec.product.gate = gate;
  spec.product.precision = product.precision;
  spec.product.path = product.path;
  const std::optional<std::int64_t> bounds = checked_add(groups->count, 1);
  if (!bounds) return error(Code::InvalidOption, "groups are {}, too many", groups->count);
  spec.offsets = {DType::I32, {*bounds}, {1}, 0};
  return check(spec);
}

Result<int> run(const GroupedOptions& options) {
  const Result<GroupedGemmProblem> problem = make_problem(options);
  if (!problem) return problem.error();
  return show_plan(options.product, options.device,
                   [&](const SelectionContext& context) { return explain(*problem, context); });
}

/// The groups' extent is given once: in all, with their number, or by their sizes.
void check_forms(const GroupedOptions& options) {
  const bool has_sizes = !options.sizes.empty();
  const auto& shared = options.by_depth ? options.k : options.m;
  const auto& own = options.by_depth ? options.m : options.k;
  const bool in_all = shared && options.groups;
  const bool any_in_all = shared || options.groups;
  if (own && options.n && (has_sizes ? !any_in_all : in_all)) return;
  throw CLI::ValidationError("plan grouped_gemm",
                             options.by_depth
                                 ? "give --m and --n, and either --k and --groups or --sizes"
                                 : "give --n and --k, and either --m and --groups or --sizes");
}

}  // namespace

void add_plan_grouped(CLI::App& plan, Action& action) {
  CLI::App* const command =
      plan.add_subcommand("grouped_gemm", "Plan products of groups of rows or of depth");
  const auto options = std::make_shared<GroupedOptions>();
  add_integer(*command, "--m", options->m, "Rows of the result, of all groups");
  add_integer(*command, "--n", options->n, "Columns of the result");
  add_integer(*command, "--k", options->k, "Length of the sums");
  add_integer(*command, "--groups", options->groups, "Number of groups");
  command
      ->add_option("--sizes", options->sizes, "Rows of each group, instead of M and their number")
      ->type_name("N,...");
  command->add_flag("--depth", options->by_depth,
                    "Groups share K, not M, and each has a result of its own");
  command->add_option("--device", options->device, "Plan for this device: " + fixture_names())
      ->type_name("NAME");
  add_product_options(*command, options->product);
  command->footer(
      "The plan holds for groups of any sizes with the same sum; its time is predicted for equal\n"
      "ones. Without --device it is for this machine. Operands are f32 unless --in-dtype is "
      "given.\n"
      "JSON: as of plan gemm: kernel, backend, device, tile [m, n, k], block [m, n, k], split_k,\n"
      "traversal, threads, workspace_bytes, flops, bytes, predicted_seconds, reduction,\n"
      "notes [text], rejected [{kernel, reason}].\n\n"
      "Examples:\n"
      "  girih plan grouped_gemm --groups 8 --m 4096 --n 4096 --k 2048 --in-dtype bf16\n"
      "  girih plan grouped_gemm --sizes 512,0,40,7 --n 2048 --k 4096 --gate silu --json\n"
      "  girih plan grouped_gemm --depth --groups 8 --m 2048 --n 4096 --k 4096 --in-dtype bf16");
  command->callback([&action, options] {
    check_forms(*options);
    action = [options] { return run(*options); };
  });
}

}  // namespace girih::cli
