#include "backends/cpu/table.hpp"

#include <iterator>

// What this build holds: targets.cmake defines GIRIH_CPU_HAS_<target> where it adds its unit.
#if !defined(GIRIH_CPU_HAS_AVX2)
#define GIRIH_CPU_HAS_AVX2 0
#endif
#if !defined(GIRIH_CPU_HAS_AVX512)
#define GIRIH_CPU_HAS_AVX512 0
#endif
#if !defined(GIRIH_CPU_HAS_NEON)
#define GIRIH_CPU_HAS_NEON 0
#endif

#define GIRIH_IF_0(symbol) nullptr
#define GIRIH_IF_1(symbol) &symbol
#define GIRIH_IF_EXPANDED(condition, symbol) GIRIH_IF_##condition(symbol)
#define GIRIH_IF(condition, symbol) GIRIH_IF_EXPANDED(condition, symbol)
#define GIRIH_CPU_CODE_scalar(symbol) &symbol
#define GIRIH_CPU_CODE_avx2(symbol) GIRIH_IF(GIRIH_CPU_HAS_AVX2, symbol)
#define GIRIH_CPU_CODE_avx512(symbol) GIRIH_IF(GIRIH_CPU_HAS_AVX512, symbol)
#define GIRIH_CPU_CODE_neon(symbol) GIRIH_IF(GIRIH_CPU_HAS_NEON, symbol)

namespace girih::inline v0::cpu {
namespace {

constexpr DTypes kFloats = {DType::F32, DType::BF16, DType::F16};
constexpr DTypes kF32 = {DType::F32};
constexpr DTypes kInt8 = {DType::I8};
constexpr DTypes kInt8Outputs = {DType::F32, DType::BF16, DType::F16, DType::I32};
constexpr DTypes kCastable = {DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2};
constexpr DTypes kAnyType = {DType::F32,    DType::F64, DType::BF16, DType::F16, DType::F8E4M3,
                             DType::F8E5M2, DType::I8,  DType::U8,   DType::I32, DType::I4};
constexpr DTypes kWholeBytes = {DType::F32,    DType::BF16, DType::F16, DType::F8E4M3,
                                DType::F8E5M2, DType::I8,   DType::U8,  DType::I32};
constexpr Features kNothing = {};
constexpr Features kAvx2 = {Feature::Avx2};
constexpr Features kAvx512 = {Feature::Avx2, Feature::Avx512};
constexpr Features kNeon = {Feature::Neon};

#define GIRIH_CPU_GEMM(target, kind, rows, columns, depth, in, out, way, features, sum, flops) \
  {.name = "cpu_gemm_" #kind "_" #rows "x" #columns "_" #target,                               \
   .backend = Backend::Cpu,                                                                    \
   .op = Op::Gemm,                                                                             \
   .operands = in,                                                                             \
   .outputs = DTypes(out).with(kQuantised),                                                    \
   .path = Path::way,                                                                          \
   .needs = features,                                                                          \
   .tile_m = rows,                                                                             \
   .tile_n = columns,                                                                          \
   .tile_k = depth,                                                                            \
   .reduction = Reduction::sum,                                                                \
   .flops_per_cycle = flops,                                                                   \
   .groups = true,                                                                             \
   .gates = true},
#define GIRIH_CPU_PORTABLE(which, text, types, rows, columns, in, out) \
  {.name = "cpu_" #text "_" #types "_" #rows "x" #columns "_scalar",   \
   .backend = Backend::Cpu,                                            \
   .op = Op::which,                                                    \
   .operands = in,                                                     \
   .outputs = out,                                                     \
   .path = Path::Portable,                                             \
   .needs = kNothing,                                                  \
   .tile_m = rows,                                                     \
   .tile_n = columns},
constexpr KernelInfo kRows[] = {
#include "backends/cpu/kernels.inc"
};
#undef GIRIH_CPU_PORTABLE
#undef GIRIH_CPU_GEMM

#define GIRIH_CPU_GEMM(target, kind, rows, columns, ...) \
  GIRIH_CPU_CODE_##target(target::gemm_##kind##_##rows##x##columns),
#define GIRIH_CPU_PORTABLE(...) nullptr,
constexpr const GemmKernel* kCode[] = {
#include "backends/cpu/kernels.inc"
};
#undef GIRIH_CPU_PORTABLE
#undef GIRIH_CPU_GEMM

constexpr bool tiles_fit() noexcept {
  for (const KernelInfo& row : kRows) {
    if (row.op == Op::Gemm && (row.tile_m > kMaxTile || row.tile_n > kMaxTile)) return false;
  }
  return true;
}
static_assert(tiles_fit(), "a tile exceeds kMaxTile");

}  // namespace

std::span<const KernelInfo> kernel_table() noexcept {
  return kRows;
}

bool is_built(std::size_t index) noexcept {
  return index < std::size(kRows) && (kRows[index].op != Op::Gemm || kCode[index] != nullptr);
}

const GemmKernel* gemm_code(const KernelInfo& row) noexcept {
  return kCode[static_cast<std::size_t>(&row - kRows)];
}

}  // namespace girih::inline v0::cpu
