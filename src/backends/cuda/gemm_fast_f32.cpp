#include "backends/cuda/gemm_fast_f32.hpp"

#include <algorithm>

#include "backends/cuda/device.hpp"
#include "backends/cuda/gemm_f32.hpp"
#include "backends/cuda/gemm_pieces.hpp"
#include "backends/cuda/kernels/fast_f32_params.hpp"
#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "backends/cuda/moves.hpp"
#include "core/checked.hpp"
#include "plan/cuda_fast_f32.hpp"

namespace girih::inline v0::cuda {
namespace {

static_assert(kFastDepth == kSplitTile && kFastParts == 3);

/// One piece of a product on its way to kernels.
class Lowered {
 public:
  /// `splits_a`: false if A's parts are in the workspace already.
  Lowered(const GemmCall& call, bool splits_a, const Lowering& lowering, LaunchSink& sink) noexcept
      : call_(call),
        problem_(call.problem),
        splits_a_(splits_a),
        lowering_(lowering),
        sink_(sink),
        layout_(cuda_fast_layout(call.problem)) {}

  Status run() noexcept {
    GIRIH_TRY(lower_flags());
    GIRIH_TRY(add_split());
    GIRIH_TRY(add_product());
    GemmCall exact = call_;
    exact.selection.kernel = cuda_fast_fallback(kernel_table());
    return lower_f32_if(exact, flags(), lowering_, sink_);
  }

 private:
  [[nodiscard]] std::uint32_t* flags() const noexcept {
    return reinterpret_cast<std::uint32_t*>(call_.scratch);
  }
  [[nodiscard]] std::uint16_t* parts(const CudaFastParts& x) const noexcept {
    return reinterpret_cast<std::uint16_t*>(call_.scratch + x.at);
  }

  /// A's stays as long as its parts do.
  Status lower_flags() noexcept {
    const MoveDimension words[] = {{splits_a_ ? 2 : 1, 1, 1}};
    return add_move({.op = Op::Fill,
                     .destination = reinterpret_cast<std::byte*>(flags() + (splits_a_ ? 0 : 1))},
                    words, lowering_.multiprocessors, sink_);
  }

  SplitOperand operand(const CudaFastParts& to, const std::byte* from, const MatrixLayout& x,
                       std::int64_t extent_stride, std::int64_t k_stride, int flag) const noexcept {
    const std::int64_t tiles_k = to.ld / kSplitTile,
                       tiles_extent = ceil_div(to.extent, std::int64_t{kSplitTile});
    SplitOperand o;
    o.from = reinterpret_cast<const float*>(from);
    o.to = parts(to);
    o.extent_stride = extent_stride;
    o.k_stride = k_stride;
    o.batch_stride = x.batch_stride;
    o.extent = to.extent;
    o.k = problem_.k;
    o.ld = to.ld;
    o.flag = flags() + flag;
    o.tiles = static_cast<std::uint32_t>(tiles_k * tiles_extent * to.matrices);
    o.tiles_k = make_divisor(static_cast<std::uint32_t>(tiles_k));
    o.tiles_extent = make_divisor(static_cast<std::uint32_t>(tiles_extent));
    return o;
  }

  Status add_split() noexcept {
    const GemmOperands& operands = call_.operands;
    SplitParams p;
    if (splits_a_) {
      p.operands[0] = operand(layout_.a, operands.a, problem_.a, problem_.a.row_stride,
                              problem_.a.column_stride, 0);
    }
    p.operands[1] = operand(layout_.b, operands.b, problem_.b, problem_.b.column_stride,
                            problem_.b.row_stride, 1);
    const std::uint32_t tiles = p.operands[0].tiles + p.operands[1].tiles;
    const auto most = static_cast<std::uint32_t>(8 * lowering_.multiprocessors);
    return sink_.add({.function = split_f32_kernel(),
                      .grid = std::min(tiles, most),
                      .block = kSplitThreads,
                      .waits_itself = true,
                      .params = &p});
  }

  Status encode(CUtensorMap& map, const CudaFastParts& x, int rows) noexcept {
    if (lowering_.maps == nullptr) return {};
    return lowering_.maps->get({.data = parts(x),
                                .extents = {x.ld, x.extent, kFastParts * x.matrices},
                                .strides = {2 * x.ld, 2 * x.ld * x.extent},
                                .box = {kFastDepth, rows},
                                .type = Element::BF16},
                               map);
  }

  /// Pairs of f32 that are whole, without any term of an epilogue but alpha.
  static bool stores_fragments(const EpilogueParams& e) noexcept {
    return e.out.type == Element::F32 && e.c.data == nullptr && e.residual.data == nullptr &&
           e.bias.data == nullptr && e.row_scale.data == nullptr && e.col_scale.data == nullptr &&
           e.activation == ActivationKind::None && e.out.ld % 2 == 0 &&
           e.out.batch_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(e.out.data) % 8 == 0;
  }

  Status add_product() noexcept {
    const int rows = static_cast<int>(call_.selection.kernel->tile_m);
    FastParams params;
    GemmParams& p = params.gemm;
    GIRIH_TRY(encode(p.a, layout_.a, rows));
    GIRIH_TRY(encode(p.b, layout_.b, kFastCols));
    p.epilogue = row_epilogue(call_);
    p.rows = problem_.m;
    p.cols = problem_.n;
    p.batch = problem_.batch;
    p.a_batched = layout_.a.matrices > 1;
    p.b_batched = layout_.b.matrices > 1;
    p.order = make_tile_order(
        static_cast<std::uint32_t>(ceil_div(p.rows, std::int64_t{rows})),
        static_cast<std::uint32_t>(ceil_div(p.cols, std::int64_t{kFastCols})),
        static_cast<std::uint32_t>(p.batch), 1, 1, static_cast<int>(layout_.a.ld / kFastDepth),
        {call_.selection.band, call_.selection.traversal == Traversal::ColumnMajor});
    p.store = stores_fragments(p.epilogue) ? StoreMode::Fragments : StoreMode::General;
    params.flags = flags();
    return sink_.add({.function = gemm_fast_f32_kernel(rows),
                      .grid = std::min<std::uint32_t>(
                          p.order.units, static_cast<std::uint32_t>(lowering_.multiprocessors)),
                      .block = static_cast<unsigned>(fast_threads(rows)),
                      .shared = static_cast<unsigned>(fast_shared_bytes(rows)),
                      .waits_itself = true,
                      .params = &params});
  }

  const GemmCall& call_;
  const GemmProblem& problem_;
  const bool splits_a_;
  const Lowering& lowering_;
  LaunchSink& sink_;
  const CudaFastLayout layout_;
};

}  // namespace

Status lower_fast_f32(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  const GemmProblem& problem = call.problem;
  if (problem.skips_product()) {
    GemmCall exact = call;
    exact.selection.kernel = cuda_fast_fallback(kernel_table());
    return lower_f32(exact, lowering, sink);
  }
  const CudaFastPieces step = cuda_fast_pieces(problem);
  return lower_in_pieces(call, {step.batch, step.m, step.n},
                         [&](const GemmCall& part, const PieceOfC& piece) {
                           return Lowered(part, piece.n == 0, lowering, sink).run();
                         });
}

}  // namespace girih::inline v0::cuda
