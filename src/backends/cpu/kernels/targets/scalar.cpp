#define HWY_COMPILE_ONLY_SCALAR
#define GIRIH_CPU_TARGET scalar

// Each of these uses the ones before it.
// clang-format off
#include "backends/cpu/kernels/simd-inl.hpp"
#include "backends/cpu/kernels/pack-inl.hpp"
#include "backends/cpu/kernels/epilogue-inl.hpp"
#include "backends/cpu/kernels/gemm-inl.hpp"
// clang-format on

// NOLINTNEXTLINE(misc-redundant-expression): equal where the flags are right.
static_assert(HWY_TARGET == HWY_SCALAR, "the flags of this file must enable the instruction set");

namespace girih::inline v0::cpu::scalar {

constinit const GemmKernel gemm_f32_4x4 = f32_kernel<4, 4>();
constinit const GemmKernel gemm_i8_4x4 = i8_kernel<4, 4>();

}  // namespace girih::inline v0::cpu::scalar
