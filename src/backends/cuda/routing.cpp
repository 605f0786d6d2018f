#include <algorithm>
#include <bit>

#include "backends/cuda/kernels/routing_kernels.hpp"
#include "backends/cuda/launch.hpp"
#include "core/checked.hpp"
#include "plan/cuda_routing.hpp"

namespace girih::inline v0::cuda {
namespace {

static_assert(static_cast<int>(RouterWeights::SoftmaxOfAll) == 1 &&
              static_cast<int>(RouterWeights::Sigmoid) == 2 &&
              static_cast<int>(RouterWeights::SigmoidOfChosen) == 3);

RowsRef rows_ref(const void* data, const RowsLayout& x) noexcept {
  return {const_cast<void*>(data), x.row_stride, x.column_stride, element_of(x.dtype)};
}

/// Whether rows of `columns` elements are whole pieces of 16 bytes.
bool has_pieces(const void* data, const RowsLayout& x, std::int64_t columns) noexcept {
  const std::int64_t bytes = bit_width(x.dtype) / 8;
  return (columns <= 1 || x.column_stride == 1) && columns * bytes % 16 == 0 &&
         x.row_stride * bytes % 16 == 0 && std::bit_cast<std::uintptr_t>(data) % 16 == 0;
}

/// What is to be checked of a call's indices, before and while rows move.
struct Indices {
  RowsRef data;
  std::int64_t rows = 0, columns = 1;
  std::int64_t limit = 0;
  FindingKind kind = FindingKind::Source;
};

Status add_check(const Indices& x, std::byte* scratch, const Lowering& lowering, LaunchSink& sink,
                 IndexCheck& check) noexcept {
  auto* const found = reinterpret_cast<std::uint64_t*>(scratch);
  const auto blocks = static_cast<unsigned>(index_check_blocks(x.rows * x.columns));
  check = {.found = found,
           .blocks = static_cast<std::int32_t>(blocks),
           .kind = x.kind,
           .limit = x.limit,
           .per = std::max<std::int64_t>(x.columns, 1),
           .finding = lowering.finding};
  const IndexCheckParams params{
      .indices = x.data, .rows = x.rows, .columns = x.columns, .limit = x.limit, .found = found};
  return sink.add({.function = index_check_kernel(),
                   .grid = blocks,
                   .block = kRowThreads,
                   .waits_itself = true,
                   .params = &params});
}

/// A kernel whose warps take `units` segments in turn.
Status add_rows(const void* function, const void* params, std::int64_t units,
                const Lowering& lowering, LaunchSink& sink) noexcept {
  const std::int64_t most = std::int64_t{8} * lowering.multiprocessors;
  const std::int64_t blocks = std::clamp<std::int64_t>(ceil_div(units, kRowThreads / 32), 1, most);
  return sink.add({.function = function,
                   .grid = static_cast<unsigned>(blocks),
                   .block = kRowThreads,
                   .waits_itself = true,
                   .params = params});
}

}  // namespace

Status lower(const PermuteCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  const PermuteProblem& problem = call.problem;
  const PermuteOperands& operands = call.operands;
  PermuteParams p;
  p.sources = rows_ref(operands.sources, problem.sources);
  GIRIH_TRY(add_check({.data = p.sources, .rows = problem.rows, .limit = problem.tokens},
                      call.scratch, lowering, sink, p.check));
  p.x = rows_ref(operands.x, problem.x);
  p.y = rows_ref(operands.y, problem.y);
  p.rows = problem.rows;
  p.columns = problem.columns;
  p.bytes = bit_width(problem.x.dtype) / 8;
  p.in_pieces =
      has_pieces(operands.x, problem.x, p.columns) && has_pieces(operands.y, problem.y, p.columns);
  const std::int64_t segment = p.in_pieces ? kPermuteSegment * 16 / p.bytes : kRowSegment;
  return add_rows(permute_kernel(), &p, p.rows * ceil_div(p.columns, segment), lowering, sink);
}

Status lower(const UnpermuteCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  const UnpermuteProblem& problem = call.problem;
  const UnpermuteOperands& operands = call.operands;
  UnpermuteParams p;
  p.indices = rows_ref(operands.indices, problem.indices);
  GIRIH_TRY(add_check({.data = p.indices,
                       .rows = problem.tokens,
                       .columns = problem.k,
                       .limit = problem.rows,
                       .kind = FindingKind::Row},
                      call.scratch, lowering, sink, p.check));
  p.x = rows_ref(operands.x, problem.x);
  p.y = rows_ref(operands.y, problem.y);
  if (problem.weights) p.weights = rows_ref(operands.weights, *problem.weights);
  p.tokens = problem.tokens;
  p.k = problem.k;
  p.columns = problem.columns;
  p.x_in_pieces = has_pieces(operands.x, problem.x, p.columns);
  p.y_in_pieces = has_pieces(operands.y, problem.y, p.columns);
  return add_rows(unpermute_kernel(), &p, p.tokens * ceil_div(p.columns, std::int64_t{kRowSegment}),
                  lowering, sink);
}

Status lower(const RouteCall& call, const Lowering&, LaunchSink& sink) noexcept {
  const RouteProblem& problem = call.problem;
  const RouteOperands& operands = call.operands;
  RouteParams p;
  p.logits = rows_ref(operands.logits, problem.logits);
  p.chosen = rows_ref(operands.chosen, problem.chosen);
  p.weights = rows_ref(operands.weights, problem.weights);
  p.offsets = rows_ref(operands.offsets, problem.offsets);
  p.rows = rows_ref(operands.rows, problem.rows);
  p.sources = rows_ref(operands.sources, problem.sources);
  p.experts = problem.experts;
  p.k = problem.k;
  p.parts = call.selection.parts;
  p.least_tokens = problem.tokens / p.parts;
  p.longer_parts = problem.tokens % p.parts;
  p.kind = static_cast<std::int32_t>(problem.kind);
  p.scale = problem.scale;
  p.counts = reinterpret_cast<std::int32_t*>(call.scratch);
  const auto parts = static_cast<unsigned>(p.parts);
  const auto add = [&](const void* function, unsigned grid, unsigned block) {
    return sink.add(
        {.function = function, .grid = grid, .block = block, .waits_itself = true, .params = &p});
  };
  GIRIH_TRY(add(route_choose_kernel(), parts, kRouteThreads));
  GIRIH_TRY(add(route_scan_kernel(), 1, kRouteScanThreads));
  return add(route_place_kernel(), parts, kRoutePlaceThreads);
}

}  // namespace girih::inline v0::cuda
