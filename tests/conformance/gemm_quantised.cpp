#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "support/case_lane.hpp"
#include "support/gemm.hpp"

// Products whose C is of 8 bits: scaled, rounded and saturated after everything else.

namespace girih::testing {
namespace {

using verify::CaseReport;
using verify::Contents;
using verify::GemmCase;
using verify::ResidualCase;

constexpr auto kOutputs = std::to_array<DType>({DType::I8, DType::F8E4M3, DType::F8E5M2});
constexpr auto kOperands = std::to_array<DType>(
    {DType::F32, DType::BF16, DType::F16, DType::I8, DType::F8E4M3, DType::F8E5M2});

class QuantisedGemm : public LaneTest {
 protected:
  void expect(const GemmCase& x) {
    const bool is_eighth = x.operands == DType::F8E4M3 || x.operands == DType::F8E5M2;
    const bool is_refused =
        runtime_.backend() == Backend::Metal || (is_eighth && runtime_.backend() == Backend::Cpu);
    const CaseReport report = verify::run_case(runtime_, x, mode());
    EXPECT_EQ(report.outcome,
              is_refused ? CaseReport::Outcome::Refused : CaseReport::Outcome::Passed)
        << x.to_string() << "\n  on " << report.kernel << ": " << report.detail;
  }
};

/// Case `kind` of the terms that an epilogue may have.
constexpr int kKinds = 6;
GemmCase with_terms(GemmCase x, int kind) {
  if (kind == 1 || kind == 4) {
    x.bias = x.index % 2 == 0 ? DType::F32 : DType::BF16;
    x.activation = static_cast<Activation>(x.index % 4);
    x.residual = ResidualCase::Separate;
    x.residual_type = DType::F16;
    x.alpha = -0.75F;
  }
  if (kind == 2 || kind == 5) {
    x.gate = Gate{.activation = static_cast<Activation>(x.index % 4),
                  .order = static_cast<GateOrder>(x.index / 2 % 2),
                  .limit = 7};
    if (kind == 5) x.bias = DType::F16;
  }
  if (kind >= 3) x.c_scale = true;
  if (kind >= 4) {
    x.a_scale = x.index % 2 == 0 ? Granularity::PerRow : Granularity::PerTensor;
    x.b_scale = Granularity::PerColumn;
    x.alpha_on_device = true;
  }
  return x;
}

TEST_P(QuantisedGemm, EveryTypeWithEveryTerm) {
  struct Extents {
    std::int64_t m, n, k;
  };
  std::uint64_t i = 0;
  for (const DType operands : kOperands) {
    for (const DType output : kOutputs) {
      for (int kind = 0; kind < kKinds; ++kind) {
        for (const auto& [m, n, k] : {Extents{1, 129, 64}, {37, 45, 100}, {130, 72, 33}}) {
          GemmCase x{.index = i, .m = m, .n = n, .k = k, .operands = operands, .output = output};
          x.b.column_major = i % 3 != 0;
          x.c.column_major = i % 4 == 1;
          x.c.pad = i % 5 == 0 ? 3 : 0;
          x.c.offset = static_cast<std::int64_t>(i % 3);
          if (i % 7 == 3) x.batch = 3;
          expect(with_terms(x, kind));
          ++i;
        }
      }
    }
  }
}

TEST_P(QuantisedGemm, SpecialValuesEmptySumsAndLongOnes) {
  std::uint64_t i = 0;
  for (const DType output : kOutputs) {
    for (const Contents contents : {Contents::Special, Contents::Wide, Contents::Lowest}) {
      for (const std::int64_t k : {0, 17, 700}) {
        for (const DType operands : {DType::F32, DType::BF16, DType::I8}) {
          GemmCase x{.index = i++,
                     .m = 33,
                     .n = 50,
                     .k = k,
                     .operands = operands,
                     .output = output,
                     .contents = contents};
          expect(with_terms(x, static_cast<int>(i % kKinds)));
          x.alpha = 0;
          if (k == 17) expect(x);
        }
      }
    }
  }
}

TEST_P(QuantisedGemm, ShapesAroundTileEdges) {
  std::uint64_t i = 0;
  for (const std::int64_t m : {1, 5, 16, 17, 64, 129}) {
    for (const std::int64_t n : {1, 3, 15, 31, 64, 257}) {
      GemmCase x{.index = i,
                 .m = m,
                 .n = n,
                 .k = 48,
                 .operands = kOperands[i % 4],
                 .output = kOutputs[i % 3]};
      x.a.column_major = i % 2 == 0;
      x.c.step = i % 6 == 5 ? 2 : 1;
      expect(with_terms(x, static_cast<int>(i % kKinds)));
      ++i;
    }
  }
}

GIRIH_FOR_ALL_LANES(QuantisedGemm);

// The meaning of the types, from their 256 values.

/// The value of the type that is nearest, of two the even one; the first or last if there is none
/// beyond. NaN is NaN, or 0 of an integer.
double nearest(DType type, const std::vector<double>& sorted, double x) {
  if (std::isnan(x)) return type == DType::I8 ? 0 : x;
  const auto above = std::lower_bound(sorted.begin(), sorted.end(), x);
  if (above == sorted.end()) return sorted.back();
  if (above == sorted.begin() || *above == x) return *above;
  const double high = *above, low = *(above - 1);
  if (x - low != high - x) return x - low < high - x ? low : high;
  // The distance from zero is the pattern without its sign.
  const auto zero = std::lower_bound(sorted.begin(), sorted.end(), 0.0);
  return (above - zero) % 2 == 0 ? high : low;
}

std::vector<double> finite_values(DType type) {
  std::vector<double> values;
  for (int i = 0; i < 256; ++i) {
    const auto pattern = static_cast<std::byte>(i);
    const double value = load_element(&pattern, type, 0);
    if (std::isfinite(value) && !(value == 0 && std::signbit(value))) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  return values;
}

class QuantisedValues : public BackendTest {};

TEST_P(QuantisedValues, AreNearestTiesToEvenAndSaturate) {
  if (GetParam() == Backend::Metal) GTEST_SKIP() << "has no such rows";
  for (const DType output : kOutputs) {
    const std::vector<double> sorted = finite_values(output);
    ASSERT_EQ(sorted.size(), output == DType::I8 ? 256U : output == DType::F8E4M3 ? 253U : 247U);
    std::vector<float> x = {HUGE_VALF, -HUGE_VALF, std::nanf(""), 1e30F, -1e30F, -0.0F, 1e-40F};
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
      const auto middle = static_cast<float>((sorted[i] + sorted[i + 1]) / 2);
      x.insert(x.end(), {static_cast<float>(sorted[i]), middle, std::nextafter(middle, HUGE_VALF),
                         std::nextafter(middle, -HUGE_VALF)});
    }
    const auto end = static_cast<float>(sorted.back());
    for (const float beyond : {1.0F, 1.001F, 1.03F, 1.0625F, 1.125F, 1.25F, 2.0F, 100.0F}) {
      x.insert(x.end(), {end * beyond, -end * beyond, -end * beyond - 1});
    }
    verify::Random random(7);
    for (int i = 0; i < 4000; ++i) {
      x.push_back(
          std::ldexp(static_cast<float>(random.real()), static_cast<int>(random.integer(-20, 18))));
    }
    const Tensor a = tensor_of(runtime_, {std::ssize(x), 1}, DType::F32, x);
    constexpr std::int64_t kColumns = 5;
    const Tensor ones =
        tensor_of(runtime_, {1, kColumns}, DType::F32, std::vector<float>(kColumns, 1.0F));
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float factor : {1.0F, 0.5F, -3.0F, 0.0F, infinity, std::nanf("")}) {
      const Tensor c_scale = tensor_of(runtime_, {1}, DType::F32, std::vector{factor});
      const Tensor c = must(runtime_.tensor({std::ssize(x), kColumns}, output));
      must(gemm(runtime_, {.a = a, .b = ones, .c = c, .c_scale = Scale{c_scale}}));
      const std::vector<std::byte> got = bytes_of(runtime_, c);
      for (std::size_t i = 0; i < x.size() * kColumns; ++i) {
        const float scaled = x[i / kColumns] * factor;
        const double want = nearest(output, sorted, static_cast<double>(scaled));
        const double result = load_element(got.data(), output, static_cast<std::int64_t>(i));
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(result)) << x[i / kColumns] << " times " << factor;
        } else {
          ASSERT_EQ(result, want) << std::hexfloat << x[i / kColumns] << " times " << factor
                                  << " to " << name(output);
        }
      }
    }
  }
}

TEST_P(QuantisedValues, OfIntegersAreTheirScaledSums) {
  if (GetParam() == Backend::Metal) GTEST_SKIP() << "has no such rows";
  const Tensor a =
      tensor_of(runtime_, {2, 3}, DType::I8, std::vector<std::int8_t>{1, 2, 3, 100, 100, 100});
  const Tensor b =
      tensor_of(runtime_, {3, 2}, DType::I8, std::vector<std::int8_t>{1, -1, 1, -1, 1, 0});
  const Tensor half = tensor_of(runtime_, {}, DType::F32, std::vector{0.25F});
  const Tensor c = must(runtime_.tensor({2, 2}, DType::I8));
  must(gemm(runtime_, {.a = a, .b = b, .c = c, .c_scale = Scale{half}}));
  const std::vector<std::byte> got = bytes_of(runtime_, c);
  // 6, -3, 300 and -200, times 1/4.
  const auto want = std::to_array<double>({2, -1, 75, -50});
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(load_element(got.data(), DType::I8, i), want[static_cast<std::size_t>(i)]) << i;
  }
  must(gemm(runtime_, {.a = a, .b = b, .c = c}));
  EXPECT_EQ(load_element(bytes_of(runtime_, c).data(), DType::I8, 2), 127);
  EXPECT_EQ(load_element(bytes_of(runtime_, c).data(), DType::I8, 3), -128);
}

GIRIH_FOR_ALL_BACKENDS(QuantisedValues);

}  // namespace
}  // namespace girih::testing
