#include "backends/cuda/kernels/grouped_kernels.hpp"

namespace girih::inline v0::cuda {

const void* gemm_grouped_bf16_rows(int tile, Major a, Major b);
const void* gemm_grouped_bf16_depth(int tile, Major a, Major b);
const void* gemm_grouped_f16_rows(int tile, Major a, Major b);
const void* gemm_grouped_f16_depth(int tile, Major a, Major b);

const void* grouped_wgmma_kernel(int tile, Element type, Major a, Major b, bool by_depth) {
  if (type == Element::BF16) {
    return by_depth ? gemm_grouped_bf16_depth(tile, a, b) : gemm_grouped_bf16_rows(tile, a, b);
  }
  return by_depth ? gemm_grouped_f16_depth(tile, a, b) : gemm_grouped_f16_rows(tile, a, b);
}

}  // namespace girih::inline v0::cuda
