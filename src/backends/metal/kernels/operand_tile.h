#pragma once
#include "backends/metal/kernels/common.h"

// Loads `kRows` x `kColumns` elements of a matrix into threadgroup memory, zero where it has none.
// Neighbouring threads take neighbours in memory.
template <typename T, int kRows, int kColumns, int kStride>
inline void load_tile(device const T* data, Index row_stride, Index column_stride, Index rows,
                      Index columns, threadgroup T* tile, ushort thread_index, int threads) {
  const bool along_rows = row_stride == 1 && column_stride != 1;
  for (int i = thread_index; i < kRows * kColumns; i += threads) {
    const int row = along_rows ? i % kRows : i / kColumns;
    const int column = along_rows ? i / kRows : i % kColumns;
    T value = T(0);
    if (row < rows && column < columns) value = data[row * row_stride + column * column_stride];
    tile[row * kStride + column] = value;
  }
}

// A tile of B; of a gate's two halves, side by side, each zero beyond its own `columns`.
template <typename T, int kDepth, int kColumns, int kStride>
inline void load_b_tile(device const T* data, Index rows, Index columns, constant GemmParams& p,
                        threadgroup T* tile, ushort thread_index, int threads) {
  if (p.is_gated != 0) {
    load_tile<T, kDepth, kColumns / 2, kStride>(data, p.b.row, p.b.column, rows, columns, tile,
                                                thread_index, threads);
    load_tile<T, kDepth, kColumns / 2, kStride>(data + p.b_up, p.b.row, p.b.column, rows, columns,
                                                tile + kColumns / 2, thread_index, threads);
  } else {
    load_tile<T, kDepth, kColumns, kStride>(data, p.b.row, p.b.column, rows, columns, tile,
                                            thread_index, threads);
  }
}
