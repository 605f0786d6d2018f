#define HWY_COMPILE_ONLY_STATIC
#define GIRIH_CPU_TARGET avx512

// Each of these uses the ones before it.
// clang-format off
#include "backends/cpu/kernels/simd-inl.hpp"
#include "backends/cpu/kernels/pack-inl.hpp"
#include "backends/cpu/kernels/epilogue-inl.hpp"
#include "backends/cpu/kernels/gemm-inl.hpp"
// clang-format on

static_assert(HWY_TARGET == HWY_AVX3, "the flags of this file must enable the instruction set");

namespace girih::inline v0::cpu::avx512 {

constinit const GemmKernel gemm_f32_14x32 = f32_kernel<14, 2>();
constinit const GemmKernel gemm_i8_14x32 = i8_kernel<14, 2>();

}  // namespace girih::inline v0::cpu::avx512
