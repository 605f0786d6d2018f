#pragma once

#include <cstdint>

// Geometry of the wgmma tiles of sm_90a, shared by the kernels, the host that encodes tensor
// maps and launches, and the selection model. Included by device code: no other header belongs
// here.

namespace girih::inline v0::cuda {

// TF32: f32 in memory, of which a tensor copy keeps 10 fraction bits.
enum class Element : std::uint8_t { F32, BF16, F16, I8, I32, F8E4M3, F8E5M2, TF32 };

// Which extent of an operand is contiguous in memory: K, or its own (M for A, N for B).
enum class Major : std::uint8_t { K, MN };

constexpr int element_bytes(Element e) {
  switch (e) {
    case Element::F32:
    case Element::I32:
    case Element::TF32:
      return 4;
    case Element::I8:
    case Element::F8E4M3:
    case Element::F8E5M2:
      return 1;
    default:
      return 2;
  }
}

constexpr int kSharedLimit = 232448;  // 227 KiB: the most one sm_90 block may use
constexpr int kBarrierBytes = 256;    // full and empty barriers of at most 16 stages
constexpr int kMaxStages = 12;
constexpr int kSwizzleBytes = 128;  // of K in a row of shared memory
constexpr int kSliceBytes = 32;     // of K in one instruction, whatever the type

// Cooperative: the consumers split the rows of one tile. PingPong: each consumer owns whole tiles
// in turn, so that one's epilogue runs under the other's products. ClusterSplit: cooperative, one
// tile a cluster, K split over its blocks.
enum class TileForm : std::uint8_t { None, Cooperative, PingPong, ClusterSplit };

// One tile shape. `rows` is the side that wgmma calls M (64 an instruction), `cols` the side it
// calls N.
struct TileConfig {
  int rows;
  int cols;
  int depth;      // K elements a stage: a multiple of 128 bytes
  int consumers;  // consumer warpgroups: 1 or 2
  TileForm form;
  int bytes = 2;               // of an operand's element. Others than 16-bit ones are K-major only
  bool promotes = false;       // sums of 128 of K are added to f32 registers, see docs/numerics.md
  bool scales_blocks = false;  // on the way they are multiplied by the factors of their block
};

constexpr int consumer_rows(TileConfig c) {
  return c.form == TileForm::PingPong ? c.rows : c.rows / c.consumers;
}
// Promoted sums of 64 rows a consumer, in two sets beside the accumulators: one is added while the
// next is made.
constexpr bool promotes_in_turns(TileConfig c) {
  return c.promotes && !c.scales_blocks && consumer_rows(c) == 64 && c.cols <= 128 &&
         c.depth * c.bytes == kSwizzleBytes;
}
constexpr int tile_threads(TileConfig c) {
  return 128 * (c.consumers + 1);
}

// Contiguous elements of one box of an operand. K-major: 128 bytes of K (128-byte swizzle) by all
// rows. MN-major, 16-bit types alone: 64 of the extent by the depth of a stage; an extent that is
// no multiple of 64 is loaded beyond its end (96 and 160 columns in boxes of 32 were 15 % slower
// than 128 and 192 in boxes of 64, though fewer bytes). Only extents below 64 take narrow boxes.
constexpr int box_width(Major major, int extent, int bytes) {
  return major == Major::K ? kSwizzleBytes / bytes : extent >= 64 ? 64 : extent;
}
constexpr int loaded_extent(Major major, int extent) {
  return major == Major::K || extent < 64 ? extent : (extent + 63) / 64 * 64;
}

// What a stage holds: both operands, in the layout that memory has them in.
constexpr int stage_bytes(TileConfig c, Major rows, Major cols) {
  return (loaded_extent(rows, c.rows) + loaded_extent(cols, c.cols)) * c.depth * c.bytes;
}
// Columns of a tile in one output box of a 2-byte type, which has one warp's 16 rows. Of 192
// columns 64 would fit as well, but then one stage less does.
constexpr int store_columns(int cols) {
  return cols % 64 == 0 && cols != 192 ? 64 : cols % 32 == 0 ? 32 : 16;
}
constexpr int kStoreRows = 16;
// One warp's: a chunk of f32, or two boxes of a 2-byte type.
constexpr int warp_staging_bytes(int cols) {
  return kStoreRows * store_columns(cols) * 4;
}
constexpr int staging_bytes(TileConfig c) {
  return c.consumers * 4 * warp_staging_bytes(c.cols);
}
// Scales of rows and columns in the epilogue of boxes: 8-bit operands have them as a rule, and the
// general epilogue stores an eighth as fast.
constexpr bool scales_in_boxes(TileConfig c) {
  return c.bytes == 1;
}
// f32, one copy a consumer: a bias a column, and a scale.
constexpr int bias_bytes(TileConfig c) {
  return c.consumers * c.cols * 4 * (scales_in_boxes(c) ? 2 : 1);
}
constexpr int stage_count(TileConfig c, Major rows, Major cols) {
  const int fit = (kSharedLimit - staging_bytes(c) - bias_bytes(c) - kBarrierBytes) /
                  stage_bytes(c, rows, cols);
  return fit < kMaxStages ? fit : kMaxStages;
}
constexpr int shared_bytes(TileConfig c, Major rows, Major cols) {
  return stage_count(c, rows, cols) * stage_bytes(c, rows, cols) + staging_bytes(c) +
         bias_bytes(c) + kBarrierBytes;
}

// What one tensor-map box holds when `share` blocks of a cluster each load a part and multicast it.
// K-major boxes are cut along the rows, MN-major ones along K: either way every part starts on a
// swizzle period.
struct Box {
  int inner;
  int outer;
};
constexpr Box operand_box(Major major, int extent, int depth, int share, int bytes) {
  const int width = box_width(major, extent, bytes);
  if (major == Major::K) return {width, extent / share};
  return {width, depth / share};
}

constexpr Box output_box(TileConfig c, bool transposed) {
  const int columns = store_columns(c.cols);
  return transposed ? Box{kStoreRows, columns} : Box{columns, kStoreRows};
}

// A tile whose two halves of columns are a gate's, each of whole boxes, joined in registers. Tiles
// of one consumer go without: with the gate's code plain products of 64 x 128 took 2 % longer.
constexpr bool gates_in_registers(TileConfig c) {
  return c.bytes == 2 && c.consumers == 2 && c.form != TileForm::ClusterSplit &&
         (c.cols == 128 || c.cols == 256);
}

// In a cluster that splits K every block makes the partial product of one slice; block r then
// collects, adds in slice order and stores the chunks of columns c with c % blocks == r. What it
// collects and what it sends must fit its ring of stages, which is 160 KiB or more in every layout.
constexpr int chunk_count(TileConfig c) {
  return consumer_rows(c) / 64 * c.cols / store_columns(c.cols);
}
constexpr int chunk_bytes(TileConfig c) {
  return c.consumers * 4 * kStoreRows * store_columns(c.cols) * 4;
}
constexpr bool cluster_split_fits(TileConfig c, int blocks) {
  const int owned = (chunk_count(c) + blocks - 1) / blocks, sent = chunk_count(c) - owned;
  return c.form == TileForm::ClusterSplit &&
         (owned * (blocks - 1) + sent) * chunk_bytes(c) <= 160 * 1024;
}

// The order in which tiles are visited: bands of `group` tiles along the rows (or the columns),
// each band crossed in the other direction. It changes which operands meet in L2, never a bit of
// the result.
struct TileBands {
  std::int32_t group = 8;
  bool band_columns = false;
};

}  // namespace girih::inline v0::cuda
