// No include guard: see simd-inl.hpp.
//
// What follows the sum (`Epilogue`), a row of a tile at a time: operands that are not plain vectors
// of f32 are first brought into one on the stack, zero beyond the row, so that padding lanes
// compute on zeros and raise no floating-point flag.

namespace girih::inline v0::cpu::GIRIH_CPU_TARGET {
namespace {

struct alignas(64) Row {
  float values[kMaxTile];
};

HWY_INLINE std::int64_t whole_vectors(std::int64_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

/// The `count` elements at `data` as f32, in whole vectors: in place where they lie so, else in
/// `row`.
HWY_INLINE const float* load_row(const void* data, Element type, std::int64_t stride,
                                 std::int64_t count, Row& row) {
  if (type == Element::F32) {
    const auto* source = static_cast<const float*>(data);
    if (stride == 1 && count % kLanes == 0) return source;
    for (std::int64_t j = 0; j < count; ++j) row.values[j] = source[j * stride];
    for (std::int64_t j = count; j < whole_vectors(count); ++j) row.values[j] = 0;
  } else {
    widen_row(static_cast<const std::uint16_t*>(data), stride, type, count, row.values);
  }
  return row.values;
}

HWY_INLINE void store_row(const Row& row, Element type, std::int64_t stride, std::int64_t count,
                          void* data) {
  if (type == Element::F32) {
    auto* destination = static_cast<float*>(data);
    for (std::int64_t j = 0; j < count; ++j) destination[j * stride] = row.values[j];
    return;
  }
  auto* destination = static_cast<std::uint16_t*>(data);
  for (std::int64_t j = 0; j < count; j += kLanes) {
    const Floats value = hn::LoadU(F32(), row.values + j);
    const Words half = type == Element::BF16 ? narrow_bf16(value) : narrow_f16(value);
    if (stride == 1 && j + kLanes <= count) {
      store_halves(half, destination + j);
      continue;
    }
    std::uint16_t raw[kLanes];
    store_halves(half, raw);
    for (std::int64_t l = 0; l < kLanes && j + l < count; ++l)
      destination[(j + l) * stride] = raw[l];
  }
}

/// exp(z) for -86 <= z <= 88.5, within 2 units in the last place: z = n ln 2 + r, |r| <= ln 2 / 2,
/// and the Taylor polynomial of degree 7 in r (its remainder is below 2^-27).
HWY_INLINE Floats exponential(Floats z) {
  const Floats rounder = set(12582912.0F);  // 1.5 * 2^23: the sum's last place is 1
  const Floats shifted = fma(z, set(1.44269504F), rounder);
  const Floats n = hn::Sub(shifted, rounder);
  Floats r = fma(n, set(-0.693145751953125F), z);  // ln 2 in two parts; the first times n is exact
  r = fma(n, set(-1.428606765330187e-06F), r);
  Floats p = set(1.0F / 5040);
  p = fma(p, r, set(1.0F / 720));
  p = fma(p, r, set(1.0F / 120));
  p = fma(p, r, set(1.0F / 24));
  p = fma(p, r, set(1.0F / 6));
  p = fma(p, r, set(0.5F));
  p = fma(p, r, set(1.0F));
  p = fma(p, r, set(1.0F));
  return from_bits(hn::Add(bits(p), hn::ShiftLeft<23>(bits(shifted))));
}

/// x / (1 + exp(-t)), without overflow: beyond t = -88.5 the quotient is a zero of x's sign.
HWY_INLINE Floats times_sigmoid(Floats x, Floats t) {
  const Floats z = hn::Neg(t);
  const auto vanishes = z > set(88.5F);
  Floats clamped = hn::IfThenElse(vanishes, set(88.5F), z);
  clamped = hn::IfThenElse(clamped > set(-86.0F), clamped, set(-86.0F));
  const Floats power = hn::IfThenElse(vanishes, from_bits(word(0x7F800000)), exponential(clamped));
  const Floats largest = set(3.40282347e+38F);
  const Floats numerator = hn::IfThenElse(x < hn::Neg(largest), hn::Neg(largest), x);
  return hn::Div(numerator, hn::Add(set(1.0F), power));
}

HWY_INLINE Floats activate(Floats x, Function function, float silu_alpha = 1) {
  switch (function) {
    case Function::None:
      return x;
    case Function::Relu:
      return hn::IfThenElse(x < hn::Zero(F32()), hn::Zero(F32()), x);
    case Function::Silu:
      return times_sigmoid(x, hn::Mul(set(silu_alpha), x));
    case Function::GeluTanh: {
      // (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)), which does not cancel. Beyond |x| = 20 the factor
      // is 0 or 1, so its argument is clamped there; x is not.
      Floats y = hn::IfThenElse(x > set(20.0F), set(20.0F), x);
      y = hn::IfThenElse(y < set(-20.0F), set(-20.0F), y);
      const Floats square = hn::Mul(y, y);
      const Floats slope = fma(square, set(0.07135481627F), set(1.5957691216F));
      return times_sigmoid(x, hn::Mul(y, slope));
    }
  }
  return x;
}

/// The gate of two columns. NaN stays NaN.
HWY_INLINE Floats join(const Epilogue& e, Floats g, Floats u) {
  const Floats limit = set(e.gate_limit), low = set(-e.gate_limit);
  g = hn::IfThenElse(g > limit, limit, g);
  u = hn::IfThenElse(u > limit, limit, u);
  u = hn::IfThenElse(u < low, low, u);
  return hn::Mul(activate(g, e.function, e.gate_alpha), hn::Add(u, set(e.up_offset)));
}

/// i32 C = sum, or the saturating C + sum.
HWY_INLINE void finish_i32(const Epilogue& e, const EpilogueTile& tile) {
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const auto* sums = static_cast<const std::int32_t*>(tile.sums) + i * tile.sum_stride;
    auto* c = static_cast<std::int32_t*>(e.c) + (tile.row + i) * e.c_row_stride +
              tile.column * e.c_column_stride;
    for (std::int64_t j = 0; j < tile.columns; ++j) {
      std::int32_t& element = c[j * e.c_column_stride];
      std::int32_t result = sums[j];
      if (e.reads_c && __builtin_add_overflow(result, element, &result)) {
        result = element < 0 ? INT32_MIN : INT32_MAX;
      }
      element = result;
    }
  }
}

/// Address of element (row, column) of a matrix with these strides.
HWY_INLINE const void* element_at(const void* data, Element type, std::int64_t index) {
  const bool is_half = type == Element::BF16 || type == Element::F16;
  return static_cast<const char*>(data) + index * (type == Element::F32 ? 4 : is_half ? 2 : 1);
}

/// What a row is made of besides the sums: of its columns, or null.
struct Terms {
  const void* sums = nullptr;
  const float* factors = nullptr;
  const float* old = nullptr;
  const float* bias = nullptr;
};

/// The sums from element `offset` on, with factors, C and bias of column `j` of the tile on.
HWY_INLINE Floats add_up(const Epilogue& e, const Terms& terms, Floats row_factor,
                         std::int64_t offset, std::int64_t j) {
  Floats x;
  if (e.integer_sum) {
    const auto* sums = static_cast<const std::int32_t*>(terms.sums);
    x = hn::ConvertTo(F32(), hn::LoadU(I32(), sums + offset + j));
  } else {
    x = hn::LoadU(F32(), static_cast<const float*>(terms.sums) + offset + j);
  }
  if (e.scales) {
    const Floats factor = terms.factors == nullptr
                              ? row_factor
                              : hn::Mul(row_factor, hn::LoadU(F32(), terms.factors + j));
    x = hn::Mul(factor, x);
  }
  if (terms.old != nullptr) x = fma(set(e.beta), hn::LoadU(F32(), terms.old + j), x);
  if (terms.bias != nullptr) x = hn::Add(x, hn::LoadU(F32(), terms.bias + j));
  return x;
}

/// One row; `up` is used by a gate.
HWY_INLINE void finish_row(const Epilogue& e, const EpilogueTile& tile, std::int64_t i, Terms terms,
                           const Terms& up) {
  const std::int64_t m = tile.row + i;
  const std::int64_t c_index = m * e.c_row_stride + tile.column * e.c_column_stride;
  void* c_row = const_cast<void*>(element_at(e.c, e.c_type, c_index));
  Row old_row, residual_row, result_row;
  if (e.reads_c) terms.old = load_row(c_row, e.c_type, e.c_column_stride, tile.columns, old_row);
  const float* residual = nullptr;
  if (e.residual.data != nullptr) {
    const std::int64_t index = m * e.residual.row_stride + tile.column * e.residual.column_stride;
    residual = load_row(element_at(e.residual.data, e.residual.type, index), e.residual.type,
                        e.residual.column_stride, tile.columns, residual_row);
  }
  const bool in_place =
      e.c_type == Element::F32 && e.c_column_stride == 1 && tile.columns % kLanes == 0;
  float* result = in_place ? static_cast<float*>(c_row) : result_row.values;
  const Floats row_factor =
      set(e.a_scale != nullptr ? e.alpha * e.a_scale[m * e.a_scale_stride] : e.alpha);
  const std::int64_t offset = i * tile.sum_stride;
  for (std::int64_t j = 0; j < tile.columns; j += kLanes) {
    Floats x = add_up(e, terms, row_factor, offset, j);
    x = e.gates ? join(e, x, add_up(e, up, row_factor, offset, j)) : activate(x, e.function);
    if (residual != nullptr) x = hn::Add(x, hn::LoadU(F32(), residual + j));
    hn::StoreU(x, F32(), result + j);
  }
  if (e.quantise != nullptr) {
    e.quantise(result, e.c_scale, tile.columns, e.c_column_stride, c_row);
    return;
  }
  if (!in_place) store_row(result_row, e.c_type, e.c_column_stride, tile.columns, c_row);
}

/// What the rows of a tile share; vectors that are not plain f32 are brought into the two rows.
HWY_INLINE Terms terms_of(const Epilogue& e, const EpilogueTile& tile, const void* sums,
                          const float* scale, const EpilogueView& bias, Row& factor_row,
                          Row& bias_row) {
  Terms terms;
  terms.sums = sums;
  if (scale != nullptr) {
    terms.factors = load_row(scale + tile.column * e.b_scale_stride, Element::F32, e.b_scale_stride,
                             tile.columns, factor_row);
  }
  if (bias.data != nullptr) {
    const std::int64_t index = tile.column * bias.column_stride;
    terms.bias = load_row(element_at(bias.data, bias.type, index), bias.type, bias.column_stride,
                          tile.columns, bias_row);
  }
  return terms;
}

inline void finish(const Epilogue& e, const EpilogueTile& tile) {
  if (e.c_type == Element::I32) return finish_i32(e, tile);
  Row factor_row, bias_row, up_factor_row, up_bias_row;
  const Terms terms = terms_of(e, tile, tile.sums, e.b_scale, e.bias, factor_row, bias_row);
  Terms up;
  if (e.gates) {
    up = terms_of(e, tile, tile.up_sums, e.up_b_scale, e.up_bias, up_factor_row, up_bias_row);
  }
  for (std::int64_t i = 0; i < tile.rows; ++i) finish_row(e, tile, i, terms, up);
}

}  // namespace
}  // namespace girih::inline v0::cpu::GIRIH_CPU_TARGET
