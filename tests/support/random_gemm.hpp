#pragma once

#include <array>

#include "ops/gemm.hpp"
#include "verify/random.hpp"

namespace girih::inline v0::testing {

/// The geometry of a product that may ask for anything selection looks at, over extents of 1 to
/// 40000; it obeys the rules.
inline GemmSpec random_gemm(verify::Random& random) {
  static constexpr auto kExtents = std::to_array<std::int64_t>(
      {1, 2, 7, 16, 17, 64, 130, 328, 512, 1000, 2048, 4096, 5120, 14336, 40000});
  static constexpr auto kTypes = std::to_array<DType>(
      {DType::F32, DType::BF16, DType::BF16, DType::F16, DType::I8, DType::F8E4M3, DType::F8E5M2});
  static constexpr auto kFloats = std::to_array<DType>({DType::F32, DType::BF16, DType::F16});
  const DType type = random.pick(kTypes);
  const std::int64_t m = random.pick(kExtents), k = random.pick(kExtents);
  std::int64_t n = random.pick(kExtents);
  const std::int64_t batch = random.one_in(4) ? random.integer(2, 20) : 1;
  const bool gated = random.one_in(6);
  const std::int64_t columns = gated ? 2 * n : n;
  const auto matrix = [&](DType dtype, std::int64_t rows, std::int64_t width, bool shared) {
    const std::int64_t pad = random.one_in(4) ? random.integer(1, 16) : 0;
    const bool by_columns = random.one_in(2);
    const std::int64_t leading = (by_columns ? rows : width) + pad;
    const std::int64_t stride = shared ? 0 : leading * (by_columns ? width : rows) + pad;
    Geometry x{dtype, {batch, rows, width}, {stride, leading, 1}, 0};
    if (by_columns) x.strides = {stride, 1, leading};
    return x;
  };
  const bool is_integer = type == DType::I8 && random.one_in(2);
  GemmSpec spec{.a = matrix(type, m, k, random.one_in(4)),
                .b = matrix(type, k, columns, random.one_in(3)),
                .c = matrix(is_integer && !gated ? DType::I32 : random.pick(kFloats), m, n, false)};
  spec.precision = static_cast<Precision>(random.integer(0, 2));
  if (random.one_in(6)) spec.path = static_cast<Path>(random.integer(1, 2));
  if (random.one_in(3)) spec.reproducibility = Reproducibility::RowInvariant;
  if (random.one_in(8)) spec.workspace_bytes = random.integer(0, 1) * (std::int64_t{1} << 30);
  if (gated) spec.gate = Gate{.order = static_cast<GateOrder>(random.integer(0, 1))};
  if (spec.c.dtype == DType::I32) return spec;
  const bool is_quantised = random.one_in(6);
  if (is_quantised) {
    spec.c.dtype = random.one_in(2) ? DType::I8 : DType::F8E4M3;
    if (random.one_in(2)) spec.c_scale = Geometry{DType::F32, {1}, {1}, 0};
  }
  if (random.one_in(20)) spec.alpha.value = 0;
  if (random.one_in(3) && !gated && !is_quantised) spec.beta.value = 0.5F;
  if (random.one_in(3)) spec.bias = Geometry{random.pick(kFloats), {columns}, {1}, 0};
  if (random.one_in(5)) spec.residual = matrix(random.pick(kFloats), m, n, false);
  if (random.one_in(5)) {
    spec.a_scale = Geometry{DType::F32, {m}, {1}, 0};
    spec.a_granularity = Granularity::PerRow;
  }
  if (random.one_in(8) && (type == DType::F8E4M3 || type == DType::F8E5M2)) {
    const std::int64_t along = (k + kScaledDepth - 1) / kScaledDepth;
    spec.b_scale = Geometry{DType::F32, {along, columns}, {columns, 1}, 0};
    spec.b_granularity = Granularity::PerColumnBlock;
  }
  return spec;
}

}  // namespace girih::inline v0::testing
