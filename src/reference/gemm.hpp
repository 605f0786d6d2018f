#pragma once

#include <vector>

#include "ops/gemm.hpp"

namespace girih::inline v0 {

/// The meaning of a product, C's shape, row-major, and how far a correct kernel of a backend may be
/// from it.
///
/// `value` is computed in double and not rounded to C's type, unless that is of 8 bits. `bound`
/// covers, with u = 2^-24 and gamma(n) = n u / (1 - n u):
///   sum       (gamma(K + 8) + 2 u_in) * |alpha sa sb| * sum_k |a b|, u_in 2^-11 for Tf32; for Fast
///             on metal 2^-22, and 3 K for K, and on cuda 2^-24, and for K no less than 44 + K /
///             64; for i8, whose sums are exact, gamma(8) * |alpha sa sb * sum|. Fast is Exact
///             where the backend splits no f32
///   alignment  of cuda's matrix unit, which cuts the terms of an instruction, 16 products and the
///             sum so far, 25 bits below the exponent of the largest; a subnormal operand counts
///             there as the smallest normal number of its type: min(K, 16) + 1 terms, each within
///             2^-25 * sum_k (|a'b'| - |a b|), a' and b' no smaller than that number
///             8-bit floats there: the unit sums 32 products and what it has, each cut 13 bits
///             below the exponent of the largest: 33 * 2^-13 * L for each 32 of K, L the largest
///             |a'b'| or |sum so far|, of sums that begin at each 128 of K. Fast: at any k, so that
///             L has twice the largest sum over k = 0, 1, ...
///   terms     gamma(4) * (|product| + |beta C| + |bias|)
///   activation  its Lipschitz constant times the error before it, plus 8 u |x| for its evaluation
///   gate      of its factors y = act(g) and v = u + offset, known to within ey (the activation's,
///             with one rounding more for alpha) and ev (the terms' and gamma(4) * |v|), clamping
///             being exact and no expansion:  |y| ev + |v| ey + ey ev + gamma(1) * (|y v| + these)
///   residual  gamma(1) * (|y| + |residual|)
///   output    half a unit in the last place of C's type, and its subnormals'
///   underflow of each f32 step
/// An 8-bit C: the bound before times |c_scale| and a rounding, x_lo to x_hi; both rounded and
/// saturated as C is, `value` is the middle of the two and `bound` half their distance.
/// An i32 C has bound 0. A value that is not finite has bound 0: its class (NaN, or which infinity)
/// is exact. An infinite bound says that an f32 intermediate may overflow, so that nothing follows.
struct GemmReference {
  std::vector<double> value;
  std::vector<double> bound;
};

/// `operands` are host addresses; nothing is written. Reads what the contract lets a kernel read.
/// The bound is that of `backend`'s arithmetic.
GemmReference reference_gemm(const GemmProblem& problem, const GemmOperands& operands,
                             Backend backend);

/// The activation of x in double, as `Activation` defines it; at -infinity its limit, 0.
double reference_activation(Activation activation, double x) noexcept;

}  // namespace girih::inline v0
