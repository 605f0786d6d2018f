#include "backends/cuda/kernels/skinny_kernels.hpp"

namespace girih::inline v0::cuda {

const void* gemm_skinny_f32(SkinnyForm form, int rows);
const void* gemm_skinny_bf16(SkinnyForm form, int rows);
const void* gemm_skinny_f16(SkinnyForm form, int rows);
const void* gemm_skinny_i8(SkinnyForm form, int rows);
const void* gemm_skinny_f8e4m3(SkinnyForm form, int rows);
const void* gemm_skinny_f8e5m2(SkinnyForm form, int rows);

const void* gemm_skinny_kernel(Element type, SkinnyForm form, int rows) {
  switch (type) {
    case Element::F32:
      return gemm_skinny_f32(form, rows);
    case Element::BF16:
      return gemm_skinny_bf16(form, rows);
    case Element::F16:
      return gemm_skinny_f16(form, rows);
    case Element::I8:
      return gemm_skinny_i8(form, rows);
    case Element::F8E4M3:
      return gemm_skinny_f8e4m3(form, rows);
    case Element::F8E5M2:
      return gemm_skinny_f8e5m2(form, rows);
    default:
      return nullptr;
  }
}

}  // namespace girih::inline v0::cuda
