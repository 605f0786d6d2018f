#include "backends/cuda/kernels/gemm_wgmma_instances.cuh"

namespace girih::inline v0::cuda {

const void* gemm_wgmma_f8e5m2(int tile) {
  return gemm_wgmma_k_major<Element::F8E5M2>(tile);
}

}  // namespace girih::inline v0::cuda
