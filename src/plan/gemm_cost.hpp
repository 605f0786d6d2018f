#pragma once

#include "plan/gemm.hpp"

namespace girih::inline v0 {

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
