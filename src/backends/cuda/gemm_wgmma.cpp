#include "backends/cuda/gemm_wgmma.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "backends/cuda/device.hpp"
#include "backends/cuda/gemm_finish.hpp"
#include "backends/cuda/gemm_pieces.hpp"
#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "core/checked.hpp"
#include "plan/cuda_gemm_finish.hpp"
#include "plan/cuda_gemm_layout.hpp"

namespace girih::inline v0::cuda {
namespace {

static_assert(static_cast<int>(ActivationKind::Relu) == static_cast<int>(Activation::Relu) &&
              static_cast<int>(ActivationKind::GeluTanh) ==
                  static_cast<int>(Activation::GeluTanh) &&
              static_cast<int>(ActivationKind::Silu) == static_cast<int>(Activation::Silu));

/// An operand where tensor copies can read it.
struct Side {
  const void* data = nullptr;
  CudaOperand layout;
};

/// One product on its way to kernels.
class Lowered {
 public:
  /// `packs_a`: false if a packed A is in the workspace already.
  Lowered(const GemmCall& call, bool packs_a, const Lowering& lowering, LaunchSink& sink) noexcept
      : call_(call),
        problem_(call.problem),
        packs_a_(packs_a),
        lowering_(lowering),
        sink_(sink),
        tile_number_(static_cast<int>(call.selection.kernel - kernel_table().data())),
        tile_(kTiles[tile_number_]),
        splits_(call.selection.split_kind == SplitKind::Workspace ? call.selection.split_k : 1),
        layout_(cuda_gemm_layout(call.problem, splits_)) {}

  Status run() noexcept {
    GIRIH_TRY(move_terms_in());
    set_epilogue();
    if (problem_.skips_product()) {
      GIRIH_TRY(add_reduction(0));
    } else {
      GIRIH_TRY(move_operands_in());
      GIRIH_TRY(add_product());
      if (splits_ > 1) GIRIH_TRY(add_reduction(splits_));
    }
    return layout_.stages_c ? copy_c(true) : Status();
  }

 private:
  [[nodiscard]] std::byte* workspace(std::int64_t at) const noexcept { return call_.scratch + at; }
  [[nodiscard]] std::int64_t products(std::int64_t batch_stride) const noexcept {
    return batch_stride != 0 ? problem_.batch : 1;
  }

  Status copy(const std::byte* source, std::byte* destination, DType dtype,
              std::array<MoveDimension, 3> dimensions) noexcept {
    // Threads walk along what the source has contiguous.
    if (dimensions[1].source == 1 && dimensions[2].source != 1) {
      std::swap(dimensions[1], dimensions[2]);
    }
    return add_copy(source, destination, dtype, dimensions, lowering_.multiprocessors, sink_);
  }

  /// Between C and its row-major copy.
  Status copy_c(bool out) noexcept {
    std::array<MoveDimension, 3> dimensions = {
        MoveDimension{problem_.batch, problem_.c.batch_stride, layout_.c_batch_stride},
        MoveDimension{problem_.m, problem_.c.row_stride, layout_.c_ld},
        MoveDimension{problem_.n, problem_.c.column_stride, 1}};
    std::byte* source = call_.operands.c;
    std::byte* destination = workspace(layout_.c_at);
    if (out) {
      std::swap(source, destination);
      for (MoveDimension& d : dimensions) std::swap(d.source, d.destination);
    }
    return copy(source, destination, problem_.c.dtype, dimensions);
  }

  Status move_terms_in() noexcept {
    const std::int64_t m = problem_.m, n = problem_.n;
    if (layout_.stages_c && problem_.reads_c()) GIRIH_TRY(copy_c(false));
    if (layout_.packs_residual) {
      const MatrixLayout& x = *problem_.residual;
      GIRIH_TRY(copy(call_.operands.residual, workspace(layout_.residual_at), x.dtype,
                     {MoveDimension{problem_.batch, x.batch_stride, m * n},
                      MoveDimension{m, x.row_stride, n}, MoveDimension{n, x.column_stride, 1}}));
    }
    if (layout_.packs_bias) {
      const VectorLayout& x = *problem_.bias;
      GIRIH_TRY(
          copy(call_.operands.bias, workspace(layout_.bias_at), x.dtype,
               {MoveDimension{1, 0, 0}, MoveDimension{products(x.batch_stride), x.batch_stride, n},
                MoveDimension{n, x.stride, 1}}));
    }
    return {};
  }

  void set_epilogue() noexcept {
    const GemmOperands& operands = call_.operands;
    EpilogueParams& e = epilogue_;
    std::byte* const out = layout_.stages_c ? workspace(layout_.c_at) : operands.c;
    e.out = {out, layout_.c_ld, layout_.c_batch_stride, element_of(problem_.c.dtype)};
    if (problem_.reads_c()) {
      e.c = e.out;
      e.beta = {problem_.beta.value, operands.beta};
    }
    if (problem_.residual) {
      const MatrixLayout& x = *problem_.residual;
      const Element type = element_of(x.dtype);
      e.residual = layout_.packs_residual ? MatrixRef{workspace(layout_.residual_at), problem_.n,
                                                      problem_.m * problem_.n, type}
                                          : MatrixRef{const_cast<std::byte*>(operands.residual),
                                                      x.row_stride, x.batch_stride, type};
    }
    if (problem_.bias) {
      const VectorLayout& x = *problem_.bias;
      const std::int64_t packed_stride = x.batch_stride != 0 ? problem_.n : 0;
      e.bias = {layout_.packs_bias ? workspace(layout_.bias_at) : operands.bias,
                layout_.packs_bias ? packed_stride : x.batch_stride, element_of(x.dtype)};
    }
    e.activation = static_cast<ActivationKind>(problem_.activation);
    if (problem_.skips_product()) return;  // the sum is 0, whatever its factors
    e.alpha = {problem_.alpha.value, operands.alpha};
    if (problem_.a_scale && !problem_.a_scale->is_blocked) {
      e.row_scale = {operands.a_scale, problem_.a_scale->batch_stride, Element::F32,
                     problem_.a_scale->stride};
    }
    if (problem_.b_scale && !problem_.b_scale->is_blocked) {
      e.col_scale = {operands.b_scale, problem_.b_scale->batch_stride, Element::F32,
                     problem_.b_scale->stride};
    }
  }

  Status move_in(const CudaOperand& to, const std::byte* source, std::int64_t at,
                 const MatrixLayout& x, std::int64_t extent_stride, std::int64_t k_stride,
                 bool packs, Side& side) noexcept {
    side = {source, to};
    if (!to.packed) return {};
    std::byte* const packed = workspace(at);
    side.data = packed;
    if (!packs) return {};
    const bool k_major = to.major == Major::K;
    return copy(source, packed, x.dtype,
                {MoveDimension{products(to.batch_stride), x.batch_stride, to.batch_stride},
                 MoveDimension{to.extent, extent_stride, k_major ? to.ld : 1},
                 MoveDimension{problem_.k, k_stride, k_major ? 1 : to.ld}});
  }

  Status move_operands_in() noexcept {
    GIRIH_TRY(move_in(layout_.a, call_.operands.a, layout_.a_at, problem_.a, problem_.a.row_stride,
                      problem_.a.column_stride, packs_a_, a_));
    return move_in(layout_.b, call_.operands.b, layout_.b_at, problem_.b, problem_.b.column_stride,
                   problem_.b.row_stride, true, b_);
  }

  /// Matrices `stride` apart. Leaves the map empty where there is nothing to encode it with, see
  /// Lowering.
  Status encode(CUtensorMap& map, const void* data, Element type, std::int64_t inner,
                std::int64_t outer, std::int64_t ld, std::int64_t matrices, std::int64_t stride,
                Box box) noexcept {
    if (lowering_.maps == nullptr) return {};
    const std::int64_t bytes = element_bytes(type);
    const bool single = matrices == 1 || stride == 0;
    return lowering_.maps->get({.data = data,
                                .extents = {inner, outer, single ? 1 : matrices},
                                .strides = {ld * bytes, (single ? ld : stride) * bytes},
                                .box = {box.inner, box.outer},
                                .type = type},
                               map);
  }

  [[nodiscard]] bool sums_integers() const noexcept { return problem_.a.dtype == DType::I8; }

  /// What a tile of f32 operands multiplies is tf32.
  [[nodiscard]] Element operand_element() const noexcept {
    const Element type = element_of(problem_.a.dtype);
    return type == Element::F32 ? Element::TF32 : type;
  }

  Status encode_operand(CUtensorMap& map, const Side& side, int extent, int share) noexcept {
    const CudaOperand& x = side.layout;
    const bool k_major = x.major == Major::K;
    return encode(map, side.data, operand_element(), k_major ? problem_.k : x.extent,
                  k_major ? x.extent : problem_.k, x.ld, problem_.batch, x.batch_stride,
                  operand_box(x.major, extent, tile_.depth, share, tile_.bytes));
  }

  /// B as two matrices, each of half a tile's columns.
  Status encode_halves(CUtensorMap& map, const CudaGateHalves& halves) noexcept {
    const bool k_major = halves.major == Major::K;
    const std::int64_t extent = problem_.c_columns(), k = problem_.k;
    return encode(map, b_.data, element_of(problem_.a.dtype), k_major ? k : extent,
                  k_major ? extent : k, halves.ld, 2, halves.stride,
                  operand_box(halves.major, tile_.cols, tile_.depth, k_major ? 2 : 1, tile_.bytes));
  }

  void set_block_scales(GemmParams& p) const noexcept {
    if (problem_.a_scale && problem_.a_scale->is_blocked) {
      const VectorLayout& x = *problem_.a_scale;
      p.row_factors = {call_.operands.a_scale, x.stride, x.k_stride};
    }
    if (problem_.b_scale && problem_.b_scale->is_blocked) {
      const VectorLayout& x = *problem_.b_scale;
      p.col_factors = {call_.operands.b_scale, x.stride, x.k_stride,
                       std::countr_zero(static_cast<std::uint64_t>(x.extent))};
    }
  }

  void set_gate(GemmParams& p) const noexcept {
    const Gate& gate = *problem_.gate;
    const bool alternate = gate.order == GateOrder::Interleaved;
    p.gate = gate_terms(gate);
    p.gate_half = alternate ? 1 : problem_.c_columns();
    p.gate_step = alternate ? 2 : 1;
    p.store = StoreMode::GatedBoxes;
  }

  /// See StoreMode for what each needs.
  [[nodiscard]] static StoreMode store_mode(const TileConfig& tile, const EpilogueParams& e,
                                            std::int64_t n, bool transposed) noexcept {
    const bool scaled = e.row_scale.data != nullptr || e.col_scale.data != nullptr;
    if (e.c.data != nullptr || e.residual.data != nullptr || (scaled && !scales_in_boxes(tile))) {
      return StoreMode::General;
    }
    const bool alpha_alone =
        e.bias.data == nullptr && e.activation == ActivationKind::None && !scaled;
    const auto base = std::bit_cast<std::uintptr_t>(e.out.data);
    if (e.out.type == Element::F32 || e.out.type == Element::I32) {
      const bool pairs = base % 8 == 0 && e.out.ld % 2 == 0 && e.out.batch_stride % 2 == 0;
      return alpha_alone && (transposed || pairs) ? StoreMode::Fragments : StoreMode::General;
    }
    const bool boxes = n % 8 == 0 && base % 16 == 0 && e.out.ld % 8 == 0 && e.out.ld >= n &&
                       e.out.batch_stride % 8 == 0;
    if (!boxes) return StoreMode::General;
    return alpha_alone ? StoreMode::Boxes : StoreMode::FusedBoxes;
  }

  void set_order(GemmParams& p) const noexcept {
    const GemmSelection& s = call_.selection;
    const auto units = [](std::int64_t extent, int step) {
      return static_cast<std::uint32_t>(ceil_div(extent, step));
    };
    const TileBands bands{s.band, s.traversal == Traversal::ColumnMajor};
    p.cluster_rows = s.cluster_rows;
    p.cluster_cols = s.cluster_columns;
    p.cluster_split = s.split_kind == SplitKind::Cluster ? s.split_k : 1;
    p.order = make_tile_order(units(p.rows, tile_.rows * p.cluster_rows),
                              units(p.cols, tile_.cols * p.cluster_cols),
                              static_cast<std::uint32_t>(problem_.batch), splits_, p.cluster_split,
                              static_cast<int>(ceil_div(problem_.k, tile_.depth)), bands);
    const auto blocks = static_cast<unsigned>(p.cluster_rows * p.cluster_cols * p.cluster_split);
    p.cluster_shift = std::countr_zero(blocks);
  }

  /// A cluster that splits K makes one unit. Of the others there are as few as make the same number
  /// of turns as all that are resident would: 224 units in two turns of 112 multiprocessors, not of
  /// 132 and then 92.
  [[nodiscard]] std::uint32_t clusters(const GemmParams& p) const noexcept {
    const std::uint32_t units = p.order.units;
    if (p.cluster_split > 1) return units;
    const std::int64_t resident = std::max(lowering_.multiprocessors >> p.cluster_shift, 1);
    return static_cast<std::uint32_t>(ceil_div(units, ceil_div(units, resident)));
  }

  Status add_product() noexcept {
    const bool swapped = call_.selection.swaps_sides;
    const Side& rows = swapped ? b_ : a_;
    const Side& cols = swapped ? a_ : b_;
    GemmParams p;
    GIRIH_TRY(encode_operand(p.a, rows, tile_.rows, call_.selection.cluster_columns));
    const auto halves =
        problem_.gate ? cuda_gate_halves(problem_, *call_.selection.kernel) : std::nullopt;
    GIRIH_TRY(halves ? encode_halves(p.b, *halves)
                     : encode_operand(p.b, cols, tile_.cols, call_.selection.cluster_rows));
    p.rows = rows.layout.extent;
    p.cols = cols.layout.extent;
    p.batch = problem_.batch;
    set_order(p);
    p.a_batched = problem_.batch > 1 && rows.layout.batch_stride != 0;
    p.b_batched = problem_.batch > 1 && cols.layout.batch_stride != 0;
    p.transposed = swapped;
    p.epilogue = epilogue_;
    if (splits_ > 1) {
      p.epilogue = {};
      p.epilogue.out = {workspace(layout_.partials_at), layout_.partial_ld,
                        problem_.m * layout_.partial_ld,
                        sums_integers() ? Element::I32 : Element::F32};
    }
    p.store = store_mode(tile_, p.epilogue, problem_.n, swapped);
    if (halves) set_gate(p);
    set_block_scales(p);
    if (p.store != StoreMode::General && p.store != StoreMode::Fragments) {
      const MatrixRef& out = p.epilogue.out;
      GIRIH_TRY(encode(p.out, out.data, out.type, problem_.c_columns(), problem_.m, out.ld,
                       problem_.batch, out.batch_stride, output_box(tile_, swapped)));
    }
    const void* const kernel =
        gemm_wgmma_kernel(tile_number_, operand_element(), rows.layout.major, cols.layout.major);
    const int shared = shared_bytes(tile_, rows.layout.major, cols.layout.major);
    const auto blocks = 1U << p.cluster_shift;
    return sink_.add({.function = kernel,
                      .grid = clusters(p) * blocks,
                      .block = static_cast<unsigned>(tile_threads(tile_)),
                      .shared = static_cast<unsigned>(shared),
                      .cluster = blocks,
                      .waits_itself = true,
                      .params = &p});
  }

  Status add_reduction(int splits) noexcept {
    const SplitReduceParams params{epilogue_,
                                   splits > 0 ? workspace(layout_.partials_at) : nullptr,
                                   layout_.partial_ld,
                                   problem_.m,
                                   problem_.n,
                                   problem_.batch,
                                   splits};
    return sink_.add({.function = gemm_split_reduce_kernel(sums_integers()),
                      .grid = split_reduce_grid(problem_.batch, problem_.m, problem_.n, splits,
                                                lowering_.multiprocessors),
                      .block = 128,
                      .waits_itself = true,
                      .params = &params});
  }

  const GemmCall& call_;
  const GemmProblem& problem_;
  const bool packs_a_;
  const Lowering& lowering_;
  LaunchSink& sink_;
  const int tile_number_;
  const TileConfig tile_;
  const int splits_;
  const CudaGemmLayout layout_;
  EpilogueParams epilogue_;
  Side a_, b_;
};

}  // namespace

Status lower_wgmma(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  const GemmProblem& problem = call.problem;
  const bool through_workspace = call.selection.split_kind == SplitKind::Workspace;
  const CudaGemmPieces step =
      cuda_gemm_pieces(problem, through_workspace ? call.selection.split_k : 1);
  if (step.batch == problem.batch && step.m == problem.m && step.n == problem.n) {
    return Lowered(call, true, lowering, sink).run();
  }
  return lower_in_pieces(call, {step.batch, step.m, step.n},
                         [&](const GemmCall& part, const PieceOfC& piece) {
                           return Lowered(part, piece.n == 0, lowering, sink).run();
                         });
}

}  // namespace girih::inline v0::cuda
