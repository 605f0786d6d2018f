#pragma once

#include <cstdint>

// Geometry of the f32 products that run on fused multiply-adds, shared by the kernels, the host
// that launches them and the selection model. Included by device code: no other header belongs
// here.

namespace girih::inline v0::cuda {

// A block's tile of C and a thread's part of it. Lanes lie 4 along the rows and 8 along the columns
// of a warp's part, so that a warp has 4 * thread_rows by 8 * thread_cols.
struct F32Tile {
  int rows;
  int cols;
  int thread_rows;
  int thread_cols;
  int depth;                 // of K a stage
  int blocks;                // that registers leave room for on one multiprocessor
  bool in_clusters = false;  // whose blocks share a tile's K
};

constexpr F32Tile kF32Tiles[] = {
    {256, 128, 16, 8, 8, 1},
    {128, 128, 16, 8, 8, 2},
    {128, 64, 8, 8, 8, 3},
    {64, 64, 8, 4, 16, 4, true},
};
constexpr int kF32TileCount = sizeof(kF32Tiles) / sizeof(kF32Tiles[0]);
constexpr int kF32Stages = 4;
constexpr int kF32Band = 8;  // rows of tiles that are visited column by column

constexpr int f32_threads(F32Tile t) {
  return t.rows / t.thread_rows * (t.cols / t.thread_cols);
}
// Floats from one k to the next in shared memory. Four more than the extent: then a warp that
// writes 4 rows of 8 neighbouring k meets every bank once.
constexpr int f32_row(int extent) {
  return extent + 4;
}
constexpr int f32_stage_floats(F32Tile t) {
  return t.depth * (f32_row(t.rows) + f32_row(t.cols));
}
constexpr int f32_shared_bytes(F32Tile t) {
  return kF32Stages * f32_stage_floats(t) * 4;
}

// How one operand is copied into shared memory. Wide: pieces of 16 bytes along its extent, which is
// contiguous and aligned. AlongK: element by element, neighbouring threads along K. Any: element by
// element, along whichever has the smaller stride.
enum class F32Load : std::uint8_t { Wide, AlongK, Any };

// Copy `pass` of a thread begins at element (extent, k) = (first + pass * extent_step, first_k +
// pass * k_step) of a stage.
struct F32Copy {
  int first = 0, first_k = 0;
  int extent_step = 0, k_step = 0;
};
constexpr int f32_passes(int extent, int depth, int threads, F32Load load) {
  return extent * depth / (load == F32Load::Wide ? 4 : 1) / threads;
}
constexpr F32Copy f32_copy(int extent, int depth, int threads, F32Load load, bool along_k,
                           int thread) {
  if (load == F32Load::Wide) {
    const int pieces = extent / 4;
    return {thread % pieces * 4, thread / pieces, 0, threads / pieces};
  }
  if (load == F32Load::AlongK || along_k) {
    return {thread / depth, thread % depth, threads / depth, 0};
  }
  return {thread % extent, thread / extent, 0, threads / extent};
}
// Copies of a stage are spread over all of its k but the last: those before step d, of `passes`.
constexpr int f32_passes_before(int d, int depth, int passes) {
  return d >= depth - 1 ? passes : d * passes / (depth - 1);
}

// Which tile of C unit u of a slice is: bands of kF32Band rows of tiles, each walked column by
// column, so that blocks that run together share operands in L2.
struct F32Place {
  std::uint32_t row, col;
};
constexpr F32Place f32_place(std::uint32_t u, std::uint32_t tile_rows, std::uint32_t tile_cols) {
  const std::uint32_t width = kF32Band * tile_cols, band = u / width, in_band = u % width;
  const std::uint32_t left = tile_rows - band * kF32Band;
  const std::uint32_t height = left < kF32Band ? left : kF32Band;
  return {band * kF32Band + in_band % height, in_band / height};
}

// Where the k of slice `slice` begin; slice `slices` begins at the end. Slices are whole stages.
constexpr std::int64_t f32_slice_begin(std::int64_t k, int depth, int slices, int slice) {
  const std::int64_t stages = (k + depth - 1) / depth;
  const std::int64_t at = (stages * slice / slices) * depth;
  return at < k ? at : k;
}

}  // namespace girih::inline v0::cuda
