#pragma once

#include "backends/cuda/kernels/simt_params.hpp"
#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

inline StridedRef strided(const std::byte* data, const MatrixLayout& x) noexcept {
  return {data, x.row_stride, x.column_stride, x.batch_stride, element_of(x.dtype)};
}
/// Along rows (a factor of A) or along columns.
inline StridedRef strided(const void* data, const std::optional<VectorLayout>& x) noexcept {
  if (!x) return {};
  return {data, x->stride, x->stride, x->batch_stride, element_of(x->dtype)};
}

}  // namespace girih::inline v0::cuda
