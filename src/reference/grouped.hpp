#pragma once

#include "ops/grouped.hpp"
#include "reference/gemm.hpp"

namespace girih::inline v0 {

/// The meaning of grouped products: that of each group's product, in C's place for it.
struct GroupedGemmReference {
  /// C's shape, row-major; 0 where nothing is written.
  std::vector<double> value;
  std::vector<double> bound;
  std::vector<bool> is_written;
};

/// `operands` are host addresses, whose offsets must obey their rule; nothing is written.
GroupedGemmReference reference_grouped_gemm(const GroupedGemmProblem& problem,
                                            const GroupedGemmOperands& operands, Backend backend);

}  // namespace girih::inline v0
