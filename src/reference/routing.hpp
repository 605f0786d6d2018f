#pragma once

#include <vector>

#include "ops/permute.hpp"

namespace girih::inline v0 {

/// The meaning of `RouteDesc`, row-major. Indices are exact.
///
/// Weights are computed in double. With u = 2^-24, z the logits l (`SigmoidOfChosen`: the logarithm
/// of their sigmoid, within e = 8 u |z| + (2 |l| + 8) u exp(-|l|)), m the first slot's and
/// d = z - m, a kernel's exp(d) is within r = (2 |d| + 8) u + e(z) + e(m) of it, relatively: d is
/// rounded, scaled for exp2, and exp evaluated. A weight in a sum of n terms is within its own r,
/// the mean of all r by weight, and gamma(n + 3); a sigmoid within (2 |l| + 8) u + gamma(3). All,
/// times |scale|, may lose 2^-125 to underflow.
struct RouteReference {
  std::vector<double> chosen, weights, weight_bounds, offsets, rows, sources;
};
/// `operands` are host addresses, of which only the logits are read.
RouteReference reference_route(const RouteProblem& problem, const RouteOperands& operands);

/// What `PermuteDesc` means, over host memory, whose sources must obey their rule. Exact: a kernel
/// must give these bits.
void reference_permute(const PermuteProblem& problem, const PermuteOperands& operands) noexcept;

/// What `UnpermuteDesc` means, row-major, computed in double and not rounded to y's type. `bound`
/// is gamma(k) * sum_s |w x|, k underflows, and the rounding of y.
struct UnpermuteReference {
  std::vector<double> value, bound;
};
UnpermuteReference reference_unpermute(const UnpermuteProblem& problem,
                                       const UnpermuteOperands& operands);

}  // namespace girih::inline v0
