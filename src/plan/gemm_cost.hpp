#pragma once

#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// How much of a product one block has. The defaults are for a product that all threads share:
/// larger blocks pack less often but fall out of a shared third-level cache. 24 MiB was measured
/// 0.91 times as fast as 8 MiB at 1024 x 1024 x 16384, and a block 2048 rows high 0.95 times as
/// fast as 1024 at 4096 cubed.
struct BlockLimits {
  std::int64_t rows = 1024;
  std::int64_t columns = 2048;                        ///< of a block as high as that
  std::int64_t most_columns = 8192;                   ///< of a lower one
  std::int64_t packed_bytes = std::int64_t{8} << 20;  ///< of A and B together
};
/// What products that run at once, one a thread, may have as workspace in all.
inline constexpr std::int64_t kCpuConcurrentBytes = std::int64_t{32} << 20;

/// Blocks and workspace of one product on `threads` threads: good for any that differs from it in
/// having fewer rows or less depth.
GemmSelection cpu_team_selection(const GemmProblem& problem, const KernelInfo& kernel,
                                 const DeviceInfo& device, int threads,
                                 const BlockLimits& limits) noexcept;
/// Seconds of one thread for one product.
double cpu_product_seconds(const GemmProblem& problem, const KernelInfo& kernel,
                           const DeviceInfo& device, const Blocking& block) noexcept;

/// Blocks, threads, workspace and time of a product on one CPU row, in closed form.
///
///   time    = max(work / threads, bytes / bandwidth) + regions
///   work    = padded flops / (0.9 peak) + packed elements / rate + elements of C / rate
///   regions = 2 a step and block, about 1.5 us each on more than one thread
///
/// The extents of blocks and chunks come from the cache sizes; the workspace stays below 64 MiB for
/// every size and number of threads.
GemmSelection cpu_gemm_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                 const SelectionContext& context) noexcept;

}  // namespace girih::inline v0
