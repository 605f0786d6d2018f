#pragma once

#include "plan/cuda_gemm_tile.hpp"

// Geometry of products with few rows, shared by the kernels, the host that launches them and the
// selection model. A short side X of few rows meets a long one W of many columns; a product of few
// columns is given transposed. Included by device code: no other header belongs here.

namespace girih::inline v0::cuda {

/// How a kernel reads W. All but Gathered take both operands in pieces of 16 bytes at multiples of
/// 16 bytes, X along K, and K, or the columns, in whole pieces, of which AlongK needs 32 columns.
/// Gathered takes any strides.
enum class SkinnyForm : std::uint8_t { AlongK, AlongColumns, Gathered };

/// Elements of a piece of 16 bytes, what a lane loads at once.
constexpr int skinny_piece(int bytes) {
  return 16 / bytes;
}
/// Columns of W that a warp has. Contiguous along K: two pairs of eight rows of W in pieces of K;
/// contiguous along the columns: eight lanes' pieces.
constexpr int skinny_columns(int bytes, SkinnyForm form) {
  return form == SkinnyForm::AlongColumns ? 8 * skinny_piece(bytes) : 32;
}
/// Depth that slices are whole numbers of: 128 bytes of a row of K.
constexpr int skinny_unit(int bytes) {
  return 128 / bytes;
}
/// K of step `step`, and of row i < 8 that lane t < 4 of a step loads, where W is contiguous along
/// the columns. What a matrix instruction sums is the same K whatever the layout: a lane has whole
/// pieces of it.
constexpr int skinny_step_depth(int bytes, int step) {
  return bytes == 1 ? step / 2 * 64 + step % 2 * 8 : step * 32;
}
constexpr int skinny_row(int bytes, int t, int i) {
  return bytes == 4 ? i / 4 * 16 + t * 4 + i % 4 : t * skinny_piece(bytes) + i;
}

/// Steps of a warp in a unit: 4 KiB of W each.
constexpr int skinny_steps(int bytes, SkinnyForm form) {
  return form == SkinnyForm::AlongColumns ? 4 / bytes : 1;
}
/// Pieces of a row of X that a step needs: 128 bytes of K along K; along the columns 32 of K, of
/// bytes 64.
constexpr int skinny_x_pieces(int bytes, SkinnyForm form) {
  return form == SkinnyForm::AlongColumns && bytes < 4 ? 4 : 8;
}
/// Stages of a warp's ring in shared memory: its pieces of W, then those of X.
constexpr int skinny_stages(SkinnyForm form) {
  return form == SkinnyForm::Gathered ? 1 : 4;
}
constexpr int skinny_stage_bytes(int bytes, SkinnyForm form, int rows) {
  return 4096 + rows * skinny_x_pieces(bytes, form) * 16;
}
/// Its partial sums lie there in the end: rows of this many numbers, so that the four lanes of a
/// column meet in no bank.
constexpr int skinny_pitch(int columns) {
  return columns + 4;
}
constexpr int skinny_warp_bytes(int bytes, SkinnyForm form, int rows) {
  const int ring = skinny_stages(form) * skinny_stage_bytes(bytes, form, rows),
            sums = rows * skinny_pitch(skinny_columns(bytes, form)) * 4;
  return ring > sums ? ring : sums;
}
/// Warps of a block: their rings take at most 96 KiB.
constexpr int kSkinnyWarps = 4;
constexpr int skinny_shared_bytes(int bytes, SkinnyForm form, int rows) {
  return kSkinnyWarps * skinny_warp_bytes(bytes, form, rows);
}
/// Rows of X that a kernel has.
constexpr int skinny_rows(int bytes, SkinnyForm form, std::int64_t m) {
  if (form == SkinnyForm::Gathered) return 16;
  return bytes == 4 && m <= 4 ? 4 : m <= 8 ? 8 : 16;
}
/// Blocks as many as their registers must leave room for.
constexpr int skinny_least_blocks(int bytes, int rows) {
  return bytes != 2 && rows > 8 ? 3 : 4;
}

}  // namespace girih::inline v0::cuda
