#pragma once

#include <array>
#include <cstdint>

#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// What `select` reads of a product and of how many threads there are, in whole numbers: products
/// with equal keys get equal choices on the same rows of the same device. A host scalar is in it as
/// far as selection looks: alpha is zero or not, beta too.
using GemmKey = std::array<std::int64_t, 32>;
GemmKey key_of(const GemmProblem& problem, int threads) noexcept;
std::uint64_t hash_of(const GemmKey& key) noexcept;

}  // namespace girih::inline v0
