#pragma once

#include "ops/elementwise.hpp"

namespace girih::inline v0 {

/// What a copy, cast or fill means, over host memory. Exact: a kernel must give these bits, save
/// that a NaN made by a cast may carry any payload.
void reference_elementwise(const ElementwiseProblem& problem,
                           const ElementwiseOperands& operands) noexcept;

}  // namespace girih::inline v0
