#include <algorithm>
#include <array>
#include <string_view>

#include "backends/metal/launch.hpp"
#include "backends/metal/params.hpp"
#include "core/checked.hpp"
#include "plan/metal_gemm.hpp"

namespace girih::inline v0::metal {
namespace {

/// More tiles than this and each threadgroup computes several.
constexpr std::int64_t kMostThreadgroups = 4096;
constexpr Word kBand = 8;
constexpr UInt kThreads = 128;

/// Names of a row's kernels, by type and layout as GIRIH_INSTANTIATE has them.
struct RowFunctions {
  std::string_view row;
  const char* names[4][4];  ///< [f32, bf16, f16, i8][nn, nt, tn, tt]
};
#define GIRIH_METAL_NAMES(row, type) \
  { row type "_nn", row type "_nt", row type "_tn", row type "_tt" }
#define GIRIH_METAL_PLAIN(row, type) \
  { row type, row type, row type, row type }
#define GIRIH_METAL_tensorops GIRIH_METAL_NAMES
#define GIRIH_METAL_simdgroup GIRIH_METAL_PLAIN
#define GIRIH_METAL_simt GIRIH_METAL_PLAIN
#define GIRIH_METAL_GEMM(types, rows, columns, depth, simdgroups, target, ...)              \
  {"metal_gemm_" #types "_" #rows "x" #columns "_" #target,                                 \
   {GIRIH_METAL_##target("metal_gemm_" #types "_" #rows "x" #columns "_" #target, "_f32"),  \
    GIRIH_METAL_##target("metal_gemm_" #types "_" #rows "x" #columns "_" #target, "_bf16"), \
    GIRIH_METAL_##target("metal_gemm_" #types "_" #rows "x" #columns "_" #target, "_f16"),  \
    GIRIH_METAL_##target("metal_gemm_" #types "_" #rows "x" #columns "_" #target, "_i8")}},
#define GIRIH_METAL_ELEMENTWISE(...)
constexpr RowFunctions kFunctions[] = {
#include "backends/metal/kernels.inc"
};
#undef GIRIH_METAL_ELEMENTWISE
#undef GIRIH_METAL_GEMM

const char* function_of(const KernelInfo& kernel, DType dtype, bool a_transposed,
                        bool b_transposed) noexcept {
  const std::size_t type = dtype == DType::F32    ? 0
                           : dtype == DType::BF16 ? 1
                           : dtype == DType::F16  ? 2
                                                  : 3;
  const std::size_t layout = (a_transposed ? 2U : 0U) + (b_transposed ? 1U : 0U);
  const auto* const row = std::ranges::find(kFunctions, kernel.name, &RowFunctions::row);
  return row == std::end(kFunctions) ? nullptr : row->names[type][layout];
}

StridedView view(const MatrixLayout& x) noexcept {
  return {x.row_stride, x.column_stride, x.batch_stride, code_of(x.dtype), 1};
}
StridedView view(const std::optional<VectorLayout>& x) noexcept {
  if (!x) return {};
  return {x->stride, x->stride, x->batch_stride, code_of(x->dtype), 1};
}

GemmParams params_of(const GemmCall& call) noexcept {
  const GemmProblem& problem = call.problem;
  const KernelInfo& kernel = *call.selection.kernel;
  GemmParams p{};
  const MetalColumns columns = metal_columns(problem, kernel);
  p.a = view(problem.a);
  p.b = view(columns.layout);
  p.b_up = columns.partner * problem.b.column_stride;
  p.c = view(problem.c);
  if (problem.residual) p.residual = view(*problem.residual);
  p.bias = view(problem.bias);
  p.a_scale = view(problem.a_scale);
  p.b_scale = view(problem.b_scale);
  p.bias_up = columns.partner * p.bias.column;
  p.bias.column *= columns.step;
  p.b_scale_up = columns.partner * p.b_scale.column;
  p.b_scale.column *= columns.step;
  p.m = problem.m;
  p.n = columns.count;
  p.k = problem.skips_product() ? 0 : metal_depth(problem, kernel);
  p.batch = problem.batch;
  p.tiles_m = ceil_div(problem.m, kernel.tile_m);
  p.tiles_n = ceil_div(p.n, kernel.tile_n / columns.halves);
  p.slices = static_cast<Word>(call.selection.split_k);
  p.units = p.tiles_m * p.tiles_n * p.batch * call.selection.split_k;
  p.slice = call.selection.split_k > 1 ? metal_slice(p.k, call.selection.split_k) : p.k;
  p.alpha = problem.alpha.value;
  p.beta = problem.beta.value;
  p.is_alpha_on_device = problem.alpha.on_device ? 1 : 0;
  if (problem.skips_product()) {  // the sum is 0, whatever its factors
    p.alpha = 0;
    p.is_alpha_on_device = 0;
    p.a_scale = {};
    p.b_scale = {};
  }
  p.is_beta_on_device = problem.beta.on_device ? 1 : 0;
  p.band = kBand;
  p.is_column_major = call.selection.traversal == Traversal::ColumnMajor ? 1 : 0;
  p.reads_c = problem.reads_c() ? 1 : 0;
  p.activation = static_cast<Word>(problem.activation);
  if (problem.gate) {
    p.is_gated = 1;
    p.activation = static_cast<Word>(problem.gate->activation);
    p.gate_alpha = problem.gate->alpha;
    p.gate_limit = problem.gate->limit;
    p.up_offset = problem.gate->up_offset;
  }
  return p;
}

/// Where the operands are after packing.
struct Placed {
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* partials = nullptr;
  bool a_transposed = false, b_transposed = false;
};

/// One operand of the product, as the caller has it.
struct Side {
  const std::byte* data;
  const MatrixLayout& layout;
  std::int64_t rows, columns;
  bool is_left;
  MetalOperand seen;  ///< after packing
  std::int64_t halves = 1, half_stride = 0, packed_half_stride = 0;
};

/// Packs an operand if matmul2d cannot read it as it is; gives where it is then, and how it lies.
Result<const std::byte*> place(const Side& side, MetalParts parts, std::int64_t batch,
                               std::byte* space, StridedView& seen, bool& transposed,
                               LaunchSink& sink) noexcept {
  const MatrixLayout& layout = side.layout;
  const MetalOperand& operand = side.seen;
  transposed = operand.column_major;
  seen = {operand.row_stride, operand.column_stride, operand.batch_stride, seen.type, 1};
  if (!operand.packed) return side.data;
  const std::array<MoveDimension, 4> dimensions = {
      MoveDimension{operand.batch_stride == 0 ? 1 : batch, layout.batch_stride,
                    operand.batch_stride},
      MoveDimension{side.halves, side.half_stride, side.packed_half_stride},
      MoveDimension{side.rows, layout.row_stride, operand.row_stride},
      MoveDimension{side.columns, layout.column_stride, 1}};
  if (parts == MetalParts::None) {
    GIRIH_TRY(add_copy(side.data, space, layout.dtype, dimensions, sink));
    return space;
  }
  const std::int64_t stride = side.is_left ? side.columns : side.rows * operand.row_stride;
  const Word code = parts == MetalParts::Rounded ? kRounded : side.is_left ? kPartsOfA : kPartsOfB;
  GIRIH_TRY(add_parts(side.data, space, code, stride, dimensions, sink));
  return space;
}

Result<Placed> place_operands(const GemmCall& call, GemmParams& p, LaunchSink& sink) noexcept {
  const GemmProblem& problem = call.problem;
  const KernelInfo& kernel = *call.selection.kernel;
  const MetalWorkspace workspace = metal_workspace(problem, kernel, call.selection.split_k);
  Placed placed{.a = call.operands.a, .b = call.operands.b};
  placed.partials =
      call.scratch != nullptr ? call.scratch + workspace.a_bytes + workspace.b_bytes : nullptr;
  if (kernel.path != Path::Matrix || p.k == 0) return placed;
  const MetalParts parts = metal_parts(problem, kernel);
  const auto a = place({placed.a, problem.a, problem.m, problem.k, true,
                        metal_operand(problem.a, parts, problem.m, p.k)},
                       parts, p.batch, call.scratch, p.a, placed.a_transposed, sink);
  if (!a) return a.error();
  const MetalColumns columns = metal_columns(problem, kernel);
  const auto b =
      place({placed.b, columns.layout, problem.k, columns.count, false, columns.operand,
             columns.halves, p.b_up, columns.operand_up},
            parts, p.batch, call.scratch + workspace.a_bytes, p.b, placed.b_transposed, sink);
  if (!b) return b.error();
  p.b_up = columns.operand_up;
  p.run = metal_run(p.a.column, p.b.row);
  placed.a = *a;
  placed.b = *b;
  return placed;
}

}  // namespace

Status lower(const GemmCall& call, LaunchSink& sink) noexcept {
  const GemmOperands& operands = call.operands;
  const KernelInfo& kernel = *call.selection.kernel;
  GemmParams params = params_of(call);
  const Result<Placed> placed = place_operands(call, params, sink);
  if (!placed) return placed.error();
  Launch launch;
  launch.family = kernel.path == Path::Matrix ? Family::TensorOps : Family::Simdgroup;
  launch.function =
      function_of(kernel, call.problem.a.dtype, placed->a_transposed, placed->b_transposed);
  launch.buffers = {placed->a,     placed->b,        operands.c,       operands.residual,
                    operands.bias, operands.a_scale, operands.b_scale, operands.alpha,
                    operands.beta, placed->partials};
  launch.buffer_count = 10;
  constexpr unsigned kC = 2, kPartials = 9;
  launch.written = 1U << (params.slices > 1 ? kPartials : kC);
  launch.parameters = &params;
  launch.parameter_bytes = sizeof(params);
  launch.threadgroups.width = static_cast<UInt>(std::min(params.units, kMostThreadgroups));
  launch.threads.width = kThreads;
  launch.seconds = call.selection.predicted_seconds;
  GIRIH_TRY(sink.add(launch));
  if (params.slices <= 1) return {};
  launch.family = Family::Simdgroup;
  launch.buffers[0] = launch.buffers[1] = nullptr;
  launch.written = 1U << kC;
  launch.function =
      kernel.reduction == Reduction::ExactI32 ? "gemm_split_reduce_i32" : "gemm_split_reduce_f32";
  const std::int64_t elements = params.batch * params.m * params.n;
  launch.threadgroups.width =
      static_cast<UInt>(std::min(ceil_div(elements, std::int64_t{kThreads}), kMostThreadgroups));
  launch.seconds = 0;
  return sink.add(launch);
}

}  // namespace girih::inline v0::metal
