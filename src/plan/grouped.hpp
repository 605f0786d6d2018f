#pragma once

#include "ops/grouped.hpp"
#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// The choice for grouped products. It holds for whatever the offsets say when the call runs.
struct GroupedGemmSelection {
  const KernelInfo* kernel = nullptr;
  int threads = 1;
  /// CPU: blocks of a group that all threads work on, good for one that has all rows.
  GemmSelection together;
  /// CPU: blocks of a group that one thread has for itself, good for up to `alone_rows` rows.
  GemmSelection alone;
  std::int64_t alone_rows = 0;
  int concurrent_groups = 1;  ///< CPU: that run alone at once, each in a workspace of its own
  std::int64_t workspace_bytes = 0;
  double predicted_seconds = 0;  ///< of groups of equal lengths

  /// If `short_groups` groups have no more than `alone_rows` rows, whether these run alone: there
  /// must be enough of them to keep all threads busy to the end.
  [[nodiscard]] bool runs_alone(std::int64_t short_groups) const noexcept {
    return concurrent_groups == 1 ? threads == 1 : short_groups >= 2 * concurrent_groups;
  }
};

/// As of one product.
Result<GroupedGemmSelection> select(const GroupedGemmProblem& problem,
                                    const SelectionContext& context) noexcept;
Result<Plan> explain(const GroupedGemmProblem& problem, const SelectionContext& context) noexcept;

}  // namespace girih::inline v0
