#include "backends/cuda/kernels/gemm_mma.cuh"

namespace girih::inline v0::cuda {

const void* gemm_mma_f16(int tile, Major a, Major b, bool gathers) {
  if (a == Major::K) {
    return b == Major::K ? mma_kernel_of<Element::F16, Major::K, Major::K>(tile, gathers)
                         : mma_kernel_of<Element::F16, Major::K, Major::MN>(tile, gathers);
  }
  return b == Major::K ? mma_kernel_of<Element::F16, Major::MN, Major::K>(tile, gathers)
                       : mma_kernel_of<Element::F16, Major::MN, Major::MN>(tile, gathers);
}

}  // namespace girih::inline v0::cuda
