#pragma once

#include "plan/cuda_grouped_table.hpp"
#include "plan/grouped.hpp"

namespace girih::inline v0 {

/// Where a grouped product's table lies in its workspace, bytes, whatever the offsets.
struct CudaGroupedTable {
  std::int64_t units_at = 0, firsts_at = 0;  ///< of a header at 0
  std::int64_t most_units = 0;
  std::int64_t bytes = 0;
};
/// `unit_rows`: rows of a unit of work, where rows are grouped.
CudaGroupedTable cuda_grouped_table(const GroupedGemmProblem& problem,
                                    std::int64_t unit_rows) noexcept;

/// Workspace and time of a grouped product on a row of the cuda backend. `kernel` is null if the
/// row declines: the matrix rows take operands that tensor copies can read, a C, residual and bias
/// with contiguous columns, and, where the depth is grouped, no factors of A's rows and, if results
/// are to be row-invariant, no operand whose depth is contiguous.
GroupedGemmSelection cuda_grouped_candidate(const GroupedGemmProblem& problem,
                                            const KernelInfo& kernel,
                                            const SelectionContext& context) noexcept;

/// A matrix row beats a portable one, then less time.
bool is_better_on_cuda(const GroupedGemmSelection& a, const GroupedGemmSelection& b) noexcept;

}  // namespace girih::inline v0
