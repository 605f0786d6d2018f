#include "backends/cpu/gemm.hpp"

#include <algorithm>

#include "backends/cpu/gemm_epilogue.hpp"
#include "backends/cpu/parallel.hpp"
#include "backends/cpu/table.hpp"
#include "core/checked.hpp"

// C is computed block by block. For each step of K that a block takes, all threads pack the step's
// part of A and of B into the workspace; then they multiply, a chunk of the block at a time. A
// chunk walks the packed depth in shorter steps, so that what it reads stays in the caches
// (`Blocking`). Between two steps of K its sums wait in the workspace, tile by tile, as f32 or i32:
// an element's chain of multiply-adds goes on where it stopped. After the last step the epilogue
// writes C.
//
// With a gate each column of C takes two of the product, g and u. Panels of the packed B hold g and
// u in turn: the columns' order in B is the packing's concern alone. The sums of a panel of g wait
// in the workspace until those of its u are there, and the epilogue has both.

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
  Product(const GemmCall& call, Executor& executor, int threads, std::int64_t index,
          std::byte* scratch) noexcept;

  Status run() const;

 private:
  struct Block {
    Span m, n, k;                      ///< n: columns of C
    bool first = false, last = false;  ///< of the steps along K
  };
  /// A part of a block, in panels of A and of B, and where its unfinished sums lie.
  struct Chunk {
    Span rows, columns;
    std::byte* sums = nullptr;
    std::int64_t pitch = 0;  ///< tiles from a row of tiles to the next
  };
  /// A step along the packed depth.
  struct Step {
    Span k;
    bool first = false, last = false;  ///< of the whole sum
  };

  Status pack(const Block& block, bool keep_a) const;
  Status multiply(const Block& block) const;
  void multiply_chunk(const Block& block, const Chunk& chunk) const noexcept;
  /// Where the sums of a tile of the product wait: for the next step along K, or with a gate for
  /// the tile's partner. Null if they do neither.
  [[nodiscard]] std::byte* kept_sums(const Chunk& chunk, const Step& step, std::int64_t p,
                                     std::int64_t q) const noexcept;
  void multiply_tile(const Block& block, const Chunk& chunk, const Step& step, std::int64_t p,
                     std::int64_t q) const noexcept;

  /// Bytes of a panel `width` wide and `depth` deep.
  [[nodiscard]] std::int64_t panel_bytes(std::int64_t width, std::int64_t depth) const noexcept {
    return round_up(depth, row_.tile_k) * width * element_bytes_;
  }

  const GemmProblem& problem_;
  const GemmSelection& selection_;
  const KernelInfo& row_;
  const GemmKernel& code_;
  Executor& executor_;
  const int threads_;
  const std::byte* a_;
  const std::byte* b_;
  const ColumnMap columns_;
  const Epilogue epilogue_;
  const std::int64_t element_bytes_;
  const bool writes_directly_;  ///< whole tiles go from registers to C
  std::byte* packed_a_;
  std::byte* packed_b_ = nullptr;
  std::byte* sums_ = nullptr;
};

Product::Product(const GemmCall& call, Executor& executor, int threads, std::int64_t index,
                 std::byte* scratch) noexcept
    : problem_(call.problem),
      selection_(call.selection),
      row_(*call.selection.kernel),
      code_(*gemm_code(row_)),
      executor_(executor),
      threads_(threads),
      a_(advance(call.operands.a, problem_.a.dtype, index * problem_.a.batch_stride)),
      b_(advance(call.operands.b, problem_.b.dtype, index * problem_.b.batch_stride)),
      columns_(column_map(problem_)),
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
  const std::int64_t width = block.n / columns_.halves;
  for (std::int64_t i = 0; i < ceil_div(problem_.m, block.m); ++i) {
    for (std::int64_t j = 0; j < ceil_div(problem_.c_columns(), width); ++j) {
      for (std::int64_t s = 0; s < steps; ++s) {
        const Block at = {.m = part(i, block.m, problem_.m),
                          .n = part(j, width, problem_.c_columns()),
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
  // About 256 KiB of panels a task, so that a row-major operand is read in long runs; less where
  // that leaves threads without a task.
  const auto group = [&](std::int64_t extent, std::int64_t width) {
    const std::int64_t fair = ceil_div(extent, width) / (2 * std::int64_t{threads_});
    const std::int64_t large = 256 * 1024 / panel_bytes(width, block.k.size());
    return std::max(std::min(fair, large), std::int64_t{1}) * width;
  };
  const std::int64_t a_group = group(block.m.size(), row_.tile_m);
  const std::int64_t b_group = group(block.n.size(), row_.tile_n);
  const std::int64_t a_tasks = keep_a ? 0 : ceil_div(block.m.size(), a_group);
  const std::int64_t b_tasks = ceil_div(block.n.size(), b_group);
  // A group begins at a whole panel, and every panel before it is `own.begin` wide in all.
  const auto pack_rows = [&](Span own) noexcept {
    const MatrixLayout& a = problem_.a;
    const std::int64_t offset =
        (block.m.begin + own.begin) * a.row_stride + block.k.begin * a.column_stride;
    code_.pack_a({.data = advance(a_, a.dtype, offset),
                  .type = element_of(a.dtype),
                  .stride = a.row_stride,
                  .depth_stride = a.column_stride,
                  .extent = own.size(),
                  .depth = block.k.size()},
                 packed_a_ + panel_bytes(own.begin, block.k.size()));
  };
  const auto pack_columns = [&](Span own, std::int64_t half) noexcept {
    const MatrixLayout& b = problem_.b;
    const std::int64_t column = half * columns_.half + (block.n.begin + own.begin) * columns_.step;
    const std::int64_t offset = column * b.column_stride + block.k.begin * b.row_stride;
    const std::int64_t before = own.begin * columns_.halves + half * row_.tile_n;
    code_.pack_b({.data = advance(b_, b.dtype, offset),
                  .type = element_of(b.dtype),
                  .stride = columns_.step * b.column_stride,
                  .depth_stride = b.row_stride,
                  .extent = own.size(),
                  .depth = block.k.size(),
                  .panel_step = columns_.halves},
                 packed_b_ + panel_bytes(before, block.k.size()));
  };
  const auto work = [&](std::int64_t task, std::int64_t) noexcept {
    if (task < a_tasks) return pack_rows(part(task, a_group, block.m.size()));
    const Span own = part(task - a_tasks, b_group, block.n.size());
    for (std::int64_t half = 0; half < columns_.halves; ++half) pack_columns(own, half);
  };
  return parallel_tasks(executor_, threads_, a_tasks + b_tasks, work);
}

Status Product::multiply(const Block& block) const {
  const std::int64_t rows = ceil_div(block.m.size(), row_.tile_m);
  const std::int64_t columns = ceil_div(block.n.size(), row_.tile_n) * columns_.halves;
  const std::int64_t chunk_rows = selection_.chunk.m / row_.tile_m;
  const std::int64_t chunk_columns = selection_.chunk.n / row_.tile_n;
  const std::int64_t across = ceil_div(columns, chunk_columns);
  const std::int64_t tile_bytes = row_.tile_m * row_.tile_n * 4;
  const auto work = [&](std::int64_t task, std::int64_t slot) noexcept {
    Chunk chunk = {.rows = part(task / across, chunk_rows, rows),
                   .columns = part(task % across, chunk_columns, columns)};
    if (selection_.sums_per_thread) {
      chunk.pitch = chunk_columns;
      chunk.sums = sums_ + slot * round_up(chunk_rows * chunk_columns * tile_bytes, 64);
    } else {
      chunk.pitch = columns;
      chunk.sums = sums_ + (chunk.rows.begin * columns + chunk.columns.begin) * tile_bytes;
    }
    multiply_chunk(block, chunk);
  };
  return parallel_tasks(executor_, threads_, ceil_div(rows, chunk_rows) * across, work);
}

void Product::multiply_chunk(const Block& block, const Chunk& chunk) const noexcept {
  const std::int64_t depth = block.k.size();
  const std::int64_t steps = std::max(ceil_div(depth, selection_.chunk.k), std::int64_t{1});
  for (std::int64_t s = 0; s < steps; ++s) {
    const Step step = {.k = part(s, selection_.chunk.k, depth),
                       .first = block.first && s == 0,
                       .last = block.last && s + 1 == steps};
    for (std::int64_t q = chunk.columns.begin; q < chunk.columns.end; ++q) {
      for (std::int64_t p = chunk.rows.begin; p < chunk.rows.end; ++p) {
        multiply_tile(block, chunk, step, p, q);
      }
    }
  }
}

std::byte* Product::kept_sums(const Chunk& chunk, const Step& step, std::int64_t p,
                              std::int64_t q) const noexcept {
  const bool waits = !(step.first && step.last);
  if (!waits && (columns_.halves == 1 || problem_.skips_product())) return nullptr;
  // What waits for its partner alone is used up before the next panel begins. A buffer that threads
  // share gives each of them its own tiles only.
  const bool compact = !waits && selection_.sums_per_thread;
  const std::int64_t index =
      (p - chunk.rows.begin) * (compact ? 1 : chunk.pitch) + (waits ? q - chunk.columns.begin : 0);
  return chunk.sums + index * row_.tile_m * row_.tile_n * 4;
}

void Product::multiply_tile(const Block& block, const Chunk& chunk, const Step& step,
                            std::int64_t p, std::int64_t q) const noexcept {
  const std::int64_t depth = block.k.size();
  const Span m = part(p, row_.tile_m, block.m.size());
  const Span n = part(q / columns_.halves, row_.tile_n, block.n.size());
  std::byte* const kept = kept_sums(chunk, step, p, q);
  TileProduct tile = {
      .steps = ceil_div(step.k.size(), row_.tile_k),
      .a = packed_a_ + p * panel_bytes(row_.tile_m, depth) + panel_bytes(row_.tile_m, step.k.begin),
      .b = packed_b_ + q * panel_bytes(row_.tile_n, depth) + panel_bytes(row_.tile_n, step.k.begin),
      .in = step.first ? nullptr : kept,
      .in_stride = row_.tile_n,
      .out = kept,
      .out_stride = row_.tile_n};
  const bool has_partner = q % columns_.halves + 1 < columns_.halves;
  if (has_partner && problem_.skips_product()) return;
  if (!step.last || has_partner) return code_.multiply(tile);

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
  EpilogueTile finished = {.sums = sums,
                           .sum_stride = row_.tile_n,
                           .row = block.m.begin + m.begin,
                           .column = block.n.begin + n.begin,
                           .rows = m.size(),
                           .columns = n.size()};
  if (columns_.halves > 1) {
    const std::byte* const g = kept_sums(chunk, step, p, q - 1);
    finished.sums = g != nullptr ? g : sums;  // of nothing: both are 0
    finished.up_sums = sums;
  }
  code_.finish(epilogue_, finished);
}

}  // namespace

Status check_code(const KernelInfo& kernel) noexcept {
  if (gemm_code(kernel) != nullptr) return {};
  return error(Code::GemmNoKernel, "{} is not in this build", kernel.name);
}

Status run_product(const GemmCall& call, Executor& executor, int threads, std::int64_t index,
                   std::byte* scratch) {
  return Product(call, executor, threads, index, scratch).run();
}

Status run(const GemmCall& call, Executor& executor) {
  const GemmProblem& problem = call.problem;
  const GemmSelection& selection = call.selection;
  if (problem.is_empty()) return {};
  GIRIH_TRY(check_code(*selection.kernel));
  if (selection.concurrent_products <= 1) {
    for (std::int64_t i = 0; i < problem.batch; ++i) {
      GIRIH_TRY(run_product(call, executor, selection.threads, i, call.scratch));
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
          static_cast<void>(run_product(call, executor, 1, i, call.scratch + slot * share));
        }
      });
}

}  // namespace girih::inline v0::cpu
