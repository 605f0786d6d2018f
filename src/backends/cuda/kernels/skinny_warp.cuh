#pragma once
// A warp's part of a skinny product: the sums over one slice of K of skinny_columns() columns of W
// by kRows rows of X. Asynchronous copies bring both into a ring of stages of the warp's own in
// shared memory: of W each lane the pieces that it multiplies, of X all lanes together.

#include <type_traits>

#include "backends/cuda/kernels/ptx.cuh"
#include "backends/cuda/kernels/skinny_fragments.cuh"

namespace girih::inline v0::cuda {

// How W lies: contiguous along K or along its columns, both in aligned pieces; or anyhow, then a
// lane gathers its pieces element by element.
template <Element kType, SkinnyForm kForm, int kRows>
class SkinnyWarp {
 public:
  static constexpr bool kAlongK = kForm != SkinnyForm::AlongColumns;
  static constexpr bool kGathers = kForm == SkinnyForm::Gathered;
  static constexpr int kBytes = element_bytes(kType), kPiece = skinny_piece(kBytes);
  static constexpr int kColumns = skinny_columns(kBytes, kForm);
  static constexpr int kSteps = skinny_steps(kBytes, kForm);
  static constexpr int kStages = skinny_stages(kForm);
  static constexpr int kStagePieces = skinny_stage_bytes(kBytes, kForm, kRows) / 16;
  static constexpr bool kIsF32 = kType == Element::F32;
  using Sum = std::conditional_t<kType == Element::I8, std::int32_t, float>;

  // The sums of columns from `column` on, where AlongK needs kColumns of them, and rows from `row`.
  // `ring`: room for kStages stages of the warp's own.
  __device__ __forceinline__ SkinnyWarp(const SimtParams& p, std::int64_t batch, std::int64_t row,
                                        std::int64_t column, uint4* ring)
      : p_(p), ring_(ring) {
    const int lane = ptx::lane();
    const int n = kForm == SkinnyForm::AlongK ? lane / 8 : column_of(0, 0, lane_group());
    columns_ = static_cast<int>(min(p.n - column, std::int64_t{kColumns})) - n;
    rows_ = static_cast<int>(min(p.m - row, std::int64_t{kRows})) - lane / kXPieces;
    x_ = static_cast<const char*>(p.a.data) +
         kBytes * (batch * p.a.batch + (row + lane / kXPieces) * p.a.row +
                   lane % kXPieces * kPiece * p.a.column);
    // A lane whose columns do not exist reads the last piece of them.
    const std::int64_t first =
        kForm == SkinnyForm::AlongColumns ? min(column + n, p.n - kPiece) : column + n;
    w_ = static_cast<const char*>(p.b.data) +
         kBytes * (batch * p.b.batch + first * p.b.column + lane_depth() * p.b.row);
  }

  // Adds `count` units of K from unit `first` on.
  __device__ __forceinline__ void run(int first, int count) {
    if constexpr (kGathers) {
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        warp_sync();
        gather_step(first + i);
        warp_sync();
        add(ring_);
      }
    } else {
      run_ring(first * kSteps, count * kSteps);
    }
    warp_sync();
  }

  // The sums as rows of X, skinny_pitch(kColumns) apart.
  __device__ __forceinline__ void store(Sum* to) const {
    constexpr int kPitch = skinny_pitch(kColumns);
    const int g = ptx::lane() / 4, t = ptx::lane() % 4;
    if constexpr (kIsF32) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int s = 0; s < kRows; ++s) {
          float v = sums_[c][s];
          v += __shfl_xor_sync(0xFFFFFFFF, v, 1);
          v += __shfl_xor_sync(0xFFFFFFFF, v, 2);
          if (s % 4 == t) to[s * kPitch + column_of(c / 2, c % 2, g)] = v;
        }
      }
    } else {
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
#pragma unroll
        for (int r = 0; r < kRows / 8; ++r) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            to[(8 * r + 2 * t + e % 2) * kPitch + column_of(j, e / 2, g)] = sums_[j][r][e];
          }
        }
      }
    }
  }

 private:
  // A matrix instruction takes sixteen columns: of each lane a pair.
  static constexpr int kPairs = kAlongK || kIsF32 ? 2 : kPiece / 2;
  static constexpr int kGroups = kAlongK ? 2 : 1;  // fours of pieces along K in a step
  static constexpr int kXRows = kIsF32 ? 1 : kRows / 8;
  static constexpr int kXPieces = skinny_x_pieces(kBytes, kForm);  // of a row of X in a stage
  // A step has one half of each piece of X.
  static constexpr bool kHalves = !kAlongK && kBytes == 1;
  using XPiece = std::conditional_t<kHalves, uint2, uint4>;
  struct Step {
    uint4 w[8];
  };
  using Sums = std::conditional_t<kIsF32, float[4][kRows], Sum[kPairs][kXRows][4]>;

  __device__ __forceinline__ static int column_of(int pair, int half, int g) {
    return kAlongK ? 16 * pair + 8 * half + g : kPiece * g + 2 * pair + half;
  }
  // What a lane copies: AlongK a piece of eight in a row of K, of four rows at once; AlongColumns a
  // piece of eight along the columns, of four rows of K. So eight lanes read 128 bytes on.
  // Gathered: what it multiplies.
  __device__ __forceinline__ static int lane_group() {
    return kGathers ? ptx::lane() / 4 : ptx::lane() % 8;
  }
  __device__ __forceinline__ static int lane_depth() {
    const int lane = ptx::lane();
    return kPiece * (kForm == SkinnyForm::AlongK         ? lane % 8
                     : kForm == SkinnyForm::AlongColumns ? lane / 8
                                                         : lane % 4);
  }
  // The K of a step's first piece of W, without the lane's part, and of X.
  __device__ __forceinline__ static std::int64_t depth_of(int step) {
    return kAlongK ? std::int64_t{step} * skinny_unit(kBytes) : skinny_step_depth(kBytes, step);
  }
  __device__ __forceinline__ static std::int64_t x_depth_of(int step) {
    return depth_of(kHalves ? step & ~1 : step);
  }
  // Where in a stage piece j of lane 4 g + t lies, and piece `piece` of row `row` of X: eight lanes
  // meet in no bank, neither those that copy nor those that read.
  __device__ __forceinline__ static int place_of_w(int j, int g, int t) {
    if constexpr (kForm == SkinnyForm::AlongK) {
      return (j % 4 * 8 + g) * 8 + ((j / 4 * 4 + t) ^ g % 2 * 4);
    }
    return 32 * j + 8 * t + (g ^ 2 * t);
  }
  __device__ __forceinline__ static int place_of_x(int row, int piece) {
    return 256 + row * kXPieces + (kXPieces == 8 ? piece ^ row % 2 * 4 : piece);
  }

  __device__ __forceinline__ void run_ring(int next, int steps) {
    int filled = 0;  // the stage that is filled next
    const auto load_next = [&] {
      load(next++, ring_ + filled * kStagePieces);
      filled = filled + 1 == kStages ? 0 : filled + 1;
    };
#pragma unroll 1
    for (int i = 0; i < kStages - 1; ++i) {
      if (i < steps) load_next();
      ptx::copy_commit();
    }
    int at = 0;
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      ptx::copy_wait<kStages - 2>();
      warp_sync();
      if (i + kStages - 1 < steps) load_next();
      ptx::copy_commit();
      add(ring_ + at * kStagePieces, i % 2);
      at = at + 1 == kStages ? 0 : at + 1;
    }
  }
  __device__ __forceinline__ void load(int step, uint4* stage) const {
    const int lane = ptx::lane();
    const std::int64_t k = depth_of(step), left = p_.k - k - lane_depth();
    const std::int64_t ld = kBytes * (kAlongK ? p_.b.column : p_.b.row);
    const char* const from = w_ + k * (kAlongK ? kBytes : ld);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if constexpr (kAlongK) {
        const int row = lane / 8 + 4 * j;
        copy_streamed<true>(stage + row * 8 + (lane % 8 ^ row % 2 * 4), from + 4 * j * ld,
                            left > 0);
      } else {
        const int depth = skinny_row(kBytes, 0, j);
        copy_streamed<false>(stage + place_of_w(j, lane % 8, lane / 8), from + depth * ld,
                             depth < left);
      }
    }
    const std::int64_t x_k = x_depth_of(step);
    const bool exists = x_k + lane % kXPieces * kPiece < p_.k;
#pragma unroll
    for (int j = 0; j < kRows * kXPieces / 32; ++j) {
      const int row = 32 / kXPieces * j;
      copy_kept(stage + place_of_x(lane / kXPieces + row, lane % kXPieces),
                x_ + kBytes * (x_k + row * p_.a.row), exists && row < rows_);
    }
  }
  __device__ __forceinline__ void gather_step(int step) const {
    const int lane = ptx::lane();
    const std::int64_t k = depth_of(step), left = p_.k - k - lane_depth();
#pragma unroll 1
    for (int j = 0; j < 8; ++j) {
      const int along = j / 4 * 4 * kPiece;
      ring_[place_of_w(j, lane / 4, lane % 4)] =
          gather<kBytes>(w_, j % 4 * 8 * p_.b.column + (k + along) * p_.b.row, p_.b.row,
                         j % 4 * 8 < columns_ ? left - along : 0);
    }
#pragma unroll 1
    for (int j = 0; j < kRows * kXPieces / 32; ++j) {
      const int row = 32 / kXPieces * j;
      ring_[place_of_x(lane / kXPieces + row, lane % kXPieces)] =
          gather<kBytes>(x_, k * p_.a.column + row * p_.a.row, p_.a.column,
                         row < rows_ ? p_.k - k - lane % kXPieces * kPiece : 0);
    }
  }

  __device__ __forceinline__ void add(const uint4* stage, int half = 0) {
    const int lane = ptx::lane(), g = lane / 4, t = lane % 4;
    Step step;
#pragma unroll
    for (int j = 0; j < 8; ++j) step.w[j] = stage[place_of_w(j, g, t)];
    if constexpr (kIsF32) {
#pragma unroll
      for (int s = 0; s < kRows; ++s) {
        add_f32(step, s, stage[place_of_x(s, t)], stage[place_of_x(s, 4 + t)]);
      }
    } else {
      XPiece x[kGroups][kXRows];
#pragma unroll
      for (int u = 0; u < kGroups; ++u) {
#pragma unroll
        for (int r = 0; r < kXRows; ++r) {
          const uint4* const piece = stage + place_of_x(8 * r + g, 4 * u + t);
          if constexpr (kHalves) {
            x[u][r] = reinterpret_cast<const uint2*>(piece)[half];
          } else {
            x[u][r] = *piece;
          }
        }
      }
      if constexpr (kAlongK) {
        add_pieces(step, x);
      } else {
        add_rows(step, x[0]);
      }
    }
  }

  // W along K.
  __device__ __forceinline__ void add_pieces(const Step& step, const XPiece (&x)[kGroups][kXRows]) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const uint4 &upper = step.w[4 * u + 2 * j], &lower = step.w[4 * u + 2 * j + 1];
        if constexpr (is_f8(kType)) {
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            add_f8(j, x[u], q, word(upper, q), word(lower, q));
          }
        } else {
#pragma unroll
          for (int q = 0; q < 4; q += 2) {
#pragma unroll
            for (int r = 0; r < kXRows; ++r) {
              multiply<kType>(sums_[j][r], word(upper, q), word(lower, q), word(upper, q + 1),
                              word(lower, q + 1), word(x[u][r], q), word(x[u][r], q + 1));
            }
          }
        }
      }
    }
  }
  // Four K of two columns, each in one word, as f16.
  __device__ __forceinline__ void add_f8(int pair, const XPiece (&x)[kXRows], int q,
                                         std::uint32_t upper, std::uint32_t lower) {
    add_halves(pair, x, q, widen_pair<kType, false>(upper), widen_pair<kType, false>(lower),
               widen_pair<kType, true>(upper), widen_pair<kType, true>(lower));
  }
  __device__ __forceinline__ void add_halves(int pair, const XPiece (&x)[kXRows], int q,
                                             std::uint32_t a0, std::uint32_t a1, std::uint32_t a2,
                                             std::uint32_t a3) {
#pragma unroll
    for (int r = 0; r < kXRows; ++r) {
      const std::uint32_t four = word(x[r], q);
      multiply<kType>(sums_[pair][r], a0, a1, a2, a3, widen_pair<kType, false>(four),
                      widen_pair<kType, true>(four));
    }
  }

  // W along the columns: eight rows, whose elements of one column are brought together first.
  __device__ __forceinline__ void add_rows(const Step& step, const XPiece (&x)[kXRows]) {
    if constexpr (kBytes == 2) {
#pragma unroll
      for (int q = 0; q < 2; ++q) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          std::uint32_t rows[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) rows[i] = word(step.w[4 * q + i], j);
          const std::uint32_t a0 = __byte_perm(rows[0], rows[1], 0x5410),
                              a1 = __byte_perm(rows[0], rows[1], 0x7632),
                              a2 = __byte_perm(rows[2], rows[3], 0x5410),
                              a3 = __byte_perm(rows[2], rows[3], 0x7632);
#pragma unroll
          for (int r = 0; r < kXRows; ++r) {
            multiply<kType>(sums_[j][r], a0, a1, a2, a3, word(x[r], 2 * q), word(x[r], 2 * q + 1));
          }
        }
      }
    } else if constexpr (kType == Element::I8) {
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        std::uint32_t first[4], second[4], rows[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) rows[i] = word(step.w[i], q);
        transpose_bytes(rows, first);
#pragma unroll
        for (int i = 0; i < 4; ++i) rows[i] = word(step.w[4 + i], q);
        transpose_bytes(rows, second);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
#pragma unroll
          for (int r = 0; r < kXRows; ++r) {
            multiply<kType>(sums_[2 * q + j][r], first[2 * j], first[2 * j + 1], second[2 * j],
                            second[2 * j + 1], x[r].x, x[r].y);
          }
        }
      }
    } else {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          std::uint32_t rows[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) rows[i] = word(step.w[4 * half + i], q);
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            const unsigned order = j == 0 ? 0x5140 : 0x7362;
            const std::uint32_t upper = __byte_perm(rows[0], rows[1], order),
                                lower = __byte_perm(rows[2], rows[3], order);
            add_halves(2 * q + j, x, half, widen_pair<kType, false>(upper),
                       widen_pair<kType, true>(upper), widen_pair<kType, false>(lower),
                       widen_pair<kType, true>(lower));
          }
        }
      }
    }
  }

  // Four columns by eight K: chains of fused multiply-adds, one a lane, column and row.
  __device__ __forceinline__ void add_f32(const Step& step, int s, const uint4& first,
                                          const uint4& second) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const std::uint32_t w = kAlongK ? word(step.w[i / 4 * 4 + c], i % 4) : word(step.w[i], c);
        const std::uint32_t x = word(i < 4 ? first : second, i % 4);
        sums_[c][s] = __fmaf_rn(__uint_as_float(w), __uint_as_float(x), sums_[c][s]);
      }
    }
  }

  const SimtParams& p_;
  uint4* ring_;
  int columns_;    // that exist from the lane's first one on
  int rows_;       // of X that exist from the lane's first one that it copies on
  const char* w_;  // the lane's first piece of its first column
  const char* x_;  // and the first that it copies of X
  Sums sums_ = {};
};

}  // namespace girih::inline v0::cuda
