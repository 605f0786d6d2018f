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

struct Tile {
  std::int64_t m, n, k = 1;
};
struct Types {
  DTypes operands, outputs;
};

/// What every row states.
constexpr KernelInfo row_of(Op op, std::string_view name, Types types, Path path, Features needs,
                            Tile tile) {
  KernelInfo row;
  row.name = name;
  row.backend = Backend::Cuda;
  row.op = op;
  row.operands = types.operands;
  row.outputs = types.outputs;
  row.path = path;
  row.needs = needs;
  row.tile_m = tile.m;
  row.tile_n = tile.n;
  row.tile_k = tile.k;
  return row;
}
/// A product's: all of them end with a gate where one is asked for, and in 8 bits.
constexpr KernelInfo product(std::string_view name, Types types, Path path, Features needs,
                             Tile tile, Reduction reduction, double flops_per_cycle,
                             Op op = Op::Gemm) {
  KernelInfo row = row_of(op, name, types, path, needs, tile);
  row.reduction = reduction;
  row.flops_per_cycle = flops_per_cycle;
  row.gates = true;
  if (op == Op::Gemm) row.outputs = row.outputs.with(kQuantised);
  return row;
}
/// On Hopper's matrix unit.
constexpr KernelInfo on_wgmma(KernelInfo row, TileForm form, int consumers) {
  row.form = form;
  row.consumers = consumers;
  return row;
}
/// On that of any device since 8.0.
constexpr KernelInfo on_mma(KernelInfo row, std::string_view types) {
  if (types == "tf32") row.precision = Precision::Tf32;
  row.mma = true;
  return row;
}
constexpr KernelInfo for_few_rows(KernelInfo row) {
  row.skinny = true;
  return row;
}
constexpr KernelInfo in_three_parts(KernelInfo row) {
  row.splits_f32 = true;
  return row;
}

/// Rows of one kind of operands on Hopper's matrix unit.
struct Family {
  Types types;
  Reduction reduction;
  std::optional<Precision> precision;
  double flops_per_cycle;
  bool scales_blocks = false;
};
constexpr Family kFamily_i8{{kInt8, kInt8Outputs}, Reduction::ExactI32, {}, 8192};
constexpr Family kFamily_f8{{kEighths, kFloats}, Reduction::WgmmaF8, Precision::Exact, 8192};
constexpr Family kFamily_f8block{kFamily_f8.types, kFamily_f8.reduction, kFamily_f8.precision, 8192,
                                 true};
constexpr Family kFamily_f8fast{{kEighths, kFloats}, Reduction::WgmmaF8Fast, Precision::Fast, 8192};
constexpr Family kFamily_tf32{{kSingle, kFloats}, Reduction::WgmmaTf32, Precision::Tf32, 2048};

constexpr KernelInfo of_family(const Family& family, std::string_view name, Tile tile, int bytes,
                               TileForm form, int consumers) {
  KernelInfo row = on_wgmma(product(name, family.types, Path::Matrix, kSm90a, tile,
                                    family.reduction, family.flops_per_cycle),
                            form, consumers);
  row.operand_bytes = bytes;
  row.precision = family.precision;
  row.scales_blocks = family.scales_blocks;
  return row;
}

#define GIRIH_CUDA_TILE(rows, columns) #rows "x" #columns
#define GIRIH_CUDA_WGMMA(rows, columns, depth, count, shape, target)                         \
  on_wgmma(product("cuda_gemm_16bit_" GIRIH_CUDA_TILE(rows, columns) "x" #depth "_" #target, \
                   {kHalves, kFloats}, Path::Matrix, kSm90a, {rows, columns, depth},         \
                   Reduction::WgmmaF32, 4096),                                               \
           TileForm::shape, count),
#define GIRIH_CUDA_WGMMA_OF(types, bytes, promotes, rows, columns, depth, count, shape, target) \
  of_family(kFamily_##types,                                                                    \
            "cuda_gemm_" #types "_" GIRIH_CUDA_TILE(rows, columns) "x" #depth "_" #target,      \
            {rows, columns, depth}, bytes, TileForm::shape, count),
#define GIRIH_CUDA_MMA(types, rows, columns, depth, in, out, sum, flops)                   \
  on_mma(product("cuda_gemm_" #types "_" GIRIH_CUDA_TILE(rows, columns) "_mma", {in, out}, \
                 Path::Matrix, kSm80, {rows, columns, depth}, Reduction::sum, flops),      \
         #types),
#define GIRIH_CUDA_SIMT_GEMM(types, rows, columns, depth, in, out, sum, flops)       \
  product("cuda_gemm_" #types "_" GIRIH_CUDA_TILE(rows, columns) "_simt", {in, out}, \
          Path::Portable, kSm80, {rows, columns, depth}, Reduction::sum, flops),
#define GIRIH_CUDA_FAST_F32(rows, columns, depth, count)                                      \
  in_three_parts(                                                                             \
      on_wgmma(product("cuda_gemm_f32x3_" GIRIH_CUDA_TILE(rows, columns) "x" #depth "_wgmma", \
                       {kSingle, kFloats}, Path::Matrix, kSm90a, {rows, columns, depth},      \
                       Reduction::WgmmaPartsF32, 682),                                        \
               TileForm::Cooperative, count)),
#define GIRIH_CUDA_SKINNY(types, rows, columns, depth, in, out, unit, sum, flops)            \
  for_few_rows(product("cuda_gemm_" #types "_" GIRIH_CUDA_TILE(rows, columns) "_skinny",     \
                       {in, out}, Path::unit, kSm80, {rows, columns, depth}, Reduction::sum, \
                       flops)),
#define GIRIH_CUDA_ELEMENTWISE(which, text, types, rows, columns, in, out)               \
  row_of(Op::which, "cuda_" #text "_" #types "_" GIRIH_CUDA_TILE(rows, columns) "_simt", \
         {in, out}, Path::Portable, kSm80, {rows, columns}),
#define GIRIH_CUDA_GROUPED_WGMMA(rows, columns, depth, count, target)                           \
  on_wgmma(                                                                                     \
      product("cuda_grouped_gemm_16bit_" GIRIH_CUDA_TILE(rows, columns) "x" #depth "_" #target, \
              {kHalves, kFloats}, Path::Matrix, kSm90a, {rows, columns, depth},                 \
              Reduction::WgmmaF32, 4096, Op::GroupedGemm),                                      \
      TileForm::Cooperative, count),
#define GIRIH_CUDA_GROUPED_SIMT(types, rows, columns, depth, in, out, sum, flops)            \
  product("cuda_grouped_gemm_" #types "_" GIRIH_CUDA_TILE(rows, columns) "_simt", {in, out}, \
          Path::Portable, kSm80, {rows, columns, depth}, Reduction::sum, flops, Op::GroupedGemm),
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
#undef GIRIH_CUDA_TILE

}  // namespace

std::span<const KernelInfo> kernel_table() noexcept {
  return kRows;
}

}  // namespace girih::inline v0::cuda
