#pragma once

#include <limits>
#include <vector>

#include "plan/candidates.hpp"
#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// The best way to launch a product on one row of the cuda backend, in closed form: cluster, split
/// of K, sides, bands, workspace and time. `kernel` is null if the row cannot serve the product:
/// tensor copies count in 32 bits, so M, N, K, the batch and the tiles must stay below 2^31.
///
/// Under RowInvariant no wgmma row splits K, so the order of a sum depends on K alone.
///
/// Whoever wants only the best of several rows says what is `enough`: of a wgmma row no launch is
/// looked for whose kernel takes more microseconds.
GemmSelection cuda_gemm_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                  const SelectionContext& context,
                                  double enough = std::numeric_limits<double>::infinity()) noexcept;
/// That bound, of plain launches of all wgmma rows that nothing stands in the way of: their best
/// takes no longer. 0 if one was measured, infinite if there is none.
double cuda_gemm_enough(const GemmProblem& problem, const Demand& demand,
                        const SelectionContext& context) noexcept;

/// Every launch of a wgmma row that the closed form chooses from, fastest predicted first: what
/// there is to measure for the table of tuned launches. None for other rows and for products that
/// launch nothing.
std::vector<GemmSelection> cuda_gemm_launches(const GemmProblem& problem, const KernelInfo& kernel,
                                              const DeviceInfo& device);

}  // namespace girih::inline v0
