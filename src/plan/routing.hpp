#pragma once

#include "ops/permute.hpp"
#include "plan/gemm.hpp"

namespace girih::inline v0 {

struct RouteSelection {
  const KernelInfo* kernel = nullptr;
  int threads = 1;
  /// Runs of tokens that are counted, then placed, each by one thread or block.
  std::int64_t parts = 1;
  std::int64_t workspace_bytes = 0;  ///< an i32 for each expert of each part
  double predicted_seconds = 0;
};
/// Of a permute or an un-permute.
struct PermuteSelection {
  const KernelInfo* kernel = nullptr;
  int threads = 1;
  std::int64_t workspace_bytes = 0;  ///< cuda: what the check of the indices found
  double predicted_seconds = 0;
};

Result<RouteSelection> select(const RouteProblem& problem,
                              const SelectionContext& context) noexcept;
Result<PermuteSelection> select(const PermuteProblem& problem,
                                const SelectionContext& context) noexcept;
Result<PermuteSelection> select(const UnpermuteProblem& problem,
                                const SelectionContext& context) noexcept;
Result<Plan> explain(const RouteProblem& problem, const SelectionContext& context) noexcept;
Result<Plan> explain(const PermuteProblem& problem, const SelectionContext& context) noexcept;
Result<Plan> explain(const UnpermuteProblem& problem, const SelectionContext& context) noexcept;

}  // namespace girih::inline v0
