#include "backends/cuda/gemm_f32.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "backends/cuda/gemm_pieces.hpp"
#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "backends/cuda/strided.hpp"
#include "core/checked.hpp"
#include "plan/cuda_f32_cost.hpp"

namespace girih::inline v0::cuda {
namespace {

constexpr std::int64_t kMaxUnits = std::numeric_limits<std::int32_t>::max();

F32Load load_of(const std::byte* data, std::int64_t extent_stride, std::int64_t k_stride,
                std::int64_t k, std::int64_t batch, std::int64_t batch_stride) noexcept {
  const bool is_wide = extent_stride == 1 && (k <= 1 || k_stride % 4 == 0) &&
                       (batch <= 1 || batch_stride % 4 == 0) &&
                       std::bit_cast<std::uintptr_t>(data) % 16 == 0;
  if (is_wide) return F32Load::Wide;
  return extent_stride < k_stride ? F32Load::Any : F32Load::AlongK;
}

struct Product {
  const GemmCall& call;
  const F32Tile& tile;
  int splits;
  bool in_cluster;
  const std::uint32_t* only_if;
  const Lowering& lowering;

  [[nodiscard]] std::int64_t tiles() const noexcept {
    return ceil_div(call.problem.m, tile.rows) * ceil_div(call.problem.n, tile.cols);
  }

  Status add(LaunchSink& sink) const noexcept {
    const GemmProblem& problem = call.problem;
    const GemmOperands& operands = call.operands;
    F32Params p;
    p.simt = simt_params(call);
    if (splits > 1 && !in_cluster) {
      const std::int64_t ld = cuda_f32_partial_ld(problem);
      p.epilogue.out = {call.scratch, ld, problem.m * ld, Element::F32};
    } else if (cuda_f32_has_rows(problem)) {
      p.epilogue = row_epilogue(call);
    }
    p.tile_rows = static_cast<std::uint32_t>(ceil_div(problem.m, tile.rows));
    p.tile_cols = static_cast<std::uint32_t>(ceil_div(problem.n, tile.cols));
    p.splits = splits;
    p.in_cluster = in_cluster;
    p.a_along_k = problem.a.column_stride < problem.a.row_stride;
    p.b_along_k = problem.b.row_stride < problem.b.column_stride;
    p.only_if = only_if;
    const void* const kernel =
        gemm_f32_kernel(static_cast<int>(&tile - kF32Tiles),
                        load_of(operands.a, problem.a.row_stride, problem.a.column_stride,
                                problem.k, problem.batch, problem.a.batch_stride),
                        load_of(operands.b, problem.b.column_stride, problem.b.row_stride,
                                problem.k, problem.batch, problem.b.batch_stride));
    std::int64_t units = tiles() * splits * problem.batch;
    // What will likely do nothing is over sooner with few blocks.
    if (only_if != nullptr)
      units = std::min<std::int64_t>(units, std::int64_t{tile.blocks} * lowering.multiprocessors);
    // Blocks that are set up while others run would not be spread evenly: with more than one a
    // multiprocessor 768 cubed took 45 us instead of 36.
    const bool waits_itself = in_cluster && units <= lowering.multiprocessors;
    return sink.add({.function = kernel,
                     .grid = static_cast<unsigned>(units),
                     .block = static_cast<unsigned>(f32_threads(tile)),
                     .shared = static_cast<unsigned>(f32_shared_bytes(tile)),
                     .cluster = in_cluster ? static_cast<unsigned>(splits) : 1U,
                     .waits_itself = waits_itself,
                     .params = &p});
  }
};

Status lower_pieces(const GemmCall& call, int splits, bool in_cluster, const std::uint32_t* only_if,
                    const Lowering& lowering, LaunchSink& sink) noexcept {
  const GemmProblem& problem = call.problem;
  const F32Tile& tile = kF32Tiles[std::max(cuda_f32_tile(*call.selection.kernel), 0)];
  const Product whole{call, tile, splits, in_cluster, only_if, lowering};
  const std::int64_t tiles = whole.tiles() * splits;
  if (tiles * problem.batch <= kMaxUnits) return whole.add(sink);
  const std::int64_t step = std::max<std::int64_t>(kMaxUnits / tiles, 1);
  return lower_in_pieces(
      call, {step, problem.m, problem.n}, [&](const GemmCall& part, const PieceOfC&) {
        return Product{part, tile, splits, in_cluster, only_if, lowering}.add(sink);
      });
}

}  // namespace

SimtParams simt_params(const GemmCall& call) noexcept {
  const GemmProblem& problem = call.problem;
  const GemmOperands& operands = call.operands;
  SimtParams p;
  p.a = strided(operands.a, problem.a);
  p.b = strided(operands.b, problem.b);
  p.c = strided(operands.c, problem.c);
  if (problem.residual) p.residual = strided(operands.residual, *problem.residual);
  p.bias = strided(operands.bias, problem.bias);
  p.a_scale = strided(operands.a_scale, problem.a_scale);
  p.b_scale = strided(operands.b_scale, problem.b_scale);
  p.alpha = {problem.alpha.value, operands.alpha};
  p.beta = {problem.beta.value, operands.beta};
  p.m = problem.m;
  p.n = problem.n;
  p.k = problem.skips_product() ? 0 : problem.k;
  p.batch = problem.batch;
  p.reads_c = problem.reads_c();
  p.activation = static_cast<std::uint8_t>(problem.activation);
  return p;
}

EpilogueParams row_epilogue(const GemmCall& call) noexcept {
  const GemmProblem& problem = call.problem;
  const GemmOperands& operands = call.operands;
  EpilogueParams e;
  e.out = {operands.c, problem.c.row_stride, problem.c.batch_stride, element_of(problem.c.dtype)};
  if (problem.reads_c()) {
    e.c = e.out;
    e.beta = {problem.beta.value, operands.beta};
  }
  if (problem.residual) {
    const MatrixLayout& x = *problem.residual;
    e.residual = {const_cast<std::byte*>(operands.residual), x.row_stride, x.batch_stride,
                  element_of(x.dtype)};
  }
  if (problem.bias) {
    e.bias = {operands.bias, problem.bias->batch_stride, element_of(problem.bias->dtype)};
  }
  e.activation = static_cast<ActivationKind>(problem.activation);
  if (problem.skips_product()) return e;  // the sum is 0, whatever its factors
  e.alpha = {problem.alpha.value, operands.alpha};
  if (problem.a_scale) {
    e.row_scale = {operands.a_scale, problem.a_scale->batch_stride, Element::F32,
                   problem.a_scale->stride};
  }
  if (problem.b_scale) {
    e.col_scale = {operands.b_scale, problem.b_scale->batch_stride, Element::F32,
                   problem.b_scale->stride};
  }
  return e;
}

Status lower_f32(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  const GemmProblem& problem = call.problem;
  const int splits = call.selection.split_k;
  const bool in_cluster = call.selection.split_kind == SplitKind::Cluster;
  GIRIH_TRY(lower_pieces(call, splits, in_cluster, nullptr, lowering, sink));
  if (splits == 1 || in_cluster) return {};
  const SplitReduceParams params{row_epilogue(call),
                                 reinterpret_cast<const float*>(call.scratch),
                                 cuda_f32_partial_ld(problem),
                                 problem.m,
                                 problem.n,
                                 problem.batch,
                                 splits};
  return sink.add({.function = gemm_split_reduce_kernel(),
                   .grid = split_reduce_grid(problem.batch, problem.m, problem.n, splits,
                                             lowering.multiprocessors),
                   .block = 128,
                   .waits_itself = true,
                   .params = &params});
}

Status lower_f32_if(const GemmCall& call, const std::uint32_t* only_if, const Lowering& lowering,
                    LaunchSink& sink) noexcept {
  return lower_pieces(call, 1, false, only_if, lowering, sink);
}

}  // namespace girih::inline v0::cuda
