#define HWY_COMPILE_ONLY_STATIC
#define GIRIH_CPU_TARGET neon

// Each of these uses the ones before it.
// clang-format off
#include "backends/cpu/kernels/simd-inl.hpp"
#include "backends/cpu/kernels/pack-inl.hpp"
#include "backends/cpu/kernels/epilogue-inl.hpp"
#include "backends/cpu/kernels/gemm-inl.hpp"
// clang-format on

static_assert(HWY_TARGET == HWY_NEON, "the flags of this file must enable the instruction set");

namespace girih::inline v0::cpu::neon {

constinit const GemmKernel gemm_f32_8x12 = f32_kernel<8, 3>();
constinit const GemmKernel gemm_i8_8x12 = i8_kernel<8, 3>();

}  // namespace girih::inline v0::cpu::neon
