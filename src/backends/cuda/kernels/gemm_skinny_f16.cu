#include "backends/cuda/kernels/gemm_skinny.cuh"

namespace girih::inline v0::cuda {

const void* gemm_skinny_f16(SkinnyForm form, int rows) {
  return skinny_kernel_of<Element::F16>(form, rows);
}

}  // namespace girih::inline v0::cuda
