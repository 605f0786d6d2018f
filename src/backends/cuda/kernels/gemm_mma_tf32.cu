#include "backends/cuda/kernels/gemm_mma.cuh"

namespace girih::inline v0::cuda {

const void* gemm_mma_tf32(int tile, bool gathers) {
  return mma_kernel_of<Element::TF32, Major::K, Major::K>(tile, gathers);
}

}  // namespace girih::inline v0::cuda
