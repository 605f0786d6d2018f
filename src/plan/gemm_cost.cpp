#include "plan/gemm_cost.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "plan/candidates.hpp"

namespace girih::inline v0 {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
/// Least and greatest extents of a block of C. The area bounds the partial sums to 16 MiB, the
/// width the packed B to 16 MiB where a step of K is its longest.
constexpr std::int64_t kBlock = 2048;
constexpr std::int64_t kWidestBlock = 8192;
constexpr std::int64_t kBlockArea = kBlock * kBlock;
constexpr std::int64_t kPackedBytes = 16 * kMiB;
/// Batches run one product a thread if a product is at most this long and their workspaces fit.
constexpr double kSmallProductFlops = 2.0 * 512 * 512 * 512;
constexpr std::int64_t kBatchWorkspace = 32 * kMiB;

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
  const std::int64_t parts = ceil_div(extent, largest);
  return std::max(round_up(ceil_div(extent, std::max(parts, std::int64_t{1})), step), step);
}

Blocking blocking(const GemmProblem& problem, const KernelInfo& kernel, const DeviceInfo& device) {
  const std::int64_t bytes = packed_bytes(kernel);
  const std::int64_t l1 = device.l1_bytes > 0 ? device.l1_bytes : 32 * 1024;
  const std::int64_t step = kernel.tile_k * 8;
  const std::int64_t longest =
      std::clamp(l1 * 3 / 4 / (kernel.tile_n * bytes) / step * step, 8 * step, std::int64_t{1024});
  Blocking block;
  block.k = even_part(problem.k, longest, kernel.tile_k);
  block.m = even_part(problem.m, kBlock, kernel.tile_m);
  const std::int64_t widest = std::clamp(kBlockArea / block.m, kBlock,
                                         std::min(kWidestBlock, kPackedBytes / (longest * bytes)));
  block.n = even_part(problem.n, widest, kernel.tile_n);
  return block;
}

/// Bytes for one product: packed A, packed B, and partial sums if K takes several steps.
std::int64_t product_workspace(const GemmProblem& problem, const KernelInfo& kernel,
                               const Blocking& block) noexcept {
  if (problem.skips_product()) return 0;
  const std::int64_t bytes = packed_bytes(kernel);
  const std::int64_t partial = problem.k > block.k ? block.m * block.n * 4 : 0;
  return round_up(block.m * block.k * bytes, 64) + round_up(block.k * block.n * bytes, 64) +
         partial;
}

/// Seconds of one thread for one product.
double product_seconds(const GemmProblem& problem, const KernelInfo& kernel,
                       const DeviceInfo& device, const Blocking& block) noexcept {
  const auto m = static_cast<double>(round_up(problem.m, kernel.tile_m));
  const auto n = static_cast<double>(round_up(problem.n, kernel.tile_n));
  const double finished = m * n / kElementsPerSecond;
  if (problem.skips_product()) return finished;
  const auto k = static_cast<double>(problem.k);
  const double clock = device.clock_ghz > 0 ? device.clock_ghz : 3;
  const double multiplied = 2 * m * n * k / (kernel.flops_per_cycle * clock * 1e9 * kPeakShare);
  const double packed = m * k * static_cast<double>(ceil_div(problem.n, block.n)) +
                        n * k * static_cast<double>(ceil_div(problem.m, block.m));
  return multiplied + packed / kElementsPerSecond + finished;
}

}  // namespace

GemmSelection cpu_gemm_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                 const SelectionContext& context) noexcept {
  const DeviceInfo& device = *context.device;
  GemmSelection choice;
  choice.kernel = &kernel;
  choice.block = blocking(problem, kernel, device);
  const auto batch = static_cast<double>(problem.batch);
  const double one_product = product_seconds(problem, kernel, device, choice.block);
  const std::int64_t workspace = product_workspace(problem, kernel, choice.block);
  const int batch_threads =
      static_cast<int>(std::min<std::int64_t>(context.threads, problem.batch));
  const bool by_product = problem.batch >= context.threads &&
                          problem.flops() <= kSmallProductFlops * batch &&
                          workspace * context.threads <= kBatchWorkspace;
  choice.threads = by_product ? worthwhile_threads(one_product * batch, batch_threads)
                              : worthwhile_threads(one_product, context.threads);
  choice.concurrent_products = by_product ? choice.threads : 1;
  choice.workspace_bytes = workspace * choice.concurrent_products;

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
