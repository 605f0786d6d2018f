#include "plan/gemm_cost.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "plan/candidates.hpp"

namespace girih::inline v0 {
namespace {

constexpr std::int64_t kChunkColumns = 1024;
/// Shares of the caches, in hundredths: a panel of B in the first, a chunk of A and its sums in the
/// second.
constexpr std::int64_t kPanelShare = 70;
constexpr std::int64_t kChunkShare = 40;
constexpr std::int64_t kSumShare = 30;
/// Chunks for each thread in a block: the last one to finish then costs little.
constexpr std::int64_t kChunksPerThread = 6;
/// Batches run one product a thread if a product is at most this long and their workspaces fit.
constexpr double kSmallProductFlops = 2.0 * 512 * 512 * 512;

constexpr double kPeakShare = 0.9;          // what the inner loop reaches of the peak
constexpr double kElementsPerSecond = 3e9;  // packed or finished, by one thread
constexpr double kSecondsPerRegion = 1.5e-6;
constexpr double kSecondsPerCall = 0.3e-6;

/// Bytes of one packed element: int8 is widened to int16, everything else to f32.
std::int64_t packed_bytes(const KernelInfo& kernel) noexcept {
  return kernel.reduction == Reduction::ExactI32 ? 2 : 4;
}

/// The least multiple of `step` that cuts `extent` into as few parts as `largest` does, evenly.
std::int64_t even_part(std::int64_t extent, std::int64_t largest, std::int64_t step) noexcept {
  if (extent <= largest) return std::max(round_up(extent, step), step);
  return round_up(ceil_div(extent, ceil_div(extent, largest)), step);
}

/// Columns of the product that make one column of tiles of C: with a gate, a tile of each half.
std::int64_t tile_columns(const GemmProblem& problem, const KernelInfo& kernel) noexcept {
  return problem.gate ? 2 * kernel.tile_n : kernel.tile_n;
}

std::int64_t size_or(std::int64_t bytes, std::int64_t typical) noexcept {
  return bytes > 0 ? bytes : typical;
}

/// Fills in the extents of chunks and blocks.
void choose_blocking(const GemmProblem& problem, const KernelInfo& kernel, const DeviceInfo& device,
                     int threads, const BlockLimits& limits, GemmSelection& choice) noexcept {
  const std::int64_t bytes = packed_bytes(kernel);
  const std::int64_t tile_n = tile_columns(problem, kernel);
  const std::int64_t l1 = size_or(device.l1_bytes, 32 * 1024);
  const std::int64_t l2 = size_or(device.l2_bytes, 256 * 1024);
  Blocking& block = choice.block;
  Blocking& chunk = choice.chunk;
  block.m = even_part(problem.m, limits.rows, kernel.tile_m);
  block.n = even_part(
      problem.n,
      std::clamp(limits.rows * limits.columns / block.m, limits.columns, limits.most_columns),
      tile_n);
  const std::int64_t deepest = std::clamp(l1 * kPanelShare / 100 / (kernel.tile_n * bytes),
                                          std::int64_t{64}, std::int64_t{1024});
  const std::int64_t packed_depth = limits.packed_bytes / ((block.m + block.n) * bytes);
  block.k = even_part(problem.k, std::max(packed_depth, deepest), kernel.tile_k);
  chunk.k = even_part(block.k, deepest, kernel.tile_k);

  const std::int64_t rows = l2 * kChunkShare / 100 / (chunk.k * bytes);
  chunk.m = even_part(block.m, std::max(rows, kernel.tile_m), kernel.tile_m);
  const std::int64_t columns =
      problem.k > chunk.k ? l2 * kSumShare / 100 / (chunk.m * 4) : kChunkColumns;
  chunk.n = even_part(block.n, std::max(columns, 4 * tile_n), tile_n);
  const std::int64_t wanted = threads > 1 ? kChunksPerThread * threads : 1;
  const auto chunks = [&] { return ceil_div(block.m, chunk.m) * ceil_div(block.n, chunk.n); };
  while (chunks() < wanted && chunk.n > 2 * tile_n) {
    chunk.n = round_up(chunk.n / 2, tile_n);
  }
  while (chunks() < wanted && chunk.m > kernel.tile_m) {
    chunk.m = round_up(chunk.m / 2, kernel.tile_m);
  }
}

/// Bytes for one product that `threads` threads compute: packed A, packed B, and sums if K takes
/// more than one step, or those of a gate's first half wait for the second.
std::int64_t product_workspace(const GemmProblem& problem, const KernelInfo& kernel, int threads,
                               GemmSelection& choice) noexcept {
  if (problem.skips_product()) return 0;
  const Blocking& block = choice.block;
  const Blocking& chunk = choice.chunk;
  const std::int64_t bytes = packed_bytes(kernel);
  const std::int64_t whole = block.m * block.n * 4;
  const std::int64_t own = threads * round_up(chunk.m * chunk.n * 4, 64);
  choice.sums_per_thread = problem.k <= block.k && own < whole;
  const std::int64_t sums = choice.sums_per_thread ? own : whole;
  return round_up(block.m * block.k * bytes, 64) + round_up(block.k * block.n * bytes, 64) +
         (problem.k > chunk.k || problem.gate ? sums : 0);
}

}  // namespace

double cpu_product_seconds(const GemmProblem& problem, const KernelInfo& kernel,
                           const DeviceInfo& device, const Blocking& block) noexcept {
  // In double: an extent of an empty product may be as large as an integer gets.
  const auto padded = [](std::int64_t extent, std::int64_t tile) {
    return static_cast<double>(ceil_div(extent, tile)) * static_cast<double>(tile);
  };
  const double m = padded(problem.m, kernel.tile_m);
  const double n = padded(problem.n, tile_columns(problem, kernel));
  const double finished = m * n / kElementsPerSecond;
  if (problem.skips_product()) return finished;
  const auto k = static_cast<double>(problem.k);
  const double clock = device.clock_ghz > 0 ? device.clock_ghz : 3;
  const double multiplied = 2 * m * n * k / (kernel.flops_per_cycle * clock * 1e9 * kPeakShare);
  const double packed = m * k * static_cast<double>(ceil_div(problem.n, block.n)) +
                        n * k * static_cast<double>(ceil_div(problem.m, block.m));
  return multiplied + packed / kElementsPerSecond + finished;
}

GemmSelection cpu_team_selection(const GemmProblem& problem, const KernelInfo& kernel,
                                 const DeviceInfo& device, int threads,
                                 const BlockLimits& limits) noexcept {
  GemmSelection choice;
  choice.kernel = &kernel;
  choice.threads = threads;
  choose_blocking(problem, kernel, device, threads, limits, choice);
  choice.workspace_bytes = round_up(product_workspace(problem, kernel, threads, choice), 64);
  return choice;
}

GemmSelection cpu_gemm_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                 const SelectionContext& context) noexcept {
  const DeviceInfo& device = *context.device;
  GemmSelection choice;
  choice.kernel = &kernel;
  choose_blocking(problem, kernel, device, context.threads, {}, choice);
  const auto batch = static_cast<double>(problem.batch);
  const double one_product = cpu_product_seconds(problem, kernel, device, choice.block);
  const std::int64_t own_workspace = product_workspace(problem, kernel, 1, choice);
  const bool by_product = context.threads > 1 && problem.batch >= context.threads &&
                          problem.flops() <= kSmallProductFlops * batch &&
                          own_workspace * context.threads <= kCpuConcurrentBytes;
  const int wanted =
      worthwhile_threads(by_product ? one_product * batch : one_product, context.threads);
  choice.threads = wanted;
  choice.concurrent_products = by_product ? choice.threads : 1;
  // Chunks are cut for the threads that take part in one product.
  const int team = by_product ? 1 : choice.threads;
  if (team != context.threads) choose_blocking(problem, kernel, device, team, {}, choice);
  choice.workspace_bytes =
      round_up(product_workspace(problem, kernel, team, choice), 64) * choice.concurrent_products;

  const double work = one_product * batch / choice.threads;
  const double traffic =
      device.memory_gb_per_s > 0 ? problem.bytes() / (device.memory_gb_per_s * 1e9) : 0;
  double regions = 0;
  if (choice.threads > 1) {
    regions = by_product ? 1
                         : 2 * batch * static_cast<double>(ceil_div(problem.m, choice.block.m)) *
                               static_cast<double>(ceil_div(problem.n, choice.block.n)) *
                               static_cast<double>(ceil_div(problem.k, choice.block.k));
  }
  choice.predicted_seconds =
      std::max(work, traffic) + regions * kSecondsPerRegion + kSecondsPerCall;
  return choice;
}

}  // namespace girih::inline v0
