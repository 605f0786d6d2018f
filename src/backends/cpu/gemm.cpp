#include "backends/cpu/gemm.hpp"

#include <algorithm>

#include "backends/cpu/gemm_epilogue.hpp"
#include "backends/cpu/parallel.hpp"
#include "backends/cpu/table.hpp"
#include "core/checked.hpp"

// C is computed block by block. For each step of K, all threads pack the block's part of A and of B
// into the workspace; then they multiply: a task is a chunk of A's panels, small enough to stay in
// the second-level cache, times a range of B's, each of which stays in the first-level cache while
// the chunk passes over it. Between steps of K the sums wait in the workspace, tile by tile, as f32
// or i32, so that an element's chain of multiply-adds goes on where it stopped; after the last step
// the epilogue writes C.

namespace girih::inline v0::cpu {
namespace {

/// Half-open range of rows, columns or steps.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
};

Span part(std::int64_t index, std::int64_t size, std::int64_t limit) noexcept {
  return {index * size, std::min((index + 1) * size, limit)};
}

/// One product of the batch with its share of the workspace.
class Product {
 public:
  Product(const GemmCall& call, const DeviceInfo& device, Executor& executor, int threads,
          std::int64_t index, std::byte* scratch) noexcept;

  Status run() const;

 private:
  struct Block {
    Span m, n, k;
    bool first = false, last = false;  ///< of the steps along K
  };

  Status pack(const Block& block, bool keep_a) const;
  Status multiply(const Block& block) const;
  void multiply_chunk(const Block& block, Span row_panels, Span column_panels) const noexcept;
  void multiply_tile(const Block& block, std::int64_t p, std::int64_t q) const noexcept;

  /// Bytes of a panel `width` wide and `depth` deep.
  [[nodiscard]] std::int64_t panel_bytes(std::int64_t width, std::int64_t depth) const noexcept {
    return round_up(depth, row_.tile_k) * width * element_bytes_;
  }

  const GemmProblem& problem_;
  const GemmSelection& selection_;
  const KernelInfo& row_;
  const GemmKernel& code_;
  const DeviceInfo& device_;
  Executor& executor_;
  const int threads_;
  const std::byte* a_;
  const std::byte* b_;
  const Epilogue epilogue_;
  const std::int64_t element_bytes_;
  const bool writes_directly_;  ///< whole tiles go from registers to C
  std::byte* packed_a_;
  std::byte* packed_b_ = nullptr;
  std::byte* sums_ = nullptr;
};

Product::Product(const GemmCall& call, const DeviceInfo& device, Executor& executor, int threads,
                 std::int64_t index, std::byte* scratch) noexcept
    : problem_(call.problem),
      selection_(call.selection),
      row_(*call.selection.kernel),
      code_(*gemm_code(row_)),
      device_(device),
      executor_(executor),
      threads_(threads),
      a_(advance(call.operands.a, problem_.a.dtype, index * problem_.a.batch_stride)),
      b_(advance(call.operands.b, problem_.b.dtype, index * problem_.b.batch_stride)),
      epilogue_(epilogue_of(call, index)),
      element_bytes_(row_.reduction == Reduction::ExactI32 ? kPackedInt8Bytes : kPackedFloatBytes),
      writes_directly_(problem_.has_identity_epilogue() && problem_.c.dtype == DType::F32 &&
                       problem_.c.column_stride == 1 && !epilogue_.integer_sum),
      packed_a_(scratch) {
  if (problem_.skips_product()) return;  // no workspace
  packed_b_ = packed_a_ + round_up(selection_.block.m * selection_.block.k * element_bytes_, 64);
  sums_ = packed_b_ + round_up(selection_.block.n * selection_.block.k * element_bytes_, 64);
}

Status Product::run() const {
  const Blocking& block = selection_.block;
  const std::int64_t depth = problem_.skips_product() ? 0 : problem_.k;
  const std::int64_t steps = std::max(ceil_div(depth, block.k), std::int64_t{1});
  for (std::int64_t i = 0; i < ceil_div(problem_.m, block.m); ++i) {
    for (std::int64_t j = 0; j < ceil_div(problem_.n, block.n); ++j) {
      for (std::int64_t s = 0; s < steps; ++s) {
        const Block at = {.m = part(i, block.m, problem_.m),
                          .n = part(j, block.n, problem_.n),
                          .k = part(s, block.k, depth),
                          .first = s == 0,
                          .last = s + 1 == steps};
        // With one step along K, A's part stays packed for the next block of the same rows.
        if (depth > 0) GIRIH_TRY(pack(at, steps == 1 && j > 0));
        GIRIH_TRY(multiply(at));
      }
    }
  }
  return {};
}

Status Product::pack(const Block& block, bool keep_a) const {
  // About 32 KiB of panels a task: long beside a claim, short beside the region.
  const auto panels_per_task = [&](std::int64_t width) {
    return std::max(32 * 1024 / panel_bytes(width, block.k.size()), std::int64_t{1});
  };
  const std::int64_t a_group = panels_per_task(row_.tile_m) * row_.tile_m;
  const std::int64_t b_group = panels_per_task(row_.tile_n) * row_.tile_n;
  const std::int64_t a_tasks = keep_a ? 0 : ceil_div(block.m.size(), a_group);
  const std::int64_t b_tasks = ceil_div(block.n.size(), b_group);
  const auto work = [&](std::int64_t task, std::int64_t) noexcept {
    const bool is_a = task < a_tasks;
    const MatrixLayout& layout = is_a ? problem_.a : problem_.b;
    const std::int64_t across = is_a ? layout.row_stride : layout.column_stride;
    const std::int64_t along = is_a ? layout.column_stride : layout.row_stride;
    const Span whole = is_a ? block.m : block.n;
    const Span group =
        is_a ? part(task, a_group, whole.size()) : part(task - a_tasks, b_group, whole.size());
    const std::int64_t offset = (whole.begin + group.begin) * across + block.k.begin * along;
    const PackSource source = {.data = advance(is_a ? a_ : b_, layout.dtype, offset),
                               .type = element_of(layout.dtype),
                               .stride = across,
                               .depth_stride = along,
                               .extent = group.size(),
                               .depth = block.k.size()};
    // A group begins at a whole panel, and every panel before it is `group.begin` wide in all.
    std::byte* panels = (is_a ? packed_a_ : packed_b_) + panel_bytes(group.begin, block.k.size());
    (is_a ? code_.pack_a : code_.pack_b)(source, panels);
  };
  return parallel_tasks(executor_, threads_, a_tasks + b_tasks, work);
}

Status Product::multiply(const Block& block) const {
  const std::int64_t rows = ceil_div(block.m.size(), row_.tile_m);
  const std::int64_t columns = ceil_div(block.n.size(), row_.tile_n);
  const std::int64_t l2 = device_.l2_bytes > 0 ? device_.l2_bytes : 256 * 1024;
  const std::int64_t panel = std::max(panel_bytes(row_.tile_m, block.k.size()), std::int64_t{1});
  std::int64_t row_tasks = ceil_div(rows, std::max(l2 / 2 / panel, std::int64_t{1}));
  std::int64_t column_tasks = 1;
  if (threads_ > 1) {
    // Enough tasks that the last one to finish costs little, first from columns: a chunk of A is
    // cheap to visit again. Rounded so that the tasks share out evenly.
    const std::int64_t wanted = 8 * std::int64_t{threads_};
    column_tasks = std::min(ceil_div(wanted, row_tasks), columns);
    while (column_tasks < columns && row_tasks * column_tasks % threads_ != 0) ++column_tasks;
    if (row_tasks * column_tasks < wanted)
      row_tasks = std::min(ceil_div(wanted, column_tasks), rows);
  }
  const std::int64_t chunk_rows = ceil_div(rows, row_tasks);
  const std::int64_t chunk_columns = ceil_div(columns, column_tasks);
  row_tasks = ceil_div(rows, chunk_rows);
  column_tasks = ceil_div(columns, chunk_columns);
  const auto work = [&](std::int64_t task, std::int64_t) noexcept {
    multiply_chunk(block, part(task / column_tasks, chunk_rows, rows),
                   part(task % column_tasks, chunk_columns, columns));
  };
  return parallel_tasks(executor_, threads_, row_tasks * column_tasks, work);
}

void Product::multiply_chunk(const Block& block, Span row_panels,
                             Span column_panels) const noexcept {
  for (std::int64_t q = column_panels.begin; q < column_panels.end; ++q) {
    for (std::int64_t p = row_panels.begin; p < row_panels.end; ++p) multiply_tile(block, p, q);
  }
}

void Product::multiply_tile(const Block& block, std::int64_t p, std::int64_t q) const noexcept {
  const std::int64_t depth = block.k.size();
  const Span m = part(p, row_.tile_m, block.m.size());
  const Span n = part(q, row_.tile_n, block.n.size());
  std::byte* kept = nullptr;
  if (!(block.first && block.last)) {
    const std::int64_t columns = ceil_div(block.n.size(), row_.tile_n);
    kept = sums_ + (p * columns + q) * row_.tile_m * row_.tile_n * 4;
  }
  TileProduct tile = {.steps = ceil_div(depth, row_.tile_k),
                      .a = packed_a_ + p * panel_bytes(row_.tile_m, depth),
                      .b = packed_b_ + q * panel_bytes(row_.tile_n, depth),
                      .in = block.first ? nullptr : kept,
                      .in_stride = row_.tile_n,
                      .out = kept,
                      .out_stride = row_.tile_n};
  if (!block.last) return code_.multiply(tile);

  const bool is_whole = m.size() == row_.tile_m && n.size() == row_.tile_n;
  if (writes_directly_ && is_whole) {
    tile.out = static_cast<float*>(epilogue_.c) +
               (block.m.begin + m.begin) * problem_.c.row_stride + block.n.begin + n.begin;
    tile.out_stride = problem_.c.row_stride;
    return code_.multiply(tile);
  }
  alignas(64) std::byte sums[kMaxTile * kMaxTile * 4];
  tile.out = sums;
  code_.multiply(tile);
  code_.finish(epilogue_, {.sums = sums,
                           .sum_stride = row_.tile_n,
                           .row = block.m.begin + m.begin,
                           .column = block.n.begin + n.begin,
                           .rows = m.size(),
                           .columns = n.size()});
}

}  // namespace

Status run(const GemmCall& call, const DeviceInfo& device, Executor& executor) {
  const GemmProblem& problem = call.problem;
  const GemmSelection& selection = call.selection;
  if (problem.is_empty()) return {};
  if (gemm_code(*selection.kernel) == nullptr) {
    return error(Code::GemmNoKernel, "{} is not in this build", selection.kernel->name);
  }
  if (selection.concurrent_products <= 1) {
    for (std::int64_t i = 0; i < problem.batch; ++i) {
      GIRIH_TRY(Product(call, device, executor, selection.threads, i, call.scratch).run());
    }
    return {};
  }
  // A task is a run of products: few enough claims, and several tasks a thread to balance.
  const int slots = selection.concurrent_products;
  const std::int64_t share = selection.workspace_bytes / slots;
  const std::int64_t run_length = std::max(problem.batch / (16 * slots), std::int64_t{1});
  return parallel_tasks(
      executor, slots, ceil_div(problem.batch, run_length),
      [&](std::int64_t task, std::int64_t slot) noexcept {
        const Span products = part(task, run_length, problem.batch);
        for (std::int64_t i = products.begin; i < products.end; ++i) {
          // On one thread a product never meets the executor: it cannot fail.
          static_cast<void>(
              Product(call, device, executor, 1, i, call.scratch + slot * share).run());
        }
      });
}

}  // namespace girih::inline v0::cpu
