#include "backends/cuda/kernels/gemm_kernels.hpp"

#include "backends/cuda/kernels/f32_params.hpp"

namespace girih::inline v0::cuda {

#define GIRIH_GEMM_UNITS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define GIRIH_GEMM_UNIT(unit)                                     \
  const void* gemm_wgmma_bf16_##unit(int tile, Major a, Major b); \
  const void* gemm_wgmma_f16_##unit(int tile, Major a, Major b);
GIRIH_GEMM_UNITS(GIRIH_GEMM_UNIT)
#undef GIRIH_GEMM_UNIT

static_assert(!compiles(18, Element::BF16), "each of the nine units compiles two tiles");

const void* gemm_wgmma_i8(int tile);
const void* gemm_wgmma_f8e4m3(int tile);
const void* gemm_wgmma_f8e5m2(int tile);
const void* gemm_wgmma_tf32(int tile);

const void* gemm_wgmma_kernel(int tile, Element type, Major a, Major b) {
  if (!compiles(tile, type)) return nullptr;
  switch (type) {
    case Element::I8:
      return gemm_wgmma_i8(tile);
    case Element::F8E4M3:
      return gemm_wgmma_f8e4m3(tile);
    case Element::F8E5M2:
      return gemm_wgmma_f8e5m2(tile);
    case Element::TF32:
      return gemm_wgmma_tf32(tile);
    default:
      break;
  }
  switch (tile / 2) {
#define GIRIH_GEMM_UNIT(unit)                                         \
  case unit:                                                          \
    return type == Element::BF16 ? gemm_wgmma_bf16_##unit(tile, a, b) \
                                 : gemm_wgmma_f16_##unit(tile, a, b);
    GIRIH_GEMM_UNITS(GIRIH_GEMM_UNIT)
#undef GIRIH_GEMM_UNIT
    default:
      return nullptr;
  }
}

const void* gemm_f32_0(F32Load a, F32Load b);
const void* gemm_f32_1(F32Load a, F32Load b);
const void* gemm_f32_2(F32Load a, F32Load b);
const void* gemm_f32_3(F32Load a, F32Load b);

static_assert(kF32TileCount == 4);

const void* gemm_f32_kernel(int tile, F32Load a, F32Load b) {
  constexpr decltype(&gemm_f32_0) kOfTile[] = {gemm_f32_0, gemm_f32_1, gemm_f32_2, gemm_f32_3};
  return kOfTile[tile](a, b);
}

}  // namespace girih::inline v0::cuda
