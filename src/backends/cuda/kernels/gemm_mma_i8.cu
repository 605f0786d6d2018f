#include "backends/cuda/kernels/gemm_mma.cuh"

namespace girih::inline v0::cuda {

const void* gemm_mma_i8(int tile, bool gathers) {
  return mma_kernel_of<Element::I8, Major::K, Major::K>(tile, gathers);
}

}  // namespace girih::inline v0::cuda
