// Products by matmul2d: operands from memory, sums in a cooperative tensor whose elements are found
// through its own queries only, so that one source is right for every layout. A and B have a stride
// of 1 each: rows of K for N, of M or N for T. One launch computes tiles of C over all of K.
#include "backends/metal/kernels/epilogue.h"
#include "backends/metal/kernels/tile_walk.h"
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>

using namespace mpp::tensor_ops;

// One operand's part, rows x columns. The part's first element is where the pointer is, so that
// offsets in it stay below 2^31, which is what they are counted in; the extents end where the operand
// does, and matmul2d reads zero beyond.
template <typename T, bool kIsTransposed>
inline auto matrix_of(device T* data, int rows, int columns, constant StridedView& view) {
  const int fast = kIsTransposed ? rows : columns, slow = kIsTransposed ? columns : rows;
  const int stride = int(kIsTransposed ? view.column : view.row);
  return tensor(data, dextents<int32_t, 2>(fast, slow), array<int, 2>{1, stride});
}

// A tile of C, kRows x kColumns, from one product, or with a gate from two: of g and of u. Their
// cooperative tensors are of one type, so that an index means the same element in both.
template <typename T, typename Sum, int kRows, int kColumns, int kSimdgroups, bool kTransposeA,
          bool kTransposeB, bool kIsGated>
inline void multiply_tile(device T* a, device T* b, device uchar* partials, TilePlace place,
                          thread const EpilogueBuffers& buffers, constant GemmParams& p) {
  // f32 operands come rounded to tf32 already: relaxed precision takes nothing from them.
  constexpr bool kIsTf32 = is_same_v<T, float>;
  constexpr auto descriptor = matmul2d_descriptor(
      kRows, kColumns, static_cast<int>(dynamic_extent), kTransposeA, kTransposeB, kIsTf32,
      matmul2d_descriptor::mode::multiply_accumulate);
  matmul2d<descriptor, execution_simdgroups<kSimdgroups>> product;
  const Index row = place.tile_m * kRows, column = place.tile_n * kColumns;
  const int rows = int(min(p.m - row, Index(kRows)));
  const int columns = int(min(p.n - column, Index(kColumns)));
  device T* const a_part = a + place.batch * p.a.batch + row * p.a.row;
  device T* const b_part = b + place.batch * p.b.batch + column * p.b.column;
  // For their types alone, which the sums are made for.
  auto a_first = matrix_of<T, kTransposeA>(a_part, rows, 0, p.a);
  auto b_first = matrix_of<T, kTransposeB>(b_part, 0, columns, p.b);
  auto a_none = a_first.slice(0, 0);
  auto b_none = b_first.slice(0, 0);
  auto sums = product.template get_destination_cooperative_tensor<
      remove_addrspace_t<decltype(a_none)>, remove_addrspace_t<decltype(b_none)>, Sum>();
#pragma clang loop unroll(full)
  for (ushort i = 0; i < sums.get_capacity(); ++i) {
    if (sums.is_valid_element(i)) sums[i] = Sum(0);
  }
  for (Index k = place.first_k; k < place.end_k; k += p.run) {
    const int depth = int(min(p.run, place.end_k - k));
    auto a_whole = matrix_of<T, kTransposeA>(a_part + k * p.a.column, rows, depth, p.a);
    auto b_whole = matrix_of<T, kTransposeB>(b_part + k * p.b.row, depth, columns, p.b);
    auto a_tile = a_whole.slice(0, 0);
    auto b_tile = b_whole.slice(0, 0);
    product.run(a_tile, b_tile, sums);
  }
  if constexpr (kIsGated) {
    auto up_sums = product.template get_destination_cooperative_tensor<
        remove_addrspace_t<decltype(a_none)>, remove_addrspace_t<decltype(b_none)>, Sum>();
#pragma clang loop unroll(full)
    for (ushort i = 0; i < up_sums.get_capacity(); ++i) {
      if (up_sums.is_valid_element(i)) up_sums[i] = Sum(0);
    }
    for (Index k = place.first_k; k < place.end_k; k += p.run) {
      const int depth = int(min(p.run, place.end_k - k));
      auto a_whole = matrix_of<T, kTransposeA>(a_part + k * p.a.column, rows, depth, p.a);
      auto up_whole =
          matrix_of<T, kTransposeB>(b_part + p.b_up + k * p.b.row, depth, columns, p.b);
      auto a_tile = a_whole.slice(0, 0);
      auto up_tile = up_whole.slice(0, 0);
      product.run(a_tile, up_tile, up_sums);
    }
#pragma clang loop unroll(full)
    for (ushort i = 0; i < sums.get_capacity(); ++i) {
      if (!sums.is_valid_element(i)) continue;
      const auto at = sums.get_multidimensional_index(i);
      if (at[1] >= rows || at[0] >= columns) continue;
      deliver_gated(sums[i], up_sums[i], row + at[1], column + at[0], place.batch, place.slice,
                    partials, buffers, p);
    }
  } else {
#pragma clang loop unroll(full)
    for (ushort i = 0; i < sums.get_capacity(); ++i) {
      if (!sums.is_valid_element(i)) continue;
      const auto at = sums.get_multidimensional_index(i);
      if (at[1] >= rows || at[0] >= columns) continue;
      deliver(sums[i], row + at[1], column + at[0], place.batch, place.slice, partials, buffers, p);
    }
  }
}

template <typename T, typename Sum, int kRows, int kColumns, int kSimdgroups, bool kTransposeA,
          bool kTransposeB>
[[kernel, max_total_threads_per_threadgroup(128)]] void gemm_tensor(
    device T* a [[buffer(0)]], device T* b [[buffer(1)]], device uchar* c [[buffer(2)]],
    device const uchar* residual [[buffer(3)]], device const uchar* bias [[buffer(4)]],
    device const float* a_scale [[buffer(5)]], device const float* b_scale [[buffer(6)]],
    device const float* alpha [[buffer(7)]], device const float* beta [[buffer(8)]],
    device uchar* partials [[buffer(9)]], constant GemmParams& p [[buffer(10)]],
    uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]]) {
  static_assert(kRows % 16 == 0 && kColumns % 32 == 0, "matmul2d has no such tile");
  static_assert(kSimdgroups == 4, "the kernel is bounded at 128 threads");
  const EpilogueBuffers buffers = {c, residual, bias, a_scale, b_scale, alpha, beta};
  for (Index unit = group; unit < p.units; unit += groups) {
    const TilePlace place = place_of(unit, p);
    if (p.is_gated != 0) {
      multiply_tile<T, Sum, kRows, kColumns / 2, kSimdgroups, kTransposeA, kTransposeB, true>(
          a, b, partials, place, buffers, p);
    } else {
      multiply_tile<T, Sum, kRows, kColumns, kSimdgroups, kTransposeA, kTransposeB, false>(
          a, b, partials, place, buffers, p);
    }
  }
}

GIRIH_INSTANTIATE("metal_gemm_16bit_128x64_tensorops_bf16_nn",
                  gemm_tensor<bfloat, float, 128, 64, 4, false, false>);
GIRIH_INSTANTIATE("metal_gemm_16bit_128x64_tensorops_bf16_nt",
                  gemm_tensor<bfloat, float, 128, 64, 4, false, true>);
GIRIH_INSTANTIATE("metal_gemm_16bit_128x64_tensorops_bf16_tn",
                  gemm_tensor<bfloat, float, 128, 64, 4, true, false>);
GIRIH_INSTANTIATE("metal_gemm_16bit_128x64_tensorops_bf16_tt",
                  gemm_tensor<bfloat, float, 128, 64, 4, true, true>);
GIRIH_INSTANTIATE("metal_gemm_16bit_128x64_tensorops_f16_nn",
                  gemm_tensor<half, float, 128, 64, 4, false, false>);
GIRIH_INSTANTIATE("metal_gemm_16bit_128x64_tensorops_f16_nt",
                  gemm_tensor<half, float, 128, 64, 4, false, true>);
GIRIH_INSTANTIATE("metal_gemm_16bit_128x64_tensorops_f16_tn",
                  gemm_tensor<half, float, 128, 64, 4, true, false>);
GIRIH_INSTANTIATE("metal_gemm_16bit_128x64_tensorops_f16_tt",
                  gemm_tensor<half, float, 128, 64, 4, true, true>);
GIRIH_INSTANTIATE("metal_gemm_16bit_64x64_tensorops_bf16_nn",
                  gemm_tensor<bfloat, float, 64, 64, 4, false, false>);
GIRIH_INSTANTIATE("metal_gemm_16bit_64x64_tensorops_bf16_nt",
                  gemm_tensor<bfloat, float, 64, 64, 4, false, true>);
GIRIH_INSTANTIATE("metal_gemm_16bit_64x64_tensorops_bf16_tn",
                  gemm_tensor<bfloat, float, 64, 64, 4, true, false>);
GIRIH_INSTANTIATE("metal_gemm_16bit_64x64_tensorops_bf16_tt",
                  gemm_tensor<bfloat, float, 64, 64, 4, true, true>);
GIRIH_INSTANTIATE("metal_gemm_16bit_64x64_tensorops_f16_nn",
                  gemm_tensor<half, float, 64, 64, 4, false, false>);
GIRIH_INSTANTIATE("metal_gemm_16bit_64x64_tensorops_f16_nt",
                  gemm_tensor<half, float, 64, 64, 4, false, true>);
GIRIH_INSTANTIATE("metal_gemm_16bit_64x64_tensorops_f16_tn",
                  gemm_tensor<half, float, 64, 64, 4, true, false>);
GIRIH_INSTANTIATE("metal_gemm_16bit_64x64_tensorops_f16_tt",
                  gemm_tensor<half, float, 64, 64, 4, true, true>);
GIRIH_INSTANTIATE("metal_gemm_i8_64x64_tensorops_i8_nn",
                  gemm_tensor<int8_t, int32_t, 64, 64, 4, false, false>);
GIRIH_INSTANTIATE("metal_gemm_i8_64x64_tensorops_i8_nt",
                  gemm_tensor<int8_t, int32_t, 64, 64, 4, false, true>);
GIRIH_INSTANTIATE("metal_gemm_i8_64x64_tensorops_i8_tn",
                  gemm_tensor<int8_t, int32_t, 64, 64, 4, true, false>);
GIRIH_INSTANTIATE("metal_gemm_i8_64x64_tensorops_i8_tt",
                  gemm_tensor<int8_t, int32_t, 64, 64, 4, true, true>);
GIRIH_INSTANTIATE("metal_gemm_f32_64x64_tensorops_f32_nn",
                  gemm_tensor<float, float, 64, 64, 4, false, false>);
