#pragma once

#include "plan/cuda_skinny_geometry.hpp"
#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// How a skinny row launches a product.
struct CudaSkinnyLaunch {
  bool swapped = false;  ///< W is A: C is computed transposed
  cuda::SkinnyForm form = cuda::SkinnyForm::Gathered;
  int bytes = 4;                            ///< of an operand's element
  int rows = 16;                            ///< of X that a block has at once
  int groups = 1, slices = 1, cluster = 1;  ///< as of SkinnyParams
  std::int64_t tiles = 0, chunks = 0;
};

/// In closed form from the extents, the layouts and the number of multiprocessors; of one block a
/// cluster where the device has no more. Under RowInvariant slices depend on K and the type alone.
CudaSkinnyLaunch cuda_skinny_launch(const GemmProblem& problem, int multiprocessors,
                                    bool has_clusters) noexcept;

/// The selection of a skinny row, in closed form. `kernel` is null if both M and N exceed the rows
/// of a kernel, unless the row is forced; under RowInvariant, where the sum must be that of any M,
/// unless it is exact; of more than 8 rows of 16-bit operands along K where there are wgmma rows,
/// which were measured faster; and beyond 2^31 units.
GemmSelection cuda_skinny_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                    const SelectionContext& context) noexcept;

}  // namespace girih::inline v0
