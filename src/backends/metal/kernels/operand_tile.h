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
