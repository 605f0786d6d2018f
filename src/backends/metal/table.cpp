#include "backends/metal/device.hpp"

namespace girih::inline v0::metal {
namespace {

constexpr DTypes kSingle = {DType::F32};
constexpr DTypes kHalves = {DType::BF16, DType::F16};
constexpr DTypes kFloats = {DType::F32, DType::BF16, DType::F16};
constexpr DTypes kInt8 = {DType::I8};
constexpr DTypes kInt8Outputs = {DType::F32, DType::BF16, DType::F16, DType::I32};
constexpr DTypes kCastable = {DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2};
constexpr DTypes kAnyType = {DType::F32,    DType::F64, DType::BF16, DType::F16, DType::F8E4M3,
                             DType::F8E5M2, DType::I8,  DType::U8,   DType::I32, DType::I4};
constexpr Features kMetal4 = {Feature::Metal4};
constexpr Features kTensorOps = {Feature::Metal4, Feature::TensorOps};

#define GIRIH_METAL_GEMM(types, rows, columns, depth, simdgroups, target, way, features, in, out, \
                         sum, flops)                                                              \
  {.name = "metal_gemm_" #types "_" #rows "x" #columns "_" #target,                               \
   .backend = Backend::Metal,                                                                     \
   .op = Op::Gemm,                                                                                \
   .operands = in,                                                                                \
   .outputs = out,                                                                                \
   .path = Path::way,                                                                             \
   .needs = features,                                                                             \
   .tile_m = rows,                                                                                \
   .tile_n = columns,                                                                             \
   .tile_k = depth,                                                                               \
   .reduction = Reduction::sum,                                                                   \
   .flops_per_cycle = flops,                                                                      \
   .multiplies_tf32 = Path::way == Path::Matrix && (in).has(DType::F32),                          \
   .gates = true},
#define GIRIH_METAL_ELEMENTWISE(which, text, types, rows, columns, in, out) \
  {.name = "metal_" #text "_" #types "_" #rows "x" #columns "_simt",        \
   .backend = Backend::Metal,                                               \
   .op = Op::which,                                                         \
   .operands = in,                                                          \
   .outputs = out,                                                          \
   .path = Path::Portable,                                                  \
   .needs = kMetal4,                                                        \
   .tile_m = rows,                                                          \
   .tile_n = columns},
constexpr KernelInfo kRows[] = {
#include "backends/metal/kernels.inc"
};
#undef GIRIH_METAL_ELEMENTWISE
#undef GIRIH_METAL_GEMM

}  // namespace

std::span<const KernelInfo> kernel_table() noexcept {
  return kRows;
}

}  // namespace girih::inline v0::metal
