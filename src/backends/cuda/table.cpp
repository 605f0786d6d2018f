#include "backends/cuda/device.hpp"

namespace girih::inline v0::cuda {
namespace {

constexpr DTypes kHalves = {DType::BF16, DType::F16};
constexpr DTypes kFloats = {DType::F32, DType::BF16, DType::F16};
constexpr DTypes kInt8 = {DType::I8};
constexpr DTypes kInt8Outputs = {DType::F32, DType::BF16, DType::F16, DType::I32};
constexpr DTypes kCastable = {DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2};
constexpr DTypes kAnyType = {DType::F32,    DType::F64, DType::BF16, DType::F16, DType::F8E4M3,
                             DType::F8E5M2, DType::I8,  DType::U8,   DType::I32, DType::I4};
constexpr DTypes kF32 = {DType::F32};
constexpr DTypes kWholeBytes = {DType::F32,    DType::BF16, DType::F16, DType::F8E4M3,
                                DType::F8E5M2, DType::I8,   DType::U8,  DType::I32};
constexpr Features kSm90a = {Feature::Sm90a};

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
#define GIRIH_CUDA_SIMT_GEMM(types, rows, columns, depth, in, out, sum, flops) \
  {.name = "cuda_gemm_" #types "_" #rows "x" #columns "_simt",                 \
   .backend = Backend::Cuda,                                                   \
   .op = Op::Gemm,                                                             \
   .operands = in,                                                             \
   .outputs = out,                                                             \
   .path = Path::Portable,                                                     \
   .needs = kSm90a,                                                            \
   .tile_m = rows,                                                             \
   .tile_n = columns,                                                          \
   .tile_k = depth,                                                            \
   .reduction = Reduction::sum,                                                \
   .flops_per_cycle = flops,                                                   \
   .gates = true},
#define GIRIH_CUDA_ELEMENTWISE(which, text, types, rows, columns, in, out) \
  {.name = "cuda_" #text "_" #types "_" #rows "x" #columns "_simt",        \
   .backend = Backend::Cuda,                                               \
   .op = Op::which,                                                        \
   .operands = in,                                                         \
   .outputs = out,                                                         \
   .path = Path::Portable,                                                 \
   .needs = kSm90a,                                                        \
   .tile_m = rows,                                                         \
   .tile_n = columns},
#define GIRIH_CUDA_GROUPED_WGMMA(rows, columns, depth, count, target)       \
  {.name = "cuda_grouped_gemm_16bit_" #rows "x" #columns "x" #depth "_" #target, \
   .backend = Backend::Cuda,                                                \
   .op = Op::GroupedGemm,                                                   \
   .operands = kHalves,                                                     \
   .outputs = kFloats,                                                      \
   .path = Path::Matrix,                                                    \
   .needs = kSm90a,                                                         \
   .tile_m = rows,                                                          \
   .tile_n = columns,                                                       \
   .tile_k = depth,                                                         \
   .reduction = Reduction::WgmmaF32,                                        \
   .flops_per_cycle = 4096,                                                 \
   .form = TileForm::Cooperative,                                           \
   .consumers = count,                                                      \
   .gates = true},
#define GIRIH_CUDA_GROUPED_SIMT(types, rows, columns, depth, in, out, sum, flops) \
  {.name = "cuda_grouped_gemm_" #types "_" #rows "x" #columns "_simt",                 \
   .backend = Backend::Cuda,                                                      \
   .op = Op::GroupedGemm,                                                         \
   .operands = in,                                                                \
   .outputs = out,                                                                \
   .path = Path::Portable,                                                        \
   .needs = kSm90a,                                                               \
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
#undef GIRIH_CUDA_SIMT_GEMM
#undef GIRIH_CUDA_WGMMA

}  // namespace

std::span<const KernelInfo> kernel_table() noexcept {
  return kRows;
}

}  // namespace girih::inline v0::cuda
