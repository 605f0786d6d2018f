// Copies that exchange the contiguous dimension.

#include "backends/cuda/kernels/async_copy.cuh"
#include "backends/cuda/kernels/move_kernels.hpp"
#include "backends/cuda/kernels/move_rows.cuh"

namespace girih::inline v0::cuda {
namespace {

struct Tile {
  std::int64_t x, y;
  const char* source;
  char* destination;
};
__device__ __forceinline__ Tile tile_of(const TransposeParams& p, TileSide side) {
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
  const Tile tile = tile_of(p, tile_side(kBytes, true));
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

/// Rows of the source into shared memory, as they lie; words at the ends of rows element by
/// element, so that nothing outside is read.
template <int kBytes>
__device__ __forceinline__ void load_tile(const TransposeParams& p, const Tile& tile,
                                          unsigned char* shared) {
  using T = typename Bytes<kBytes>::Type;
  constexpr int kPiece = square_side(kBytes), kRows = tile_rows(kBytes),
                kUsed = tile_side(kBytes, false).x * kBytes;
  const std::int64_t first_y = tile.y - (kPiece - 1), first = tile.x * kBytes,
                     row_bytes = p.x * kBytes;
#pragma unroll 2
  for (int i = threadIdx.x; i < kRows * 16; i += kMoveThreads) {
    const int row = i / 16;
    const std::int64_t y = first_y + row;
    if (y < 0 || y >= p.y) continue;
    const char* const from = tile.source + y * p.source_row;
    const int word =
        i % 16 * 16 - static_cast<int>((reinterpret_cast<std::uintptr_t>(from) + first) % 16);
    const std::int64_t at = first + word;
    if (word >= kUsed || at >= row_bytes) continue;
    unsigned char* const to = shared + row * kTilePitch + tile_byte(row / kPiece, i % 16 * 16);
    if (at >= 0 && at + 16 <= row_bytes) {
      ptx::copy_async<16>(static_cast<std::uint32_t>(__cvta_generic_to_shared(to)), from + at);
      continue;
    }
#pragma unroll
    for (int e = 0; e < 16; e += kBytes) {
      if (at + e >= 0 && at + e < row_bytes) {
        *reinterpret_cast<T*>(to + e) = *reinterpret_cast<const T*>(from + at + e);
      }
    }
  }
  ptx::copy_commit();
  ptx::copy_wait<0>();
}

template <int kBytes>
__global__ void __launch_bounds__(kMoveThreads)
    transpose_tiles(const __grid_constant__ TransposeParams p) {
  using T = typename Bytes<kBytes>::Type;
  constexpr TileSide kSide = tile_side(kBytes, false);
  constexpr int kPiece = square_side(kBytes), kPieces = kSide.y / kPiece;
  extern __shared__ __align__(16) unsigned char shared[];
  const Tile tile = tile_of(p, kSide);
  load_tile<kBytes>(p, tile, shared);
  __syncthreads();
  const auto step = static_cast<std::uint32_t>(p.source_row);
  const auto origin =
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(tile.source) + tile.x * kBytes +
                                 (tile.y - (kPiece - 1)) * p.source_row);
  for (int i = threadIdx.x; i < kSide.x * kPieces; i += kMoveThreads) {
    // A warp's 32 pieces: eight neighbours of four columns.
    const int piece = i % 8 + i / (8 * kSide.x) * 8, column = i / 8 % kSide.x;
    const std::int64_t x = tile.x + column;
    if (x >= p.x) continue;
    char* const to = tile.destination + x * p.destination_row + tile.y * kBytes;
    const int before = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) % 16) / kBytes;
    const int first = piece * kPiece - before, row = first + kPiece - 1;
    const unsigned char* const rows = shared + row * kTilePitch;
    const std::uint32_t shift = origin + static_cast<std::uint32_t>(row) * step;
    T elements[kPiece];
#pragma unroll
    for (int e = 0; e < kPiece; ++e) {
      const int at = static_cast<int>((shift + e * step) % 16) + column * kBytes;
      elements[e] = *reinterpret_cast<const T*>(rows + e * kTilePitch +
                                                tile_byte(piece + (e > before ? 1 : 0), at));
    }
    if (tile.y + first >= 0 && tile.y + first + kPiece <= p.y) {
      std::uint32_t words[4];
      pack<T>(elements, words);
      store_words(to + first * kBytes, words);
      continue;
    }
#pragma unroll
    for (int e = 0; e < kPiece; ++e) {
      const std::int64_t y = tile.y + first + e;
      if (y >= 0 && y < p.y) reinterpret_cast<T*>(to)[first + e] = elements[e];
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
