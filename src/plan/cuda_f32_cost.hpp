#pragma once

#include "plan/cuda_f32_tile.hpp"
#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// Place of an f32 row's tile in kF32Tiles; -1 for any other row.
int cuda_f32_tile(const KernelInfo& kernel) noexcept;

/// The way to launch a product on one f32 row of the cuda backend: slices of K, workspace and time.
/// Slices are added in order by a second kernel; there are none under RowInvariant, and for a C
/// that is not row-major.
GemmSelection cuda_f32_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                 const DeviceInfo& device) noexcept;

/// Elements between the rows of the partial sums of a split K.
std::int64_t cuda_f32_partial_ld(const GemmProblem& problem) noexcept;
/// True where C, the residual and the bias have neighbours along N, and 32 bits count M, N and the
/// batch.
bool cuda_f32_has_rows(const GemmProblem& problem) noexcept;

}  // namespace girih::inline v0
