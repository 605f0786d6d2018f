#include <algorithm>
#include <bit>

#include "backends/cuda/device.hpp"
#include "backends/cuda/gemm_finish.hpp"
#include "backends/cuda/kernels/grouped_kernels.hpp"
#include "backends/cuda/launch.hpp"
#include "backends/cuda/strided.hpp"
#include "core/checked.hpp"
#include "plan/cuda_gemm_layout.hpp"
#include "plan/cuda_grouped.hpp"

namespace girih::inline v0::cuda {
namespace {

GroupedGate gate_of(const GemmProblem& product) noexcept {
  if (!product.gate) return GroupedGate::None;
  return product.gate->order == GateOrder::Concatenated ? GroupedGate::Concatenated
                                                        : GroupedGate::Interleaved;
}

/// The row's place among the grouped rows of the matrix unit.
int tile_number(const KernelInfo& kernel) noexcept {
  const std::span<const KernelInfo> rows = kernel_table();
  const auto first = std::find_if(rows.begin(), rows.end(), [](const KernelInfo& row) {
    return row.op == Op::GroupedGemm && row.form != TileForm::None;
  });
  return static_cast<int>(&kernel - &*first);
}

/// One grouped product on its way to kernels: the table of units, then the product.
class LoweredGroups {
 public:
  LoweredGroups(const GroupedGemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept
      : call_(call),
        problem_(call.problem),
        product_(call.problem.product),
        lowering_(lowering),
        sink_(sink),
        by_depth_(call.problem.extent == GroupedExtent::Depth),
        unit_rows_(call.selection.kernel->tile_m),
        table_(cuda_grouped_table(call.problem, unit_rows_)) {}

  Status run() noexcept {
    GIRIH_TRY(add_table());
    return call_.selection.kernel->form == TileForm::None ? add_simt() : add_wgmma();
  }

 private:
  [[nodiscard]] GroupedHeader* header() const noexcept {
    return reinterpret_cast<GroupedHeader*>(call_.scratch);
  }
  [[nodiscard]] GroupedUnit* units() const noexcept {
    return reinterpret_cast<GroupedUnit*>(call_.scratch + table_.units_at);
  }

  /// Whether tiles of rows begin where tensor copies of A can.
  [[nodiscard]] bool begins_early() const noexcept {
    return call_.selection.kernel->form != TileForm::None &&
           cuda_operand_a(product_).major == Major::MN;
  }

  Status add_table() noexcept {
    GroupedTableParams p;
    p.offsets = call_.operands.offsets;
    p.offset_stride = problem_.offset_stride;
    p.groups = problem_.groups();
    p.rows = problem_.rows();
    p.unit_rows = by_depth_ ? 0 : static_cast<std::int32_t>(unit_rows_);
    p.row_align = begins_early() ? kCopyRows : 1;
    p.header = header();
    p.units = units();
    p.firsts = reinterpret_cast<std::int32_t*>(call_.scratch + table_.firsts_at);
    p.finding = lowering_.finding;
    return sink_.add({.function = grouped_table_kernel(),
                      .block = kGroupedTableThreads,
                      .waits_itself = true,
                      .params = &p});
  }

  /// Units of one column tile in all, at most.
  [[nodiscard]] std::int64_t most_units() const noexcept {
    return by_depth_ ? problem_.groups() * ceil_div(product_.m, unit_rows_) : table_.most_units;
  }

  Status add_simt() noexcept {
    const GemmOperands& operands = call_.operands.product;
    GroupedSimtParams params;
    SimtParams& p = params.product;
    p.a = strided(operands.a, product_.a);
    p.b = strided(operands.b, product_.b);
    p.c = strided(operands.c, product_.c);
    if (product_.residual) p.residual = strided(operands.residual, *product_.residual);
    p.bias = strided(operands.bias, product_.bias);
    p.a_scale = strided(operands.a_scale, product_.a_scale);
    p.b_scale = strided(operands.b_scale, product_.b_scale);
    p.alpha = {product_.alpha.value, operands.alpha};
    p.beta = {product_.beta.value, operands.beta};
    p.m = product_.m;
    p.n = product_.c_columns();
    p.k = product_.skips_product() ? 0 : product_.k;
    p.batch = problem_.groups();
    p.reads_c = product_.reads_c();
    p.activation = static_cast<std::uint8_t>(product_.activation);
    params.header = header();
    params.units = units();
    params.offsets = call_.operands.offsets;
    params.offset_stride = problem_.offset_stride;
    params.by_depth = by_depth_;
    params.gated = gate_of(product_);
    if (product_.gate) params.gate = gate_terms(*product_.gate);
    const std::int64_t columns = ceil_div(p.n, product_.gate ? kSimtTile / 2 : kSimtTile);
    const std::int64_t most = std::int64_t{8} * lowering_.multiprocessors;
    return sink_.add({.function = grouped_simt_kernel(product_.a.dtype == DType::I8),
                      .grid = static_cast<unsigned>(std::min(most_units() * columns, most)),
                      .block = 256,
                      .waits_itself = true,
                      .params = &params});
  }

  void set_epilogue(EpilogueParams& e) const noexcept {
    const GemmOperands& operands = call_.operands.product;
    const MatrixLayout& c = product_.c;
    e.out = {operands.c, c.row_stride, c.batch_stride, element_of(c.dtype)};
    if (product_.reads_c()) {
      e.c = e.out;
      e.beta = {product_.beta.value, operands.beta};
    }
    if (product_.residual) {
      const MatrixLayout& x = *product_.residual;
      e.residual = {const_cast<std::byte*>(operands.residual), x.row_stride, x.batch_stride,
                    element_of(x.dtype)};
    }
    if (product_.bias) {
      e.bias = {operands.bias, product_.bias->batch_stride, element_of(product_.bias->dtype)};
    }
    e.activation = static_cast<ActivationKind>(product_.activation);
    e.alpha = {product_.alpha.value, operands.alpha};
    if (product_.a_scale) {
      e.row_scale = {operands.a_scale, product_.a_scale->batch_stride, Element::F32,
                     product_.a_scale->stride};
    }
    if (product_.b_scale) {
      e.col_scale = {operands.b_scale, product_.b_scale->batch_stride, Element::F32,
                     product_.b_scale->stride};
    }
  }

  /// See GroupedStore for what each needs.
  [[nodiscard]] GroupedStore store_of(const EpilogueParams& e) const noexcept {
    if (e.residual.data != nullptr || e.row_scale.data != nullptr || e.col_scale.data != nullptr) {
      return GroupedStore::General;
    }
    const std::int64_t step = e.out.type == Element::F32 ? 2 : 8;
    const bool pieces = product_.c.alignment % (step * element_bytes(e.out.type)) == 0 &&
                        e.out.ld % step == 0 && e.out.batch_stride % step == 0;
    if (!pieces) return GroupedStore::General;
    if (e.out.type == Element::F32) {
      const bool plain = e.bias.data == nullptr && e.activation == ActivationKind::None;
      return plain && !product_.gate ? GroupedStore::Fragments : GroupedStore::General;
    }
    const bool packs = e.c.data == nullptr && product_.c_columns() % step == 0;
    return packs ? GroupedStore::Packed : GroupedStore::General;
  }

  /// Leaves the map empty where there is nothing to encode it with, see Lowering.
  Status encode(CUtensorMap& map, const std::byte* data, const CudaOperand& x, std::int64_t k,
                Box box) noexcept {
    if (lowering_.maps == nullptr) return {};
    const bool k_major = x.major == Major::K, single = x.batch_stride == 0;
    const Element type = element_of(product_.a.dtype);
    const std::int64_t bytes = element_bytes(type);
    return lowering_.maps->get({.data = data,
                                .extents = {k_major ? k : x.extent, k_major ? x.extent : k,
                                            single ? 1 : problem_.groups()},
                                .strides = {x.ld * bytes, (single ? x.ld : x.batch_stride) * bytes},
                                .box = {box.inner, box.outer},
                                .type = type},
                               map);
  }

  Status add_wgmma() noexcept {
    const int number = tile_number(*call_.selection.kernel);
    const TileConfig tile = kGroupedTiles[number];
    const CudaOperand a = cuda_operand_a(product_), b = cuda_operand_b(product_);
    const GroupedGate gate = gate_of(product_);
    GroupedParams p;
    GIRIH_TRY(encode(p.a, call_.operands.product.a, a, product_.k,
                     operand_box(a.major, tile.rows, tile.depth, 1, 2)));
    // Of a gate's halves that lie apart a box holds one.
    const bool halves = gate == GroupedGate::Concatenated && b.major == Major::K;
    GIRIH_TRY(encode(p.b, call_.operands.product.b, b, product_.k,
                     operand_box(b.major, tile.cols, tile.depth, halves ? 2 : 1, 2)));
    set_epilogue(p.epilogue);
    p.header = header();
    p.units = units();
    p.offsets = call_.operands.offsets;
    p.offset_stride = problem_.offset_stride;
    p.rows = product_.m;
    p.columns = product_.c_columns();
    p.groups = static_cast<std::int32_t>(problem_.groups());
    p.k_stages = static_cast<std::int32_t>(ceil_div(product_.k, tile.depth));
    p.row_tiles = static_cast<std::int32_t>(ceil_div(product_.m, unit_rows_));
    const auto column_tiles = static_cast<std::uint32_t>(
        ceil_div(p.columns, gate == GroupedGate::None ? tile.cols : tile.cols / 2));
    p.column_tiles = make_divisor(column_tiles);
    p.band = make_divisor(kGroupedBand * column_tiles);
    p.plane = make_divisor(static_cast<std::uint32_t>(p.row_tiles) * column_tiles);
    p.b_grouped = b.batch_stride != 0;
    p.store = store_of(p.epilogue);
    p.gated = gate;
    if (product_.gate) p.gate = gate_terms(*product_.gate);
    const std::int64_t blocks =
        std::min<std::int64_t>(most_units() * column_tiles, lowering_.multiprocessors);
    return sink_.add({.function = grouped_wgmma_kernel(number, element_of(product_.a.dtype),
                                                       a.major, b.major, by_depth_),
                      .grid = static_cast<unsigned>(blocks),
                      .block = static_cast<unsigned>(tile_threads(tile)),
                      .shared = static_cast<unsigned>(shared_bytes(tile, a.major, b.major)),
                      .waits_itself = true,
                      .params = &p});
  }

  const GroupedGemmCall& call_;
  const GroupedGemmProblem& problem_;
  const GemmProblem& product_;
  const Lowering& lowering_;
  LaunchSink& sink_;
  const bool by_depth_;
  const std::int64_t unit_rows_;
  const CudaGroupedTable table_;
};

}  // namespace

Status lower(const GroupedGemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  return LoweredGroups(call, lowering, sink).run();
}

}  // namespace girih::inline v0::cuda
