#pragma once

#include "girih/gemm_run.hpp"

namespace girih::cli {

/// Writes the result, unless it was found wrong, and prints what was done. Gives the exit code; a
/// result that was found wrong is an error.
Result<int> conclude(const GemmOptions& options, const GemmOutcome& outcome, Progress& progress);

}  // namespace girih::cli
