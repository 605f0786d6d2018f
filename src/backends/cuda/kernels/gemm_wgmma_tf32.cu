#include "backends/cuda/kernels/gemm_wgmma_instances.cuh"

namespace girih::inline v0::cuda {

const void* gemm_wgmma_tf32(int tile) {
  return gemm_wgmma_k_major<Element::TF32>(tile);
}

}  // namespace girih::inline v0::cuda
