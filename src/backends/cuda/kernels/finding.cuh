#pragma once
// How a kernel tells the host about a bad value. One thread of a kernel calls it; kernels of one
// stream take turns.

#include "backends/cuda/kernels/finding.hpp"

namespace girih::inline v0::cuda {

__device__ __forceinline__ void report(Finding* to, const Finding& found) {
  if (to == nullptr || *reinterpret_cast<volatile std::int32_t*>(&to->kind) != 0) return;
  to->index = found.index;
  to->value = found.value;
  to->before = found.before;
  to->limit = found.limit;
  to->per = found.per;
  __threadfence_system();
  *reinterpret_cast<volatile std::int32_t*>(&to->kind) = static_cast<std::int32_t>(found.kind);
}

}  // namespace girih::inline v0::cuda
