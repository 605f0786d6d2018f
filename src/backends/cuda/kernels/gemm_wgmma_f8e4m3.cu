#include "backends/cuda/kernels/gemm_wgmma_instances.cuh"

namespace girih::inline v0::cuda {

const void* gemm_wgmma_f8e4m3(int tile) {
  return gemm_wgmma_k_major<Element::F8E4M3>(tile);
}

}  // namespace girih::inline v0::cuda
