// C = A B, row-major f32 C, in three ways: through simdgroup_matrix, through matmul2d from memory,
// and through matmul2d with operands in registers.
#include "backends/metal/kernels/msl.h"
#include <metal_simdgroup_matrix>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

struct ProductArguments {
  int m, n, k;
};

enum Fault { kNone, kNoBarrierInLoop, kLoadsPastEnd, kStoresPastEnd, kStaticDepth, kWrongScope, kAssumesLayout, kDifferentOperands, kWrongDepth, kUsesInvalidSlot, kPastCapacity, kFarRows, kRaggedRows };

constant constexpr short kTile = 32, kDepth = 16, kPad = 4;

template <typename T, Fault kFault>
[[kernel, max_total_threads_per_threadgroup(128)]] void product_simdgroup(
    device const T* a [[buffer(0)]], device const T* b [[buffer(1)]],
    device float* c [[buffer(2)]], constant ProductArguments& arguments [[buffer(3)]],
    uint2 place [[threadgroup_position_in_grid]], ushort thread_index [[thread_index_in_threadgroup]],
    ushort group [[simdgroup_index_in_threadgroup]]) {
  GIRIH_THREADGROUP_ARRAY(T, a_tile, kTile * (kDepth + kPad));
  GIRIH_THREADGROUP_ARRAY(T, b_tile, kDepth * (kTile + kPad));
  GIRIH_THREADGROUP_ARRAY(float, c_tile, kTile * kTile);
  const int m = arguments.m, n = arguments.n, k = arguments.k;
  const int row = int(place.y) * kTile, column = int(place.x) * kTile;
  const short own_row = (group / 2) * 16, own_column = (group % 2) * 16;
  simdgroup_float8x8 sums[2][2];
  for (short i = 0; i < 2; ++i) {
    for (short j = 0; j < 2; ++j) sums[i][j] = make_filled_simdgroup_matrix<float, 8>(0.0f);
  }
  for (int first = 0; first < k; first += kDepth) {
    for (short i = short(thread_index); i < kTile * kDepth; i += 128) {
      const short r = i / kDepth, d = i % kDepth;
      const bool inside = row + r < m && first + d < k;
      T value = T(0);
      if (inside) value = a[ulong(row + r) * ulong(k) + ulong(first + d)];
      a_tile[r * (kDepth + kPad) + d] = value;
    }
    for (short i = short(thread_index); i < kTile * kDepth; i += 128) {
      const short d = i / kTile, j = i % kTile;
      const bool inside = first + d < k && (kFault == kLoadsPastEnd || column + j < n);
      T value = T(0);
      if (inside) value = b[ulong(first + d) * ulong(n) + ulong(column + j)];  // fault: kLoadsPastEnd
      b_tile[d * (kTile + kPad) + j] = value;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (short d = 0; d < kDepth; d += 8) {
      simdgroup_matrix<T, 8, 8> left[2], right[2];
      for (short i = 0; i < 2; ++i) {
        simdgroup_load(left[i], a_tile + (own_row + 8 * i) * (kDepth + kPad) + d, kDepth + kPad);
        simdgroup_load(right[i], b_tile + d * (kTile + kPad) + own_column + 8 * i, kTile + kPad);
      }
      for (short i = 0; i < 2; ++i) {
        for (short j = 0; j < 2; ++j) {
          simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
        }
      }
    }
    if (kFault != kNoBarrierInLoop) threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (short i = 0; i < 2; ++i) {
    for (short j = 0; j < 2; ++j) {
      simdgroup_store(sums[i][j], c_tile + (own_row + 8 * i) * kTile + own_column + 8 * j, kTile);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (short i = short(thread_index); i < kTile * kTile; i += 128) {
    const short r = i / kTile, j = i % kTile;
    const bool inside = row + r < m && (kFault == kStoresPastEnd || column + j < n);
    if (inside) c[ulong(row + r) * ulong(n) + ulong(column + j)] = c_tile[i];  // fault: kStoresPastEnd
  }
}
GIRIH_INSTANTIATE("product_simdgroup_f32", product_simdgroup<float, kNone>);
GIRIH_INSTANTIATE("product_simdgroup_f16", product_simdgroup<half, kNone>);
GIRIH_INSTANTIATE("kNoBarrierInLoop", product_simdgroup<float, kNoBarrierInLoop>);
GIRIH_INSTANTIATE("kLoadsPastEnd", product_simdgroup<float, kLoadsPastEnd>);
GIRIH_INSTANTIATE("kStoresPastEnd", product_simdgroup<float, kStoresPastEnd>);

constant constexpr int kRows = 64, kColumns = 32;

// Elements from one row to the next: rows of matmul2d's operands start at multiples of 16 bytes.
template <typename T>
inline int row_stride(int columns) {
  constexpr int unit = 16 / int(sizeof(T));
  return (columns + unit - 1) / unit * unit;
}

template <typename T, typename D, Fault kFault>
[[kernel, max_total_threads_per_threadgroup(128)]] void product_tensor(
    device T* a [[buffer(0)]], device T* b [[buffer(1)]], device D* c [[buffer(2)]],
    constant ProductArguments& arguments [[buffer(3)]],
    uint2 place [[threadgroup_position_in_grid]],
    ushort thread_index [[thread_index_in_threadgroup]]) {
  const int m = arguments.m, n = arguments.n, k = arguments.k;
  const int row = int(place.y) * kRows, column = int(place.x) * kColumns;
  auto left = tensor(a, dextents<int32_t, 2>(k, m), array<int, 2>{1, row_stride<T>(k)});
  int b_stride = row_stride<T>(n);
  if (kFault == kFarRows) b_stride = row_stride<T>(0x7FFFFFF0 / (k - 1) + 16);
  if (kFault == kRaggedRows) b_stride -= 1;
  auto right = tensor(b, dextents<int32_t, 2>(n, kFault == kWrongDepth ? k - 1 : k), array<int, 2>{1, b_stride});
  constexpr int depth = kFault == kStaticDepth ? 32 : static_cast<int>(dynamic_extent);
  constexpr auto descriptor = matmul2d_descriptor(
      kRows, kColumns, depth, false, false, false, matmul2d_descriptor::mode::multiply_accumulate);
  matmul2d<descriptor, execution_simdgroups<kFault == kWrongScope ? 2 : 4>> product;
  auto a_tile = left.slice(0, kFault == kDifferentOperands && thread_index == 7 ? row + 1 : row);
  auto b_tile = right.slice(column, 0);
  auto sums = product.template get_destination_cooperative_tensor<remove_addrspace_t<decltype(a_tile)>, remove_addrspace_t<decltype(b_tile)>, D>();
  for (ushort i = 0; i < sums.get_capacity(); ++i) {
    if (sums.is_valid_element(i)) sums[i] = D(0);
  }
  if (kFault == kStaticDepth) {
    for (int first = 0; first < k; first += 32) {
      auto a_part = left.slice(first, row);
      auto b_part = right.slice(column, first);
      product.run(a_part, b_part, sums);  // fault: kStaticDepth
    }
  } else {
    product.run(a_tile, b_tile, sums);  // fault: kWrongScope kDifferentOperands kWrongDepth kFarRows kRaggedRows
  }
  for (ushort i = 0; i < sums.get_capacity(); ++i) {
    if (kFault == kAssumesLayout) {
      const int r = row + int(thread_index) / 2, j = column + int(thread_index) % 2 * 16 + int(i);
      if (i < 16 && r < m && j < n) c[ulong(r) * ulong(n) + ulong(j)] = sums[i];
      continue;
    }
    if (kFault == kPastCapacity) sums[ushort(sums.get_capacity() + i)] = D(0);  // fault: kPastCapacity
    if (kFault != kUsesInvalidSlot && !sums.is_valid_element(i)) continue;
    const auto at = sums.get_multidimensional_index(i);  // fault: kUsesInvalidSlot
    const int r = row + at[1], j = column + at[0];
    if (r < m && j < n) c[ulong(r) * ulong(n) + ulong(j)] = sums[i];
  }
}
GIRIH_INSTANTIATE("product_tensor_f32", product_tensor<float, float, kNone>);
GIRIH_INSTANTIATE("product_tensor_f16", product_tensor<half, float, kNone>);
GIRIH_INSTANTIATE("product_tensor_bf16", product_tensor<bfloat, float, kNone>);
GIRIH_INSTANTIATE("product_tensor_i8", product_tensor<int8_t, int32_t, kNone>);
GIRIH_INSTANTIATE("kStaticDepth", product_tensor<half, float, kStaticDepth>);
GIRIH_INSTANTIATE("kWrongScope", product_tensor<half, float, kWrongScope>);
GIRIH_INSTANTIATE("kAssumesLayout", product_tensor<half, float, kAssumesLayout>);
GIRIH_INSTANTIATE("kDifferentOperands", product_tensor<half, float, kDifferentOperands>);
GIRIH_INSTANTIATE("kWrongDepth", product_tensor<half, float, kWrongDepth>);
GIRIH_INSTANTIATE("kUsesInvalidSlot", product_tensor<half, float, kUsesInvalidSlot>);
GIRIH_INSTANTIATE("kPastCapacity", product_tensor<half, float, kPastCapacity>);
GIRIH_INSTANTIATE("kFarRows", product_tensor<half, float, kFarRows>);
GIRIH_INSTANTIATE("kRaggedRows", product_tensor<half, float, kRaggedRows>);

template <typename T>
[[kernel, max_total_threads_per_threadgroup(64)]] void product_registers(
    device const T* a [[buffer(0)]], device const T* b [[buffer(1)]],
    device float* c [[buffer(2)]], constant ProductArguments& arguments [[buffer(3)]],
    uint2 place [[threadgroup_position_in_grid]]) {
  const int m = arguments.m, n = arguments.n, k = arguments.k;
  constexpr auto descriptor = matmul2d_descriptor(
      16, 32, 16, false, false, false, matmul2d_descriptor::mode::multiply_accumulate);
  matmul2d<descriptor, execution_simdgroup> product;
  auto left = product.template get_left_input_cooperative_tensor<T, T, float>();
  auto right = product.template get_right_input_cooperative_tensor<T, T, float>();
  auto sums = product.template get_destination_cooperative_tensor<remove_addrspace_t<decltype(left)>, remove_addrspace_t<decltype(right)>, float>();
  const int row = int(place.y) * 16, column = int(place.x) * 32;
  for (ushort i = 0; i < sums.get_capacity(); ++i) {
    if (sums.is_valid_element(i)) sums[i] = 0.0f;
  }
  for (int first = 0; first < k; first += 16) {
    for (ushort i = 0; i < left.get_capacity(); ++i) {
      if (!left.is_valid_element(i)) continue;
      const auto at = left.get_multidimensional_index(i);
      const int r = row + at[1], d = first + at[0];
      left[i] = T(0);
      if (r < m && d < k) left[i] = a[r * k + d];
    }
    for (ushort i = 0; i < right.get_capacity(); ++i) {
      if (!right.is_valid_element(i)) continue;
      const auto at = right.get_multidimensional_index(i);
      const int d = first + at[1], j = column + at[0];
      right[i] = T(0);
      if (d < k && j < n) right[i] = b[d * n + j];
    }
    product.run(left, right, sums);
  }
  for (ushort i = 0; i < sums.get_capacity(); ++i) {
    if (!sums.is_valid_element(i)) continue;
    const auto at = sums.get_multidimensional_index(i);
    const int r = row + at[1], j = column + at[0];
    if (r < m && j < n) c[r * n + j] = sums[i];
  }
}
GIRIH_INSTANTIATE("product_registers_f16", product_registers<half>);
