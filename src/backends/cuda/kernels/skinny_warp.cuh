#pragma once
// A warp's part of a skinny product: the sums over one slice of K of skinny_columns() columns of W
// by kRows rows of X, straight from memory into the registers that are multiplied.

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
  static constexpr int kBytes = element_bytes(kType), kPiece = skinny_piece(kBytes);
  static constexpr int kColumns = skinny_columns(kBytes, kForm);
  static constexpr int kSteps = skinny_unit(kBytes) * kBytes / (kAlongK ? 128 : 32 * kBytes);
  static constexpr bool kIsF32 = kType == Element::F32;
  using Sum = std::conditional_t<kType == Element::I8, std::int32_t, float>;

  // The sums of columns from `column` on, where AlongK needs kColumns of them, and rows from `row`.
  __device__ __forceinline__ SkinnyWarp(const SimtParams& p, std::int64_t batch, std::int64_t row,
                                        std::int64_t column)
      : p_(p) {
    const int g = ptx::lane() / 4, t = ptx::lane() % 4;
    const std::int64_t n = column_of(0, 0, g), w_depth = t * kPiece * p.b.row;
    columns_ = static_cast<int>(min(p.n - column, std::int64_t{kColumns})) - static_cast<int>(n);
    last_row_ = static_cast<int>(min(p.m - row, std::int64_t{kRows})) - 1;
    const char* const x = static_cast<const char*>(p.a.data) +
                          kBytes * (batch * p.a.batch + row * p.a.row + t * kPiece * p.a.column);
#pragma unroll
    for (int r = 0; r < kXRows; ++r) x_[r] = x + (kIsF32 ? 0 : row_bytes(8 * r + g));
    // A lane whose columns do not exist reads the last piece of them.
    const std::int64_t first =
        kForm == SkinnyForm::AlongColumns ? min(column + n, p.n - kPiece) : column + n;
    w_ = static_cast<const char*>(p.b.data) +
         kBytes * (batch * p.b.batch + first * p.b.column + w_depth);
  }

  // Pieces of X that a warp keeps in shared memory.
  static constexpr bool kStagesX = kIsF32 && kRows > 4 && kForm != SkinnyForm::Gathered;
  static constexpr int kStagedPieces = kStagesX ? 2 * kRows * 8 : 0;

  // Adds steps first .. last - 1. `staged`: room for kStagedPieces of this warp's own.
  __device__ __forceinline__ void run(int first, int last, uint4* staged) {
    if constexpr (kStagesX) {
      run_staged(first, last, staged);
    } else {
      run_steps(first, last);
    }
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
  using XPiece = std::conditional_t<!kAlongK && kBytes == 1, uint2, uint4>;
  // What is loaded a step ahead. X comes out of L1 while W is waited for.
  struct Step {
    uint4 w[8];
  };
  using Sums = std::conditional_t<kIsF32, float[4][kRows], Sum[kPairs][kXRows][4]>;

  __device__ __forceinline__ static int column_of(int pair, int half, int g) {
    return kAlongK ? 16 * pair + 8 * half + g : kPiece * g + 2 * pair + half;
  }
  __device__ __forceinline__ int whole_steps() const {
    if constexpr (kAlongK) return static_cast<int>(p_.k / skinny_unit(kBytes));
    return static_cast<int>(kBytes == 1 ? p_.k / 64 * 2 : p_.k / 32);
  }
  // The K of a step's first piece, without the lane's part.
  __device__ __forceinline__ static std::int64_t depth_of(int step) {
    return kAlongK ? std::int64_t{step} * skinny_unit(kBytes) : skinny_step_depth(kBytes, step);
  }
  __device__ __forceinline__ static constexpr int row_of(int i) {
    return skinny_row(kBytes, 0, i);
  }
  // K of the lane's pieces that a step has from its first one on.
  __device__ __forceinline__ std::int64_t left_at(int step) const {
    return p_.k - depth_of(step) - ptx::lane() % 4 * kPiece;
  }
  __device__ __forceinline__ std::int64_t row_bytes(int s) const {
    return kBytes * (min(s, last_row_) * p_.a.row);
  }

  // A step of which all K exist is loaded without a test.
  template <bool kIsWhole>
  __device__ __forceinline__ void load(Step& step, int i) const {
    if constexpr (kForm == SkinnyForm::Gathered) {
      gather_step(step, i);
    } else {
      load_pieces<kIsWhole>(step, i);
    }
  }
  template <bool kIsWhole>
  __device__ __forceinline__ void load_pieces(Step& step, int i) const {
    const std::int64_t left = kIsWhole ? 0 : left_at(i);
    const std::int64_t ld = kBytes * (kAlongK ? p_.b.column : p_.b.row);
    const char* const from = w_ + depth_of(i) * (kAlongK ? kBytes : ld);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int depth = kAlongK ? j / 4 * 4 * kPiece : row_of(j);
      step.w[j] = uint4{};
      if (!kIsWhole && depth >= left) continue;
      step.w[j] =
          load_streamed<kAlongK>(from + (kAlongK ? j % 4 * 8 * ld + kBytes * depth : depth * ld));
    }
  }
  __device__ __forceinline__ void gather_step(Step& step, int i) const {
    const std::int64_t k = depth_of(i), left = left_at(i);
#pragma unroll 1
    for (int j = 0; j < 8; ++j) {
      const int along = j / 4 * 4 * kPiece;
      const uint4 piece = gather<kBytes>(w_, j % 4 * 8 * p_.b.column + (k + along) * p_.b.row,
                                         p_.b.row, j % 4 * 8 < columns_ ? left - along : 0);
#pragma unroll
      for (int to = 0; to < 8; ++to) {
        if (to == j) step.w[to] = piece;
      }
    }
  }
  // Piece `group` of step i of X: of the lane's rows, or of row s where they all are the lane's.
  template <bool kIsWhole>
  __device__ __forceinline__ XPiece piece_of_x(int r, int s, int group, int i) const {
    const std::int64_t k = depth_of(i) + group * 4 * kPiece;
    const char* const row = x_[r] + (kIsF32 ? row_bytes(s) : 0);
    XPiece piece{};
    if constexpr (kForm == SkinnyForm::Gathered) {
      piece = gather<kBytes>(row, k * p_.a.column, p_.a.column, left_at(i) - group * 4 * kPiece);
    } else if (kIsWhole || left_at(i) > group * 4 * kPiece) {
      load_kept(row + kBytes * k, piece);
    }
    return piece;
  }

  __device__ __forceinline__ void run_steps(int first, int last) {
    int i = first;
    if constexpr (kForm != SkinnyForm::Gathered) {
      const int whole = min(last, whole_steps());
      if (i < whole) {
        Step step;
        load<true>(step, i);
#pragma unroll 2
        for (++i; i < whole; ++i) {
          Step next;
          load<true>(next, i);
          add<true>(step, i - 1);
          step = next;
        }
        add<true>(step, i - 1);
      }
    }
#pragma unroll 1
    for (; i < last; ++i) {
      Step step;
      load<false>(step, i);
      add<false>(step, i);
    }
  }

  // f32 of many rows: X goes through shared memory, a step ahead as W does. Out of L1 its loads and
  // their addresses took twice the time of the products.
  __device__ __forceinline__ void run_staged(int first, int last, uint4* staged) {
    if (first >= last) return;
    const int whole = whole_steps();
    Step even, odd;
    load_staged(even, first, whole, staged);
    copy_commit();
#pragma unroll 1
    for (int i = first; i < last; i += 2) {
      if (i + 1 < last) load_staged(odd, i + 1, whole, staged + kRows * 8);
      copy_commit();
      add_staged(even, staged);
      if (i + 1 >= last) break;
      if (i + 2 < last) load_staged(even, i + 2, whole, staged);
      copy_commit();
      add_staged(odd, staged + kRows * 8);
    }
  }
  __device__ __forceinline__ void load_staged(Step& step, int i, int whole, uint4* staged) {
    const int lane = ptx::lane(), piece = lane % 8;
    const std::int64_t k = depth_of(i) + piece * kPiece;
    // x_ is at the lane's pieces of W: go back to the first.
    const char* const x = x_[0] + kBytes * (k - lane % 4 * kPiece);
#pragma unroll
    for (int j = 0; j < kRows / 4; ++j) {
      const int row = lane / 8 + 4 * j;
      copy_async(staged + row * 8 + piece, x + row_bytes(row), k < p_.k);
    }
    if (i < whole) {
      load<true>(step, i);
    } else {
      load<false>(step, i);
    }
  }
  __device__ __forceinline__ void add_staged(const Step& step, const uint4* staged) {
    copy_wait_but_one();
    warp_sync();
    const int t = ptx::lane() % 4;
#pragma unroll
    for (int s = 0; s < kRows; ++s) {
      add_f32(step, s, staged[s * 8 + t], staged[s * 8 + 4 + t]);
    }
    warp_sync();
  }

  template <bool kIsWhole>
  __device__ __forceinline__ void add(const Step& step, int i) {
    if constexpr (kIsF32) {
#pragma unroll(kForm == SkinnyForm::Gathered ? 1 : kRows)
      for (int s = 0; s < kRows; ++s) {
        const uint4 first = piece_of_x<kIsWhole>(0, s, 0, i),
                    second = piece_of_x<kIsWhole>(0, s, 1, i);
        if constexpr (kForm == SkinnyForm::Gathered) {
#pragma unroll
          for (int to = 0; to < kRows; ++to) {
            if (to == s) add_f32(step, to, first, second);
          }
        } else {
          add_f32(step, s, first, second);
        }
      }
      return;
    } else {
      XPiece x[kGroups][kXRows];
#pragma unroll
      for (int u = 0; u < kGroups; ++u) {
#pragma unroll
        for (int r = 0; r < kXRows; ++r) x[u][r] = piece_of_x<kIsWhole>(r, 0, u, i);
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
  int columns_;  // that exist from the lane's first one on
  int last_row_;
  const char* w_;  // the lane's first piece of its first column
  const char* x_[kXRows];
  Sums sums_ = {};
};

}  // namespace girih::inline v0::cuda
