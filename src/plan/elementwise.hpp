#pragma once

#include "ops/elementwise.hpp"
#include "plan/gemm.hpp"

namespace girih::inline v0 {

struct ElementwiseSelection {
  const KernelInfo* kernel = nullptr;
  int threads = 1;
  double predicted_seconds = 0;
};

Result<ElementwiseSelection> select(const ElementwiseProblem& problem,
                                    const SelectionContext& context) noexcept;
Result<Plan> explain(const ElementwiseProblem& problem, const SelectionContext& context) noexcept;

}  // namespace girih::inline v0
