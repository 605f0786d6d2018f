#pragma once

#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// A launch that was measured fastest for one shape and layout.
struct CudaTunedRow {
  std::int64_t m, n, k, batch;
  cuda::Major a, b;
  std::string_view kernel;  ///< <types>_<tile>_<target> of its name
  int cluster_rows, cluster_columns, cluster_split, splits, band;
  bool band_columns, swaps_sides;
};

/// The row for this product on this device if it takes `kernel`, else null. Rows are for 16-bit
/// results whose epilogue is alpha, a bias and an activation, of 8-bit operands scales too; where
/// operands are aligned or not makes no difference.
const CudaTunedRow* find_tuned(const GemmProblem& problem, const KernelInfo& kernel,
                               const DeviceInfo& device) noexcept;

}  // namespace girih::inline v0
