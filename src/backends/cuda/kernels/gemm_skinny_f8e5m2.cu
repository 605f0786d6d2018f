#include "backends/cuda/kernels/gemm_skinny.cuh"

namespace girih::inline v0::cuda {

const void* gemm_skinny_f8e5m2(SkinnyForm form, int rows) {
  return skinny_kernel_of<Element::F8E5M2>(form, rows);
}

}  // namespace girih::inline v0::cuda
