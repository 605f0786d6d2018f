#pragma once
// How one consumer warp turns the accumulators of a grouped product into C. As WarpOutput, but for
// two things: rows end where the group does, which no tensor copy can be told, so that they leave
// in pieces of 16 bytes; and a gate is in every epilogue, whatever the order of its columns.

#include "backends/cuda/kernels/accumulators.cuh"
#include "backends/cuda/kernels/gate.cuh"
#include "backends/cuda/kernels/grouped_params.hpp"
#include "backends/cuda/kernels/ptx.cuh"

namespace girih::inline v0::cuda {

/// Where a part of C begins, and the group's rows.
struct GroupedPart {
  int row;
  int begin, end;
  int column;
  int group;
};

/// `kBeginsEarly`: tiles may begin before their group does.
template <int kSlabs, int kCols, bool kBeginsEarly>
struct GroupedOutput {
  using Accumulators = float[kSlabs][kCols / 2];
  static constexpr int kChunk = 64;  // product columns taken at a time
  static constexpr int kChunks = kCols / kChunk;
  static constexpr int kSteps = kSlabs * kChunks;
  static constexpr int kHalf = kCols / 2;  // product columns of a gate's half
  static_assert(store_columns(kCols) == kChunk);

  const GroupedParams& p;
  std::uint32_t staging;  // this warp's
  std::uint32_t bias;     // this warpgroup's: kCols f32
  /// The group has no depth: its sums are 0 whatever they are multiplied by, an infinity too.
  bool is_empty;

  // Stores kSlabs times 16 rows, 64 apart, of the columns that the accumulators make.
  __device__ __forceinline__ void store(const Accumulators& acc, const GroupedPart& to) const {
    if (p.store == GroupedStore::Packed) {
      stage_bias(to);
      if (p.gated == GroupedGate::None) return store_packed(acc, to);
      if (p.gated == GroupedGate::Concatenated) return store_packed_halves(acc, to);
      return store_packed_pairs(acc, to);
    }
    if (p.store == GroupedStore::Fragments) return store_fragments(acc, to);
    if (p.gated == GroupedGate::None) return store_general(acc, to);
    store_general_gate(acc, to);
  }

 private:
  __device__ __forceinline__ float alpha() const {
    return is_empty ? 0.0f : resolve(p.epilogue.alpha);
  }
  __device__ __forceinline__ int columns() const { return static_cast<int>(p.columns); }
  static __device__ __forceinline__ bool has(const GroupedPart& to, int row) {
    return row < to.end && (!kBeginsEarly || row >= to.begin);
  }
  /// Elements from the start of C.
  __device__ __forceinline__ std::int64_t out_index(int row, int column, int group) const {
    const MatrixRef& out = p.epilogue.out;
    return group * out.batch_stride + static_cast<std::int64_t>(row) * out.ld + column;
  }

  // 2-byte outputs, of alpha, bias and an activation or a gate. Each loop goes around one copy of
  // the epilogue, as in WarpOutput.

  /// The bias of the product's columns, in the order of the accumulators.
  __device__ __forceinline__ void stage_bias(const GroupedPart& to) const {
    const int thread = static_cast<int>(threadIdx.x) % 128;
    const int barrier = 2 + static_cast<int>(threadIdx.x) / 128;
    ptx::named_sync(barrier, 128);  // the last tile's has been read
#pragma unroll
    for (int i = thread; i < kCols; i += 128) {
      int column = to.column + i, end = columns();
      if (p.gated == GroupedGate::Interleaved) column += to.column, end *= 2;
      if (p.gated == GroupedGate::Concatenated && i >= kHalf) column += end - kHalf, end *= 2;
      const bool has = p.epilogue.bias.data != nullptr;
      ptx::store_shared(bias + 4 * i,
                        has ? load_one(p.epilogue.bias, to.group, column, end) : 0.0f);
    }
    ptx::named_sync(barrier, 128);
  }

  __device__ __forceinline__ void store_packed(const Accumulators& acc,
                                               const GroupedPart& to) const {
    const float alpha = this->alpha();
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
      float v[kChunk / 2];
      take_chunk<kChunk>(acc, step, v);
#pragma unroll
      for (int i = 0; i < kChunk / 2; ++i) v[i] = __fmul_rn(alpha, v[i]);
      const int column = step % kChunks * kChunk;
      add_bias<kChunk>(v, column);
      activate<kChunk / 2>(p.epilogue.activation, v);
      send<kChunk>(v, part_of(to, step / kChunks, column));
    }
  }
  // A gate whose columns g and u are the tile's halves.
  __device__ __forceinline__ void store_packed_halves(const Accumulators& acc,
                                                      const GroupedPart& to) const {
    constexpr int kWidth = 32, kOfSlab = kHalf / kWidth;
    const float alpha = this->alpha();
#pragma unroll 1
    for (int step = 0; step < kSlabs * kOfSlab; ++step) {
      float g[kWidth / 2], u[kWidth / 2];
      pick<kSlabs * kOfSlab>(step, [&](auto s) {
        const float* from = acc[s() / kOfSlab] + s() % kOfSlab * kWidth / 2;
#pragma unroll
        for (int i = 0; i < kWidth / 2; ++i) {
          g[i] = __fmul_rn(alpha, from[i]);
          u[i] = __fmul_rn(alpha, from[kHalf / 2 + i]);
        }
      });
      const int column = step % kOfSlab * kWidth;
      add_bias<kWidth>(g, column);
      add_bias<kWidth>(u, column + kHalf);
      join<kWidth / 2>(p.gate, g, u);
      send<kWidth>(g, part_of(to, step / kOfSlab, column));
    }
  }
  // A gate whose columns alternate: a lane has pairs of g and u.
  __device__ __forceinline__ void store_packed_pairs(const Accumulators& acc,
                                                     const GroupedPart& to) const {
    const float alpha = this->alpha();
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
      float v[kChunk / 2], g[kChunk / 4], u[kChunk / 4];
      take_chunk<kChunk>(acc, step, v);
#pragma unroll
      for (int i = 0; i < kChunk / 2; ++i) v[i] = __fmul_rn(alpha, v[i]);
      const int column = step % kChunks * kChunk;
      add_bias<kChunk>(v, column);
#pragma unroll
      for (int i = 0; i < kChunk / 4; ++i) g[i] = v[2 * i], u[i] = v[2 * i + 1];
      join<kChunk / 4>(p.gate, g, u);
      send_single(g, part_of(to, step / kChunks, column / 2));
    }
  }
  static __device__ __forceinline__ GroupedPart part_of(const GroupedPart& to, int slab,
                                                        int column) {
    return {to.row + slab * 64, to.begin, to.end, to.column + column, to.group};
  }
  template <int kWidth>
  __device__ __forceinline__ void add_bias(float* v, int column) const {
    add_column_bias<kWidth>(v, bias + 4 * (column + 2 * (ptx::lane() & 3)));
  }

  // Byte of a 16-byte piece of a row of kWidth elements, swizzled over the 128 bytes that all banks
  // serve at once.
  template <int kWidth>
  static __device__ __forceinline__ std::uint32_t piece_at(int row, int piece) {
    const int turn = kWidth == 64 ? row & 7 : row >> 1 & 3;
    return row * kWidth * 2 + ((piece ^ turn) << 4);
  }
  /// kWidth columns of 16 rows, fragments of the warp.
  template <int kWidth>
  __device__ __forceinline__ void send(const float* v, const GroupedPart& to) const {
    const Element type = p.epilogue.out.type;
    const int lane = ptx::lane();
    __syncwarp();  // what was staged before has been read
#pragma unroll
    for (int pair = 0; pair < kWidth / 16; ++pair) {
      const float* x = v + pair * 8;
      ptx::store_matrix_x4(staging + piece_at<kWidth>(lane & 15, 2 * pair + (lane >> 4)),
                           pack(type, x[0], x[1]), pack(type, x[2], x[3]), pack(type, x[4], x[5]),
                           pack(type, x[6], x[7]));
    }
    send_rows<kWidth>(to);
  }
  /// 32 columns of 16 rows, of which a lane has column block * 4 + lane % 4 of rows lane / 4 and 8
  /// further down. Neighbours exchange what makes pairs of columns: an even lane those of the first
  /// row, an odd one those of the second.
  __device__ __forceinline__ void send_single(const float* v, const GroupedPart& to) const {
    const Element type = p.epilogue.out.type;
    const int lane = ptx::lane(), odd = lane & 1;
    const int row = (lane >> 2) + odd * 8, column = lane & 2;
    __syncwarp();
#pragma unroll
    for (int block = 0; block < 8; ++block) {
      const float first = v[2 * block], second = v[2 * block + 1];
      const float other = __shfl_xor_sync(0xFFFFFFFF, odd ? first : second, 1);
      const std::uint32_t bits = odd ? pack(type, other, second) : pack(type, first, other);
      const int at = block * 4 + column;
      ptx::store_shared(staging + piece_at<32>(row, at >> 3) + (at & 7) * 2, __uint_as_float(bits));
    }
    send_rows<32>(to);
  }
  template <int kWidth>
  __device__ __forceinline__ void send_rows(const GroupedPart& to) const {
    constexpr int kPieces = kWidth / 8, kAtOnce = 32 / kPieces;
    const int lane = ptx::lane(), piece = lane % kPieces, first = lane / kPieces;
    const bool inside = to.column + piece * 8 < columns();
    auto* const out = static_cast<std::uint16_t*>(p.epilogue.out.data) +
                      out_index(to.row + first, to.column + piece * 8, to.group);
    __syncwarp();
#pragma unroll
    for (int r = 0; r < 16; r += kAtOnce) {
      const float4 x = ptx::load_shared(staging + piece_at<kWidth>(first + r, piece));
      if (inside && has(to, to.row + first + r)) {
        *reinterpret_cast<float4*>(out + r * p.epilogue.out.ld) = x;
      }
    }
  }

  // F32 outputs of alpha and beta alone: every warp access in whole 32-byte sectors

  __device__ __forceinline__ void store_fragments(const Accumulators& acc,
                                                  const GroupedPart& to) const {
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
      float v[kChunk / 2];
      take_chunk<kChunk>(acc, step, v);
      const GroupedPart part = part_of(to, step / kChunks, step % kChunks * kChunk);
      if (p.epilogue.c.data != nullptr) {
        store_pairs<true>(v, part);
      } else {
        store_pairs<false>(v, part);
      }
    }
  }
  template <bool kReadsC>
  __device__ __forceinline__ void store_pairs(const float* v, const GroupedPart& to) const {
    constexpr int kPairs = kChunk / 8;  // of a row, all under way at once
    const float alpha = this->alpha();
    const float beta = kReadsC ? resolve(p.epilogue.beta) : 0.0f;
    const int lane = ptx::lane(), row = to.row + (lane >> 2), column = to.column + 2 * (lane & 3);
    const int left = columns() - column;
    float* at = static_cast<float*>(p.epilogue.out.data) + out_index(row, column, to.group);
#pragma unroll
    for (int half_row = 0; half_row < 2; ++half_row, at += 8 * p.epilogue.out.ld) {
      if (!has(to, row + half_row * 8)) continue;
      float2 c[kPairs];
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        c[i] = {0.0f, 0.0f};
        if (kReadsC && left > i * 8 + 1) c[i] = *reinterpret_cast<const float2*>(at + i * 8);
        if (kReadsC && left == i * 8 + 1) c[i].x = at[i * 8];
      }
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        const float x = finished<kReadsC>(alpha, v[i * 4 + half_row * 2], beta, c[i].x);
        const float y = finished<kReadsC>(alpha, v[i * 4 + half_row * 2 + 1], beta, c[i].y);
        if (left > i * 8 + 1) {
          *reinterpret_cast<float2*>(at + i * 8) = {x, y};
        } else if (left > i * 8) {
          at[i * 8] = x;
        }
      }
    }
  }
  // In the roundings of `finish`, the bias of 0 among them.
  template <bool kReadsC>
  static __device__ __forceinline__ float finished(float alpha, float x, float beta, float c) {
    if constexpr (!kReadsC) return fmaf(alpha, x, 0.0f);
    return __fadd_rn(fmaf(beta, c, __fmul_rn(alpha, x)), 0.0f);
  }

  // Any output and epilogue: a chunk is staged, then finished four columns of a row at a time

  // Byte of (row, column) of a staged chunk: rows of 16 units of 16 bytes, rotated by an even
  // number of units so that the fragment's 8-byte writes spread over the banks.
  static __device__ __forceinline__ std::uint32_t staged(int row, int column) {
    return row * 256 + (((column >> 2) ^ ((row << 1) & 15)) << 4) + (column & 3) * 4;
  }
  /// kCount accumulators, from column `column` of the chunk on.
  template <int kCount>
  __device__ __forceinline__ void stage(const float* acc, int column) const {
    const int lane = ptx::lane(), row = lane >> 2, first = column + 2 * (lane & 3);
#pragma unroll
    for (int block = 0; block < kCount / 4; ++block) {
      const float* v = acc + block * 4;
      ptx::store_shared(staging + staged(row, first + block * 8), v[0], v[1]);
      ptx::store_shared(staging + staged(row + 8, first + block * 8), v[2], v[3]);
    }
  }
  __device__ __forceinline__ void store_general(const Accumulators& acc,
                                                const GroupedPart& to) const {
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
      __syncwarp();
      float v[kChunk / 2];
      take_chunk<kChunk>(acc, step, v);
      stage<kChunk / 2>(v, 0);
      __syncwarp();
      finish_chunk(part_of(to, step / kChunks, step % kChunks * kChunk));
    }
  }
  __device__ __forceinline__ void finish_chunk(const GroupedPart& to) const {
    constexpr int kBatch = kBeginsEarly ? 1 : 4;
    const int lane = ptx::lane(), c = lane % 16 * 4, left = columns() - to.column - c;
    if (left <= 0) return;
    ColumnQuad q(p.epilogue, to.column + c, left, to.group);
#pragma unroll
    for (int i = 0; i < 4; ++i) q.scale[i] = is_empty ? 0.0f : q.scale[i];
#pragma unroll 1
    for (int r = lane / 16; r < 16; r += kBatch * 2) {
      if (kBeginsEarly && to.row + r < to.begin) continue;
      float v[kBatch][4];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const float4 x = ptx::load_shared(staging + staged(r + i * 2, c));
        v[i][0] = x.x, v[i][1] = x.y, v[i][2] = x.z, v[i][3] = x.w;
      }
      finish(p.epilogue, q, v, to.row + r, 2, min(to.end, to.row + 16), !is_empty);
    }
  }

  // 32 columns of C: 32 of g then 32 of u, or 64 that alternate.
  __device__ __forceinline__ void store_general_gate(const Accumulators& acc,
                                                     const GroupedPart& to) const {
    constexpr int kOfSlab = kHalf / 32;
#pragma unroll 1
    for (int step = 0; step < kSlabs * kOfSlab; ++step) {
      __syncwarp();
      pick<kSlabs * kOfSlab>(step, [&](auto s) {
        const float* slab = acc[s() / kOfSlab];
        constexpr int kChunkOfSlab = s() % kOfSlab;
        if (p.gated == GroupedGate::Concatenated) {
          stage<16>(slab + kChunkOfSlab * 16, 0);
          stage<16>(slab + kHalf / 2 + kChunkOfSlab * 16, 32);
        } else {
          stage<32>(slab + kChunkOfSlab * 32, 0);
        }
      });
      __syncwarp();
      finish_gate(part_of(to, step / kOfSlab, step % kOfSlab * 32));
    }
  }
  // What the epilogue needs of columns g or u of four columns of C.
  struct GateColumns {
    float scale[4];
    float bias[4];

    __device__ __forceinline__ GateColumns(const GroupedParams& p, int n, int half, int group) {
      const EpilogueParams& e = p.epilogue;
      const float alpha = resolve(e.alpha);
      const int end = static_cast<int>(p.columns);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool inside = n + i < end;
        const int j =
            p.gated == GroupedGate::Concatenated ? half * end + n + i : 2 * (n + i) + half;
        scale[i] = alpha, bias[i] = 0.0f;
        if (e.col_scale.data != nullptr && inside) {
          scale[i] *= static_cast<const float*>(
              e.col_scale.data)[group * e.col_scale.batch_stride + j * e.col_scale.stride];
        }
        if (e.bias.data != nullptr && inside) bias[i] = load_one(e.bias, group, j, 2 * end);
      }
    }
  };
  __device__ __forceinline__ void finish_gate(const GroupedPart& to) const {
    const EpilogueParams& e = p.epilogue;
    const int lane = ptx::lane(), c = lane % 8 * 4, left = min(columns() - to.column - c, 4);
    if (left <= 0) return;
    GateColumns of_g(p, to.column + c, 0, to.group), of_u(p, to.column + c, 1, to.group);
    if (is_empty) {
#pragma unroll
      for (int i = 0; i < 4; ++i) of_g.scale[i] = of_u.scale[i] = 0.0f;
    }
#pragma unroll 1
    for (int r = lane / 8; r < 16; r += 4) {
      const int row = to.row + r;
      if (!has(to, row)) continue;
      float g[4], u[4];
      if (p.gated == GroupedGate::Concatenated) {
        const float4 x = ptx::load_shared(staging + staged(r, c));
        const float4 y = ptx::load_shared(staging + staged(r, 32 + c));
        g[0] = x.x, g[1] = x.y, g[2] = x.z, g[3] = x.w;
        u[0] = y.x, u[1] = y.y, u[2] = y.z, u[3] = y.w;
      } else {
        const float4 x = ptx::load_shared(staging + staged(r, 2 * c));
        const float4 y = ptx::load_shared(staging + staged(r, 2 * c + 4));
        g[0] = x.x, u[0] = x.y, g[1] = x.z, u[1] = x.w;
        g[2] = y.x, u[2] = y.y, g[3] = y.z, u[3] = y.w;
      }
      float of_row = 1.0f;
      if (e.row_scale.data != nullptr && !is_empty) {
        of_row = static_cast<const float*>(
            e.row_scale.data)[to.group * e.row_scale.batch_stride + row * e.row_scale.stride];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        g[i] = __fadd_rn(__fmul_rn(__fmul_rn(g[i], of_g.scale[i]), of_row), of_g.bias[i]);
        u[i] = __fadd_rn(__fmul_rn(__fmul_rn(u[i], of_u.scale[i]), of_row), of_u.bias[i]);
      }
      join<4>(p.gate, g, u);
      if (e.residual.data != nullptr) {
        float x[4] = {};
        Quad{e.residual.data, e.residual.type,
             to.group * e.residual.batch_stride + static_cast<std::int64_t>(row) * e.residual.ld +
                 to.column + c,
             left}
            .load(x);
#pragma unroll
        for (int i = 0; i < 4; ++i) g[i] = __fadd_rn(g[i], x[i]);
      }
      Quad{e.out.data, e.out.type, out_index(row, to.column + c, to.group), left}.store(g);
    }
  }
};

}  // namespace girih::inline v0::cuda
