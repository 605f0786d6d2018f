// Copies that exchange the contiguous dimension.

#include "backends/cuda/kernels/move_kernels.hpp"
#include "backends/cuda/kernels/move_rows.cuh"

namespace girih::inline v0::cuda {
namespace {

struct Tile {
  std::int64_t x, y;
  const char* source;
  char* destination;
};
__device__ __forceinline__ Tile tile_of(const TransposeParams& p, int side) {
  const TilePlace place = tile_place(p, blockIdx.x, side);
  const MoveOffsets at = offsets_of(p.outer, place.row);
  return {place.x, place.y, static_cast<const char*>(p.source) + at.source,
          static_cast<char*>(p.destination) + at.destination};
}

/// Four words of rows or pairs of rows, b0 to b3 of each, to words of columns.
__device__ __forceinline__ void turn_bytes(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c,
                                           std::uint32_t& d) {
  const std::uint32_t ab01 = __byte_perm(a, b, 0x5140), ab23 = __byte_perm(a, b, 0x7362),
                      cd01 = __byte_perm(c, d, 0x5140), cd23 = __byte_perm(c, d, 0x7362);
  a = __byte_perm(ab01, cd01, 0x5410);
  b = __byte_perm(ab01, cd01, 0x7632);
  c = __byte_perm(ab23, cd23, 0x5410);
  d = __byte_perm(ab23, cd23, 0x7632);
}
__device__ __forceinline__ void turn_halves(std::uint32_t& a, std::uint32_t& b) {
  const std::uint32_t first = __byte_perm(a, b, 0x5410);
  b = __byte_perm(a, b, 0x7632);
  a = first;
}

/// Word `w` of column `c` of a square whose words hold `kOf` elements, after those have been
/// turned: kOf rows by kOf columns lie in the words `c / kOf` of kOf rows.
template <int kBytes>
__device__ __forceinline__ void turn(std::uint32_t (&rows)[16 / kBytes][4]) {
  constexpr int kSide = 16 / kBytes;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (kBytes == 1) {
#pragma unroll
      for (int r = 0; r < kSide; r += 4) {
        turn_bytes(rows[r][w], rows[r + 1][w], rows[r + 2][w], rows[r + 3][w]);
      }
    } else if constexpr (kBytes == 2) {
#pragma unroll
      for (int r = 0; r < kSide; r += 2) turn_halves(rows[r][w], rows[r + 1][w]);
    }
  }
}
template <int kBytes>
__device__ __forceinline__ std::uint32_t turned(const std::uint32_t (&rows)[16 / kBytes][4], int c,
                                                int w) {
  if constexpr (kBytes == 8) return rows[w / 2][2 * c + w % 2];
  constexpr int kOf = 4 / kBytes > 0 ? 4 / kBytes : 1;
  return rows[kOf * w + c % kOf][c / kOf];
}

template <class T>
__device__ __forceinline__ void pack(const T (&elements)[16 / sizeof(T)],
                                     std::uint32_t (&words)[4]) {
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(T) == 8) {
      words[w] = w % 2 == 0 ? elements[w / 2].x : elements[w / 2].y;
    } else {
      constexpr int kOf = 4 / sizeof(T);
      words[w] = 0;
#pragma unroll
      for (int e = 0; e < kOf; ++e) {
        words[w] |= std::uint32_t{elements[w * kOf + e]} << (8 * sizeof(T) * e);
      }
    }
  }
}

/// Rows and columns of a square at the edges, element by element.
template <class T>
__device__ __noinline__ void turn_some(const char* from, std::int64_t source_row, char* to,
                                       std::int64_t destination_row, int x, int y) {
  constexpr int kSide = 16 / static_cast<int>(sizeof(T));
#pragma unroll 1
  for (int c = 0; c < x; ++c, from += sizeof(T), to += destination_row) {
    T column[kSide];
#pragma unroll
    for (int r = 0; r < kSide; ++r) {
      if (r < y) column[r] = *reinterpret_cast<const T*>(from + r * source_row);
    }
#pragma unroll
    for (int r = 0; r < kSide; ++r) {
      if (r < y) reinterpret_cast<T*>(to)[r] = column[r];
    }
  }
}

template <int kBytes>
__global__ void __launch_bounds__(kMoveThreads)
    transpose_squares(const __grid_constant__ TransposeParams p) {
  constexpr int kSide = square_side(kBytes);
  const Tile tile = tile_of(p, transpose_side(kBytes, true));
  const SquarePlace place = square_place(threadIdx.x);
  const std::int64_t x = tile.x + place.x * kSide, y = tile.y + place.y * kSide;
  if (x >= p.x || y >= p.y) return;
  const char* const from = tile.source + y * p.source_row + x * kBytes;
  char* const to = tile.destination + x * p.destination_row + y * kBytes;
  if (x + kSide > p.x || y + kSide > p.y) {
    return turn_some<typename Bytes<kBytes>::Type>(
        from, p.source_row, to, p.destination_row,
        static_cast<int>(p.x - x < kSide ? p.x - x : kSide),
        static_cast<int>(p.y - y < kSide ? p.y - y : kSide));
  }
  std::uint32_t rows[kSide][4];
#pragma unroll
  for (int r = 0; r < kSide; ++r) load_words<4>(from + r * p.source_row, rows[r]);
  turn<kBytes>(rows);
#pragma unroll
  for (int c = 0; c < kSide; ++c) {
    *reinterpret_cast<uint4*>(to + c * p.destination_row) = {
        turned<kBytes>(rows, c, 0), turned<kBytes>(rows, c, 1), turned<kBytes>(rows, c, 2),
        turned<kBytes>(rows, c, 3)};
  }
}

/// Whether a row of so many bytes has the one or two words of 16 bytes around 16 that begin `shift`
/// bytes behind the first.
__device__ __forceinline__ bool has_words(std::int64_t first, int shift, std::int64_t bytes) {
  return first >= shift && first - shift + (shift != 0 ? 32 : 16) <= bytes;
}

/// A piece at the ends of a row, of which `count` elements exist.
template <int kBytes>
__device__ __forceinline__ void load_some(const char* from, std::int64_t count,
                                          std::uint32_t (&words)[4]) {
  using T = typename Bytes<kBytes>::Type;
  T elements[16 / kBytes] = {};
#pragma unroll
  for (int e = 0; e < 16 / kBytes; ++e) {
    if (e < count) elements[e] = reinterpret_cast<const T*>(from)[e];
  }
  pack<T>(elements, words);
}

// Pieces of 16 bytes on both sides at any alignment: each column x writes those that lie at
// multiples of 16 bytes of the destination, so that it begins up to a piece before the tile's first
// y.
template <int kBytes, int kBatch = 2>  // of pieces under way
__global__ void __launch_bounds__(kMoveThreads)
    transpose_tiles(const __grid_constant__ TransposeParams p) {
  using T = typename Bytes<kBytes>::Type;
  constexpr int kPiece = 16 / kBytes, kSide = transpose_side(kBytes, false);
  constexpr int kPieces = kSide / kPiece, kRows = kSide + kPiece - 1;
  extern __shared__ __align__(16) unsigned char shared[];
  const Tile tile = tile_of(p, kSide);
  const std::int64_t first_y = tile.y - (kPiece - 1);
#pragma unroll 1
  for (int i = threadIdx.x; i < kRows * kPieces; i += kBatch * kMoveThreads) {
    const char* from[kBatch];
    std::int64_t left[kBatch];
    int shift[kBatch];
    std::uint32_t words[kBatch][8];
    bool whole[kBatch];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const int row = (i + j * kMoveThreads) / kPieces, piece = (i + j * kMoveThreads) % kPieces;
      const std::int64_t y = first_y + row, x = tile.x + piece * kPiece;
      left[j] = row < kRows && y >= 0 && y < p.y ? p.x - x : 0;
      from[j] = tile.source + y * p.source_row + x * kBytes;
      shift[j] = static_cast<int>(reinterpret_cast<std::uintptr_t>(from[j]) % 16);
      whole[j] = left[j] > 0 && has_words(x * kBytes, shift[j], p.x * kBytes);
      if (!whole[j]) continue;
      load_words<4>(from[j] - shift[j], words[j]);
      if (shift[j] != 0) load_words<4>(from[j] - shift[j] + 16, words[j] + 4);
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      if (left[j] <= 0) continue;
      std::uint32_t elements[4];
      if (whole[j]) {
        if (shift[j] != 0) shift_words<kBytes, 4>(words[j], shift[j]);
#pragma unroll
        for (int w = 0; w < 4; ++w) elements[w] = words[j][w];
      } else {
        load_some<kBytes>(from[j], left[j], elements);
      }
      const int row = (i + j * kMoveThreads) / kPieces, piece = (i + j * kMoveThreads) % kPieces;
      store_words(reinterpret_cast<char*>(shared) + row * tile_pitch(kBytes) +
                      tile_piece(row / kPiece, piece),
                  elements);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kSide * kPieces; i += kMoveThreads) {
    // A warp's 32 pieces: eight neighbours of four columns.
    const int piece = i % 8 + i / (8 * kSide) * 8, column = i / 8 % kSide;
    const std::int64_t x = tile.x + column;
    if (x >= p.x) continue;
    char* const to = tile.destination + x * p.destination_row + tile.y * kBytes;
    const int before = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) % 16) / kBytes;
    const int first = piece * kPiece - before;
    // Rows of two groups of kPiece, which differ in the order of pieces.
    const unsigned char* const from =
        shared + (first + kPiece - 1) * tile_pitch(kBytes) + column % kPiece * kBytes;
    const int low = tile_piece(piece, column / kPiece),
              high = tile_piece(piece + 1, column / kPiece);
    T elements[kPiece];
#pragma unroll
    for (int e = 0; e < kPiece; ++e) {
      elements[e] =
          *reinterpret_cast<const T*>(from + e * tile_pitch(kBytes) + (e <= before ? low : high));
    }
    if (tile.y + first >= 0 && tile.y + first + kPiece <= p.y) {
      std::uint32_t words[4];
      pack<T>(elements, words);
      store_words(to + first * kBytes, words);
    } else {
#pragma unroll
      for (int e = 0; e < kPiece; ++e) {
        const std::int64_t y = tile.y + first + e;
        if (y >= 0 && y < p.y) reinterpret_cast<T*>(to)[first + e] = elements[e];
      }
    }
  }
}

#define GIRIH_BY_BYTES(kernel, bytes)                        \
  (bytes) == 1   ? reinterpret_cast<const void*>(&kernel<1>) \
  : (bytes) == 2 ? reinterpret_cast<const void*>(&kernel<2>) \
  : (bytes) == 4 ? reinterpret_cast<const void*>(&kernel<4>) \
                 : reinterpret_cast<const void*>(&kernel<8>)

}  // namespace

const void* transpose_kernel(int bytes, bool is_aligned) {
  return is_aligned ? GIRIH_BY_BYTES(transpose_squares, bytes)
                    : GIRIH_BY_BYTES(transpose_tiles, bytes);
}
#undef GIRIH_BY_BYTES

}  // namespace girih::inline v0::cuda
