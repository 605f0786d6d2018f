#include "backends/cuda/kernels/gemm_f32.cuh"

namespace girih::inline v0::cuda {

const void* gemm_f32_kernel(int tile, bool a_wide, bool b_wide) {
  switch (tile) {
    case 0:
      return gemm_f32_of<0>(a_wide, b_wide);
    case 1:
      return gemm_f32_of<1>(a_wide, b_wide);
    case 2:
      return gemm_f32_of<2>(a_wide, b_wide);
    case 3:
      return gemm_f32_of<3>(a_wide, b_wide);
    default:
      return nullptr;
  }
}

}  // namespace girih::inline v0::cuda
