// No include guard: see simd-inl.hpp.
//
// The inner product of two panels, kept in registers: tile_m rows of A times kVectors vectors of B.
// A step along K loads the vectors of B once and broadcasts each element of A:
//   AVX2     6 x 2 vectors of 8:  12 sums + 2 + 1 of 16 registers; 12 FMA to 8 loads
//   AVX-512 14 x 2 vectors of 16: 28 sums + 2 + 1 of 32 registers
//   NEON     8 x 3 vectors of 4:  24 sums + 3 + 1 of 32 registers

namespace girih::inline v0::cpu::GIRIH_CPU_TARGET {
namespace {

/// One step along K.
template <int kRows, int kVectors>
HWY_INLINE void add_outer_product(const float* a, const float* b, Floats (&sums)[kRows][kVectors]) {
  Floats column[kVectors];
  GIRIH_UNROLL
  for (int j = 0; j < kVectors; ++j) column[j] = hn::LoadU(F32(), b + j * kLanes);
  GIRIH_UNROLL
  for (int i = 0; i < kRows; ++i) {
    const Floats row = hn::Set(F32(), a[i]);
    GIRIH_UNROLL
    for (int j = 0; j < kVectors; ++j) sums[i][j] = fma(row, column[j], sums[i][j]);
  }
}

template <int kRows, int kVectors>
void multiply_f32(const TileProduct& tile) {
  const F32 d;
  Floats sums[kRows][kVectors];
  if (tile.in == nullptr) {
    GIRIH_UNROLL
    for (int i = 0; i < kRows; ++i) {
      GIRIH_UNROLL
      for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::Zero(d);
    }
  } else {
    const auto* in = static_cast<const float*>(tile.in);
    GIRIH_UNROLL
    for (int i = 0; i < kRows; ++i) {
      GIRIH_UNROLL
      for (int j = 0; j < kVectors; ++j) {
        sums[i][j] = hn::LoadU(d, in + i * tile.in_stride + j * kLanes);
      }
    }
  }
  const auto* a = static_cast<const float*>(tile.a);
  const auto* b = static_cast<const float*>(tile.b);
  constexpr std::int64_t kWidth = kVectors * kLanes;
  std::int64_t k = 0;
  // Four steps a round: loop control falls from 3 of 23 instructions a step to 1.
  for (; k + 4 <= tile.steps; k += 4) {
    GIRIH_UNROLL
    for (int u = 0; u < 4; ++u) add_outer_product(a + u * kRows, b + u * kWidth, sums);
    a += 4 * kRows;
    b += 4 * kWidth;
  }
  for (; k < tile.steps; ++k, a += kRows, b += kWidth) add_outer_product(a, b, sums);
  auto* out = static_cast<float*>(tile.out);
  GIRIH_UNROLL
  for (int i = 0; i < kRows; ++i) {
    GIRIH_UNROLL
    for (int j = 0; j < kVectors; ++j) {
      hn::StoreU(sums[i][j], d, out + i * tile.out_stride + j * kLanes);
    }
  }
}

using Ints = hn::Vec<I32>;

/// sum + a.lo * b.lo + a.hi * b.hi, for pairs of int16 in the lanes of a and b. int16 operands come
/// from int8 ones, so a pair's sum fits.
HWY_INLINE Ints add_pairs(Ints a, Ints b, Ints sum) {
#if HWY_TARGET == HWY_AVX2
  return hn::Add(sum, Ints{_mm256_madd_epi16(a.raw, b.raw)});
#elif HWY_TARGET == HWY_AVX3
  return hn::Add(sum, Ints{_mm512_madd_epi16(a.raw, b.raw)});
#else
  const Ints low =
      hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(a)), hn::ShiftRight<16>(hn::ShiftLeft<16>(b)));
  return hn::Add(hn::Add(sum, low), hn::Mul(hn::ShiftRight<16>(a), hn::ShiftRight<16>(b)));
#endif
}

/// As `multiply_f32`; a step covers two k.
template <int kRows, int kVectors>
void multiply_i8(const TileProduct& tile) {
  const I32 d;
  Ints sums[kRows][kVectors];
  const auto* in = static_cast<const std::int32_t*>(tile.in);
  GIRIH_UNROLL
  for (int i = 0; i < kRows; ++i) {
    GIRIH_UNROLL
    for (int j = 0; j < kVectors; ++j) {
      sums[i][j] = in == nullptr ? hn::Zero(d) : hn::LoadU(d, in + i * tile.in_stride + j * kLanes);
    }
  }
  const auto* a = static_cast<const std::int32_t*>(tile.a);
  const auto* b = static_cast<const std::int32_t*>(tile.b);
  for (std::int64_t k = 0; k < tile.steps; ++k) {
    Ints column[kVectors];
    GIRIH_UNROLL
    for (int j = 0; j < kVectors; ++j) column[j] = hn::LoadU(d, b + j * kLanes);
    GIRIH_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const Ints row = hn::Set(d, a[i]);
      GIRIH_UNROLL
      for (int j = 0; j < kVectors; ++j) sums[i][j] = add_pairs(row, column[j], sums[i][j]);
    }
    a += kRows;
    b += kVectors * kLanes;
  }
  auto* out = static_cast<std::int32_t*>(tile.out);
  GIRIH_UNROLL
  for (int i = 0; i < kRows; ++i) {
    GIRIH_UNROLL
    for (int j = 0; j < kVectors; ++j) {
      hn::StoreU(sums[i][j], d, out + i * tile.out_stride + j * kLanes);
    }
  }
}

template <int kRows, int kVectors>
constexpr GemmKernel f32_kernel() {
  return {pack_floats<kRows>, pack_floats<kVectors * kLanes>, multiply_f32<kRows, kVectors>,
          finish};
}
template <int kRows, int kVectors>
constexpr GemmKernel i8_kernel() {
  return {pack_bytes<kRows>, pack_bytes<kVectors * kLanes>, multiply_i8<kRows, kVectors>, finish};
}

}  // namespace
}  // namespace girih::inline v0::cpu::GIRIH_CPU_TARGET
