#include "backends/cuda/device.hpp"

namespace girih::inline v0::cuda {
namespace {

constexpr DTypes kHalves = {DType::BF16, DType::F16};
constexpr DTypes kSingle = {DType::F32};
constexpr DTypes kFloats = {DType::F32, DType::BF16, DType::F16};
constexpr DTypes kEighths = {DType::F8E4M3, DType::F8E5M2};
constexpr DTypes kInt8 = {DType::I8};
constexpr DTypes kInt8Outputs = {DType::F32, DType::BF16, DType::F16, DType::I32};
constexpr DTypes kCastable = {DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2};
constexpr DTypes kAnyType = {DType::F32,    DType::F64, DType::BF16, DType::F16, DType::F8E4M3,
                             DType::F8E5M2, DType::I8,  DType::U8,   DType::I32, DType::I4};
constexpr Features kSm80 = {Feature::Sm80};
constexpr DTypes kWholeBytes = {DType::F32,    DType::BF16, DType::F16, DType::F8E4M3,
                                DType::F8E5M2, DType::I8,   DType::U8,  DType::I32};
constexpr Features kSm90a = {Feature::Sm90a};

/// Rows of one kind of operands on the matrix unit.
struct Family {
  DTypes operands, outputs;
  Reduction reduction;
  std::optional<Precision> precision;
  double flops_per_cycle;
};
constexpr Family kFamily_i8{kInt8, kInt8Outputs, Reduction::ExactI32, {}, 8192};
constexpr Family kFamily_f8{kEighths, kFloats, Reduction::WgmmaF8, Precision::Exact, 8192};
constexpr Family kFamily_f8block = kFamily_f8;
constexpr Family kFamily_f8fast{kEighths, kFloats, Reduction::WgmmaF8Fast, Precision::Fast, 8192};
constexpr Family kFamily_tf32{kSingle, kFloats, Reduction::WgmmaTf32, Precision::Tf32, 2048};

#define GIRIH_CUDA_WGMMA(rows, columns, depth, count, shape, target)     \
  {.name = "cuda_gemm_16bit_" #rows "x" #columns "x" #depth "_" #target, \
   .backend = Backend::Cuda,                                             \
   .op = Op::Gemm,                                                       \
   .operands = kHalves,                                                  \
   .outputs = kFloats,                                                   \
   .path = Path::Matrix,                                                 \
   .needs = kSm90a,                                                      \
   .tile_m = rows,                                                       \
   .tile_n = columns,                                                    \
   .tile_k = depth,                                                      \
   .reduction = Reduction::WgmmaF32,                                     \
   .flops_per_cycle = 4096,                                              \
   .form = TileForm::shape,                                              \
   .consumers = count,                                                   \
   .gates = true},
#define GIRIH_CUDA_WGMMA_OF(types, bytes, promotes, rows, columns, depth, count, shape, target) \
  {.name = "cuda_gemm_" #types "_" #rows "x" #columns "x" #depth "_" #target,                   \
   .backend = Backend::Cuda,                                                                    \
   .op = Op::Gemm,                                                                              \
   .operands = kFamily_##types.operands,                                                        \
   .outputs = kFamily_##types.outputs,                                                          \
   .path = Path::Matrix,                                                                        \
   .needs = kSm90a,                                                                             \
   .tile_m = rows,                                                                              \
   .tile_n = columns,                                                                           \
   .tile_k = depth,                                                                             \
   .reduction = kFamily_##types.reduction,                                                      \
   .flops_per_cycle = kFamily_##types.flops_per_cycle,                                          \
   .form = TileForm::shape,                                                                     \
   .consumers = count,                                                                          \
   .operand_bytes = bytes,                                                                      \
   .precision = kFamily_##types.precision,                                                      \
   .scales_blocks = std::string_view(#types) == "f8block",                                      \
   .gates = true},
#define GIRIH_CUDA_MMA(types, rows, columns, depth, in, out, sum, flops)                   \
  {.name = "cuda_gemm_" #types "_" #rows "x" #columns "_mma",                              \
   .backend = Backend::Cuda,                                                               \
   .op = Op::Gemm,                                                                         \
   .operands = in,                                                                         \
   .outputs = out,                                                                         \
   .path = Path::Matrix,                                                                   \
   .needs = kSm80,                                                                         \
   .tile_m = rows,                                                                         \
   .tile_n = columns,                                                                      \
   .tile_k = depth,                                                                        \
   .reduction = Reduction::sum,                                                            \
   .flops_per_cycle = flops,                                                               \
   .precision =                                                                            \
       std::string_view(#types) == "tf32" ? std::optional(Precision::Tf32) : std::nullopt, \
   .mma = true,                                                                            \
   .gates = true},
#define GIRIH_CUDA_SIMT_GEMM(types, rows, columns, depth, in, out, sum, flops) \
  {.name = "cuda_gemm_" #types "_" #rows "x" #columns "_simt",                 \
   .backend = Backend::Cuda,                                                   \
   .op = Op::Gemm,                                                             \
   .operands = in,                                                             \
   .outputs = out,                                                             \
   .path = Path::Portable,                                                     \
   .needs = kSm80,                                                             \
   .tile_m = rows,                                                             \
   .tile_n = columns,                                                          \
   .tile_k = depth,                                                            \
   .reduction = Reduction::sum,                                                \
   .flops_per_cycle = flops,                                                   \
   .gates = true},
#define GIRIH_CUDA_FAST_F32(rows, columns, depth, count)              \
  {.name = "cuda_gemm_f32x3_" #rows "x" #columns "x" #depth "_wgmma", \
   .backend = Backend::Cuda,                                          \
   .op = Op::Gemm,                                                    \
   .operands = kSingle,                                               \
   .outputs = kFloats,                                                \
   .path = Path::Matrix,                                              \
   .needs = kSm90a,                                                   \
   .tile_m = rows,                                                    \
   .tile_n = columns,                                                 \
   .tile_k = depth,                                                   \
   .reduction = Reduction::WgmmaPartsF32,                             \
   .flops_per_cycle = 682,                                            \
   .form = TileForm::Cooperative,                                     \
   .consumers = count,                                                \
   .splits_f32 = true,                                                \
   .gates = true},
#define GIRIH_CUDA_SKINNY(types, rows, columns, depth, in, out, unit, sum, flops) \
  {.name = "cuda_gemm_" #types "_" #rows "x" #columns "_skinny",                  \
   .backend = Backend::Cuda,                                                      \
   .op = Op::Gemm,                                                                \
   .operands = in,                                                                \
   .outputs = out,                                                                \
   .path = Path::unit,                                                            \
   .needs = kSm80,                                                                \
   .tile_m = rows,                                                                \
   .tile_n = columns,                                                             \
   .tile_k = depth,                                                               \
   .reduction = Reduction::sum,                                                   \
   .flops_per_cycle = flops,                                                      \
   .skinny = true,                                                                \
   .gates = true},
#define GIRIH_CUDA_ELEMENTWISE(which, text, types, rows, columns, in, out) \
  {.name = "cuda_" #text "_" #types "_" #rows "x" #columns "_simt",        \
   .backend = Backend::Cuda,                                               \
   .op = Op::which,                                                        \
   .operands = in,                                                         \
   .outputs = out,                                                         \
   .path = Path::Portable,                                                 \
   .needs = kSm80,                                                         \
   .tile_m = rows,                                                         \
   .tile_n = columns},
#define GIRIH_CUDA_GROUPED_WGMMA(rows, columns, depth, count, target)            \
  {.name = "cuda_grouped_gemm_16bit_" #rows "x" #columns "x" #depth "_" #target, \
   .backend = Backend::Cuda,                                                     \
   .op = Op::GroupedGemm,                                                        \
   .operands = kHalves,                                                          \
   .outputs = kFloats,                                                           \
   .path = Path::Matrix,                                                         \
   .needs = kSm90a,                                                              \
   .tile_m = rows,                                                               \
   .tile_n = columns,                                                            \
   .tile_k = depth,                                                              \
   .reduction = Reduction::WgmmaF32,                                             \
   .flops_per_cycle = 4096,                                                      \
   .form = TileForm::Cooperative,                                                \
   .consumers = count,                                                           \
   .gates = true},
#define GIRIH_CUDA_GROUPED_SIMT(types, rows, columns, depth, in, out, sum, flops) \
  {.name = "cuda_grouped_gemm_" #types "_" #rows "x" #columns "_simt",            \
   .backend = Backend::Cuda,                                                      \
   .op = Op::GroupedGemm,                                                         \
   .operands = in,                                                                \
   .outputs = out,                                                                \
   .path = Path::Portable,                                                        \
   .needs = kSm80,                                                                \
   .tile_m = rows,                                                                \
   .tile_n = columns,                                                             \
   .tile_k = depth,                                                               \
   .reduction = Reduction::sum,                                                   \
   .flops_per_cycle = flops,                                                      \
   .gates = true},
constexpr KernelInfo kRows[] = {
#include "backends/cuda/kernels.inc"
};
#undef GIRIH_CUDA_GROUPED_SIMT
#undef GIRIH_CUDA_GROUPED_WGMMA
#undef GIRIH_CUDA_ELEMENTWISE
#undef GIRIH_CUDA_FAST_F32
#undef GIRIH_CUDA_SKINNY
#undef GIRIH_CUDA_SIMT_GEMM
#undef GIRIH_CUDA_WGMMA_OF
#undef GIRIH_CUDA_MMA
#undef GIRIH_CUDA_WGMMA

}  // namespace

std::span<const KernelInfo> kernel_table() noexcept {
  return kRows;
}

}  // namespace girih::inline v0::cuda
