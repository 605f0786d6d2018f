#pragma once

#include <string>

#include "girih/bench_operands.hpp"
#include "plan/gemm.hpp"

namespace girih::cli {

/// A launch as a row of the table of tuned launches: `GIRIH_CUDA_TUNED(...)`.
std::string tuned_row(const GemmProblem& problem, const GemmSelection& launch);

/// The launches to time for a product: of each matrix row that can serve it the ones predicted
/// fastest, `most` in all, and first of all what `select` chooses.
Result<std::vector<GemmSelection>> launches_to_time(const GemmProblem& problem,
                                                    const SelectionContext& context, int most);

}  // namespace girih::cli
