#include "reference/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "reference/element.hpp"
#include "support/expect.hpp"
#include "verify/random.hpp"

namespace girih {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Row-major elements of one type.
struct Matrix {
  Matrix(DType type, std::int64_t row_count, std::int64_t column_count,
         const std::vector<double>& values)
      : dtype(type), rows(row_count), columns(column_count) {
    bytes.resize(static_cast<std::size_t>(rows * columns * bit_width(type) / 8));
    for (std::size_t i = 0; i < values.size(); ++i) {
      store_element(bytes.data(), dtype, static_cast<std::int64_t>(i), values[i]);
    }
  }
  [[nodiscard]] Geometry geometry() const { return {dtype, {rows, columns}, {columns, 1}, 0}; }

  DType dtype;
  std::int64_t rows, columns;
  std::vector<std::byte> bytes;
};

GemmSpec spec_of(const Matrix& a, const Matrix& b, const Matrix& c) {
  return {.a = a.geometry(), .b = b.geometry(), .c = c.geometry()};
}

GemmReference run(const GemmSpec& spec, GemmOperands operands, const Matrix& a, const Matrix& b,
                  Matrix& c, Backend backend = Backend::Cpu) {
  operands.a = a.bytes.data();
  operands.b = b.bytes.data();
  operands.c = c.bytes.data();
  return reference_gemm(testing::must(check(spec)), operands, backend);
}

TEST(ReferenceGemmTest, MultipliesAsByHand) {
  const Matrix a(DType::F32, 2, 3, {1, 2, 3, 4, 5, 6});
  const Matrix b(DType::F32, 3, 2, {7, 8, 9, 10, 11, 12});
  Matrix c(DType::F32, 2, 2, {});
  EXPECT_EQ(run(spec_of(a, b, c), {}, a, b, c).value, (std::vector<double>{58, 64, 139, 154}));
  GemmSpec transposed = spec_of(a, a, c);
  transposed.b = {DType::F32, {3, 2}, {1, 3}, 0};  // A transposed, as a view
  EXPECT_EQ(run(transposed, {}, a, a, c).value, (std::vector<double>{14, 32, 32, 77}));
}

TEST(ReferenceGemmTest, AppliesEveryTermInOrder) {
  const Matrix a(DType::F32, 1, 1, {3}), b(DType::F32, 1, 2, {2, -4});
  Matrix c(DType::F32, 1, 2, {10, 20});
  const Matrix bias(DType::BF16, 1, 2, {0.5, 1}), residual(DType::F16, 1, 2, {100, 200});
  const float row = 2, column[] = {1, 3}, beta = -0.5F;
  GemmSpec spec = spec_of(a, b, c);
  spec.alpha = {.value = 0.25F};
  spec.beta = {.on_device = true};
  spec.bias = Geometry{DType::BF16, {2}, {1}, 0};
  spec.residual = residual.geometry();
  spec.a_scale = Geometry{DType::F32, {1}, {1}, 0};
  spec.a_granularity = Granularity::PerRow;
  spec.b_scale = Geometry{DType::F32, {2}, {1}, 0};
  spec.b_granularity = Granularity::PerColumn;
  spec.activation = Activation::Relu;
  const GemmReference result = run(spec,
                                   {.bias = bias.bytes.data(),
                                    .residual = residual.bytes.data(),
                                    .a_scale = &row,
                                    .b_scale = column,
                                    .beta = &beta},
                                   a, b, c);
  // relu(0.25*2*1*6 - 5 + 0.5) + 100 and relu(0.25*2*3*-12 - 10 + 1) + 200
  EXPECT_EQ(result.value, (std::vector<double>{100, 200}));
  spec.activation = Activation::None;
  EXPECT_EQ(run(spec,
                {.bias = bias.bytes.data(),
                 .residual = residual.bytes.data(),
                 .a_scale = &row,
                 .b_scale = column,
                 .beta = &beta},
                a, b, c)
                .value,
            (std::vector<double>{98.5, 173}));
}

TEST(ReferenceGemmTest, AnEighthOutputIsScaledRoundedAndSaturated) {
  const double nan = std::nan("");
  // Columns of 3 times these, times -2: ties, what saturates, and what is no number.
  const Matrix a(DType::F32, 1, 1, {3});
  const Matrix b(DType::F32, 1, 7, {0.25, 0.0625, 100, -100, 0.5, kInfinity, nan});
  const float factor = -2;
  const auto result = [&](DType type, const float* c_scale) {
    Matrix c(type, 1, 7, {});
    GemmSpec spec = spec_of(a, b, c);
    if (c_scale != nullptr) spec.c_scale = Geometry{DType::F32, {1}, {1}, 0};
    return run(spec, {.c_scale = c_scale}, a, b, c);
  };
  const auto expect = [](const GemmReference& got, const std::vector<double>& want) {
    for (std::size_t i = 0; i < want.size(); ++i) {
      const bool is_nan = std::isnan(want[i]);
      EXPECT_TRUE(is_nan ? std::isnan(got.value[i])
                         : std::fabs(got.value[i] - want[i]) <= got.bound[i])
          << i << ": " << got.value[i] << " within " << got.bound[i];
    }
  };
  // -1.5 is a tie of i8: what f32 makes of it may be on either side.
  const GemmReference bytes = result(DType::I8, &factor);
  expect(bytes, {-1, 0, -128, 127, -3, -128, 0});
  expect(bytes, {-2, 0, -128, 127, -3, -128, 0});
  EXPECT_EQ(bytes.value[0], -1.5);
  EXPECT_EQ(bytes.bound, (std::vector<double>{0.5, 0, 0, 0, 0, 0, 0}));
  expect(result(DType::I8, nullptr), {1, 0, 127, -128, 2, 127, 0});
  const GemmReference wide = result(DType::F8E4M3, &factor);
  expect(wide, {-1.5, -0.375, -448, 448, -3, -448, nan});
  EXPECT_EQ(wide.bound, std::vector<double>(7, 0.0));
  const float huge = 3e38F, zero = 0, infinity = HUGE_VALF, unknown = std::nanf("");
  expect(result(DType::F8E5M2, &huge), {57344, 57344, 57344, -57344, 57344, 57344, nan});
  expect(result(DType::F8E5M2, &infinity), {57344, 57344, 57344, -57344, 57344, 57344, nan});
  expect(result(DType::I8, &zero), {0, 0, 0, 0, 0, 0, 0});
  expect(result(DType::F8E4M3, &zero), {0, 0, 0, 0, 0, nan, nan});
  expect(result(DType::I8, &unknown), {0, 0, 0, 0, 0, 0, 0});
}

TEST(ReferenceGemmTest, AGateJoinsTwoColumnsAfterTheirTerms) {
  // 3 times the columns is (6, -12 | 3, 1.5), and with scales and bias (7, -36.5 | 9, 6).
  const Matrix a(DType::F32, 1, 1, {3});
  const Matrix b(DType::F32, 1, 4, {2, -4, 1, 0.5}), pairs(DType::F32, 1, 4, {2, 1, -4, 0.5});
  Matrix c(DType::F32, 1, 2, {std::nan(""), std::nan("")});
  const Matrix residual(DType::F32, 1, 2, {100, 200});
  const float scale[] = {1, 3, 2, 4}, scale_of_pairs[] = {1, 2, 3, 4};
  const Matrix bias(DType::F32, 1, 4, {1, -0.5, 3, 0}),
      bias_of_pairs(DType::F32, 1, 4, {1, 3, -0.5, 0});
  GemmSpec spec = spec_of(a, b, c);
  spec.bias = Geometry{DType::F32, {4}, {1}, 0};
  spec.b_scale = Geometry{DType::F32, {4}, {1}, 0};
  spec.b_granularity = Granularity::PerColumn;
  spec.residual = residual.geometry();
  const auto values = [&](Gate gate) {
    spec.gate = gate;
    const std::vector<double> concatenated =
        run(spec, {.bias = bias.bytes.data(), .residual = residual.bytes.data(), .b_scale = scale},
            a, b, c)
            .value;
    spec.gate->order = GateOrder::Interleaved;
    EXPECT_EQ(run(spec,
                  {.bias = bias_of_pairs.bytes.data(),
                   .residual = residual.bytes.data(),
                   .b_scale = scale_of_pairs},
                  a, pairs, c)
                  .value,
              concatenated);
    return concatenated;
  };
  EXPECT_EQ(values({.activation = Activation::None}), (std::vector<double>{163, -19}));
  EXPECT_EQ(values({.activation = Activation::Relu}), (std::vector<double>{163, 200}));
  // At most 6 and 6: 6 * (6 + 1), and -36.5 * (6 + 1).
  EXPECT_EQ(values({.activation = Activation::None, .limit = 6, .up_offset = 1}),
            (std::vector<double>{142, -55.5}));
  EXPECT_NEAR(values({.alpha = 0.5F})[0], 100 + 9 * 7 / (1 + std::exp(-3.5)), 1e-12);
}

TEST(ReferenceGemmTest, TheBoundOfAGateHoldsForF32AndCatchesLessPrecision) {
  constexpr std::int64_t kDepth = 50, kColumns = 40;
  verify::Random random(5, 1);
  std::vector<double> values(static_cast<std::size_t>(kDepth * 2 * kColumns));
  for (double& value : values) value = random.real();
  const Matrix b(DType::F32, kDepth, 2 * kColumns, values);
  values.resize(static_cast<std::size_t>(kDepth));
  const Matrix a(DType::F32, 1, kDepth, values);
  Matrix c(DType::F32, 1, kColumns, {});
  GemmSpec spec = spec_of(a, b, c);
  for (const float alpha : {1.0F, 1.702F}) {
    spec.gate = Gate{.alpha = alpha, .limit = 2, .up_offset = 0.25F};
    const GemmReference want = run(spec, {}, a, b, c);
    double worst = 0, worst_of_bf16 = 0;
    for (std::int64_t j = 0; j < kColumns; ++j) {
      float sums[2] = {};
      for (std::int64_t p = 0; p < kDepth; ++p) {
        for (std::int64_t half = 0; half < 2; ++half) {
          const std::int64_t at = p * 2 * kColumns + half * kColumns + j;
          sums[half] = std::fma(static_cast<float>(load_element(a.bytes.data(), DType::F32, p)),
                                static_cast<float>(load_element(b.bytes.data(), DType::F32, at)),
                                sums[half]);
        }
      }
      const float g = std::min(sums[0], 2.0F), u = std::clamp(sums[1], -2.0F, 2.0F) + 0.25F;
      const float y = g / (1 + std::exp(-(alpha * g)));
      const auto e = static_cast<std::size_t>(j);
      const auto error = [&](float got) {
        return std::fabs(static_cast<double>(got) - want.value[e]) / want.bound[e];
      };
      worst = std::max(worst, error(y * u));
      worst_of_bf16 = std::max(worst_of_bf16, error(to_f32(to_bf16(y)) * u));
    }
    EXPECT_LE(worst, 1);
    EXPECT_GT(worst_of_bf16, 1);
  }
}

TEST(ReferenceGemmTest, AGateOfInfinitiesHasAClassWhereItsSignIsCertain) {
  const Matrix a(DType::F32, 1, 1, {1});
  Matrix c(DType::F32, 1, 1, {});
  const auto result = [&](double g, double u, Gate gate = {}) {
    const Matrix b(DType::F32, 1, 2, {g, u});
    GemmSpec spec = spec_of(a, b, c);
    spec.gate = gate;
    const GemmReference reference = run(spec, {}, a, b, c);
    return std::pair(reference.value[0], reference.bound[0]);
  };
  const double nan = std::nan("");
  EXPECT_EQ(result(1, -kInfinity), std::pair(-kInfinity, 0.0));
  EXPECT_EQ(result(kInfinity, 2), std::pair(kInfinity, 0.0));
  EXPECT_EQ(result(-kInfinity, 2).first, 0);
  EXPECT_EQ(result(1, kInfinity, {.limit = 8}).first, 8 / (1 + std::exp(-1.0)));
  EXPECT_TRUE(std::isnan(result(nan, 1).first) && std::isnan(result(1, nan).first));
  EXPECT_EQ(result(nan, 1).second, 0);
  EXPECT_EQ(result(1, nan, {.limit = 8}).second, 0);
  EXPECT_TRUE(std::isnan(result(-kInfinity, kInfinity).first));
  // silu(-100) is 0 in f32, or a little less: its product with infinity may be NaN.
  EXPECT_EQ(result(-100, kInfinity).second, kInfinity);
  EXPECT_EQ(result(3e38, 3).second, kInfinity);
}

TEST(ReferenceGemmTest, NeverReadsWhatTheContractForbids) {
  const double nan = std::nan("");
  const Matrix a(DType::F32, 1, 2, {nan, nan}), b(DType::F32, 2, 1, {nan, 1});
  Matrix c(DType::F32, 1, 1, {nan});
  GemmSpec spec = spec_of(a, b, c);
  spec.alpha = {.value = 0};
  EXPECT_EQ(run(spec, {}, a, b, c).value, std::vector<double>{0});
  const float zero = 0;
  spec.alpha = {.on_device = true};
  EXPECT_TRUE(std::isnan(run(spec, {.alpha = &zero}, a, b, c).value[0]));
}

TEST(ReferenceGemmTest, AnEmptySumGivesTheEpilogueOfZero) {
  const Matrix a(DType::F32, 2, 0, {}), b(DType::F32, 0, 1, {});
  Matrix c(DType::F32, 2, 1, {3, -7});
  GemmSpec spec = spec_of(a, b, c);
  spec.beta = {.value = 2};
  EXPECT_EQ(run(spec, {}, a, b, c).value, (std::vector<double>{6, -14}));
}

TEST(ReferenceGemmTest, IntegersAreExactAndSaturate) {
  const Matrix a(DType::I8, 1, 2, {-128, 127}), b(DType::I8, 2, 1, {-128, 127});
  Matrix c(DType::I32, 1, 1, {2147483647});
  GemmSpec spec = spec_of(a, b, c);
  const GemmReference plain = run(spec, {}, a, b, c);
  EXPECT_EQ(plain.value[0], 128 * 128 + 127 * 127);
  EXPECT_EQ(plain.bound[0], 0);
  spec.beta = {.value = 1};
  EXPECT_EQ(run(spec, {}, a, b, c).value[0], 2147483647);
}

TEST(ReferenceGemmTest, FactorsOfBlocksMultiplyTheirPartsOfK) {
  constexpr std::int64_t kK = 130;
  const Matrix a(DType::F8E4M3, 1, kK, std::vector<double>(kK, 0.5));
  const Matrix b(DType::F8E4M3, kK, 129, std::vector<double>(kK * 129, 2));
  Matrix c(DType::F32, 1, 129, {});
  GemmSpec spec = spec_of(a, b, c);
  const float rows[] = {3, 100}, blocks[] = {1, 10, 0.5F, 0.25F};
  spec.a_scale = Geometry{DType::F32, {1, 2}, {2, 1}, 0};
  spec.a_granularity = Granularity::PerRowBlock;
  spec.b_scale = Geometry{DType::F32, {2, 2}, {2, 1}, 0};
  spec.b_granularity = Granularity::PerBlock;
  const std::vector<double> value = run(spec, {.a_scale = rows, .b_scale = blocks}, a, b, c).value;
  EXPECT_EQ(value[0], 128 * 3 * 1 + 2 * 100 * 0.5);
  EXPECT_EQ(value[127], value[0]);
  EXPECT_EQ(value[128], 128 * 3 * 10 + 2 * 100 * 0.25);
}

TEST(ReferenceGemmTest, AFactorThatIsNotFiniteIsInWhatItMultipliesAlone) {
  const Matrix a(DType::BF16, 2, 2, {1, 2, 3, 4}), b(DType::BF16, 2, 2, {5, -6, 7, 8});
  Matrix c(DType::F32, 2, 2, {});
  GemmSpec spec = spec_of(a, b, c);
  spec.a_scale = Geometry{DType::F32, {2}, {1}, 0};
  spec.a_granularity = Granularity::PerRow;
  const float infinite[] = {1, -std::numeric_limits<float>::infinity()};
  const GemmReference x = run(spec, {.a_scale = infinite}, a, b, c);
  EXPECT_EQ(x.value[0], 19);
  EXPECT_EQ(x.value[1], 10);
  EXPECT_EQ(x.value[2], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(x.value[3], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(x.bound[3], 0);
  const float unknown[] = {std::numeric_limits<float>::quiet_NaN(), 1};
  const GemmReference y = run(spec, {.a_scale = unknown}, a, b, c);
  EXPECT_TRUE(std::isnan(y.value[0]) && std::isnan(y.value[1]));
  EXPECT_EQ(y.value[2], 43);
}

TEST(ReferenceGemmTest, EightBitFloatsHaveTheUnitsErrorOnCudaAlone) {
  constexpr std::int64_t kK = 256;
  const Matrix a(DType::F8E4M3, 1, kK, std::vector<double>(kK, 1));
  const Matrix b(DType::F8E4M3, kK, 1, std::vector<double>(kK, 1));
  Matrix c(DType::F32, 1, 1, {});
  GemmSpec spec = spec_of(a, b, c);
  const auto bound = [&](Backend backend) { return run(spec, {}, a, b, c, backend).bound[0]; };
  EXPECT_LT(bound(Backend::Cpu), 1e-2);
  // Two stretches of 128: four instructions of 33 terms each, of sums up to 128.
  const double share = 4 * 33 * 0x1p-13;
  EXPECT_NEAR(bound(Backend::Cuda), 2 * share * 128 * (1 + share), 1e-2);
  spec.precision = Precision::Fast;
  EXPECT_NEAR(bound(Backend::Cuda), 2 * share * 512 * (1 + 2 * share), 1e-2);
}

TEST(ReferenceGemmTest, ActivationsHaveTheirValuesAndLimits) {
  EXPECT_EQ(reference_activation(Activation::Relu, -1.0), 0);
  EXPECT_TRUE(std::isnan(reference_activation(Activation::Relu, std::nan(""))));
  EXPECT_NEAR(reference_activation(Activation::GeluTanh, 1.0), 0.8411919906, 1e-9);
  EXPECT_NEAR(reference_activation(Activation::GeluTanh, -0.5), -0.1542859902, 1e-9);
  EXPECT_NEAR(reference_activation(Activation::Silu, 1.0), 0.7310585786, 1e-9);
  EXPECT_EQ(reference_activation(Activation::GeluTanh, 1e4), 1e4);
  for (const Activation activation : {Activation::GeluTanh, Activation::Silu}) {
    EXPECT_EQ(reference_activation(activation, -kInfinity), 0);
    EXPECT_EQ(reference_activation(activation, kInfinity), kInfinity);
    const double steepest = activation == Activation::GeluTanh ? 1.13 : 1.1;
    for (double x = -12; x < 12; x += 1e-3) {
      const double slope =
          (reference_activation(activation, x + 1e-3) - reference_activation(activation, x)) / 1e-3;
      ASSERT_LE(std::fabs(slope), steepest) << x;
    }
  }
}

/// Largest error / bound of a product of random operands summed by `add`.
// Terms cut 25 bits below the exponent of the largest, where a subnormal factor counts as 2^-14:
// what an H200 gave for this product, to the bit.
TEST(ReferenceGemmTest, TheBoundOfCudaCoversTermsAlignedToASubnormal) {
  const std::vector<double> left{1396, 0x1.f48p-10, 0x1.8ep-5};
  const std::vector<double> right{-0x1.ap-20, 0x1.51p-7, 0x1.bd4p-13};
  const Matrix a(DType::F16, 1, 3, left), b(DType::F16, 3, 1, right);
  Matrix c(DType::F32, 1, 1, {});
  const auto error = [&](double step) {
    double exact = 0, cut = 0;
    for (std::size_t k = 0; k < left.size(); ++k) {
      exact += left[k] * right[k];
      cut += std::trunc(left[k] * right[k] / step) * step;
    }
    return std::fabs(cut - exact);
  };
  const double cuda = run(spec_of(a, b, c), {}, a, b, c, Backend::Cuda).bound[0];
  EXPECT_GT(error(0x1p-29), run(spec_of(a, b, c), {}, a, b, c).bound[0]);
  EXPECT_LT(error(0x1p-29), cuda);
  EXPECT_GT(error(0x1p-26), cuda);

  const Matrix normal(DType::F16, 3, 1, {-1, 0x1.51p-7, 0x1.bd4p-13});
  EXPECT_EQ(run(spec_of(a, normal, c), {}, a, normal, c, Backend::Cuda).bound[0],
            run(spec_of(a, normal, c), {}, a, normal, c).bound[0]);
}

template <class Add>
double worst_ratio(std::int64_t k, DType operands, DType output, Add&& add) {
  constexpr std::int64_t kSide = 12;
  verify::Random random(77, static_cast<std::uint64_t>(k));
  std::vector<double> values(static_cast<std::size_t>(kSide * k));
  for (double& value : values) value = random.real();
  const Matrix a(operands, kSide, k, values);
  std::reverse(values.begin(), values.end());
  const Matrix b(operands, k, kSide, values);
  Matrix c(output, kSide, kSide, {});
  const GemmReference want = run(spec_of(a, b, c), {}, a, b, c);
  double worst = 0;
  for (std::int64_t i = 0; i < kSide * kSide; ++i) {
    float sum = 0;
    for (std::int64_t p = 0; p < k; ++p) {
      const double x = load_element(a.bytes.data(), operands, i / kSide * k + p);
      const double y = load_element(b.bytes.data(), operands, p * kSide + i % kSide);
      sum = add(sum, static_cast<float>(x), static_cast<float>(y));
    }
    store_element(c.bytes.data(), output, 0, static_cast<double>(sum));
    const double got = load_element(c.bytes.data(), output, 0);
    const auto e = static_cast<std::size_t>(i);
    worst = std::max(worst, std::fabs(got - want.value[e]) / want.bound[e]);
  }
  return worst;
}

constexpr std::int64_t kDepths[] = {1, 2, 7, 64, 1000, 5000};

TEST(ReferenceGemmTest, TheBoundHoldsForFusedAndForPlainArithmetic) {
  for (const std::int64_t k : kDepths) {
    for (const DType output : {DType::F32, DType::BF16, DType::F16}) {
      EXPECT_LE(worst_ratio(k, DType::F32, output,
                            [](float s, float x, float y) { return std::fma(x, y, s); }),
                1);
      EXPECT_LE(
          worst_ratio(k, DType::BF16, output, [](float s, float x, float y) { return s + x * y; }),
          1);
    }
  }
}

TEST(ReferenceGemmTest, TheBoundCatchesOperandsOfLessPrecision) {
  const auto with_bf16_operands = [](float s, float x, float y) {
    return std::fma(to_f32(to_bf16(x)), to_f32(to_bf16(y)), s);
  };
  const auto with_tf32_operands = [](float s, float x, float y) {
    const NumberFormat tf32{10, -126, 3.4e38, true};
    return std::fma(static_cast<float>(round_to(tf32, static_cast<double>(x))),
                    static_cast<float>(round_to(tf32, static_cast<double>(y))), s);
  };
  for (const std::int64_t k : {1, 2, 7, 64}) {
    EXPECT_GT(worst_ratio(k, DType::F32, DType::F32, with_bf16_operands), 1);
    EXPECT_GT(worst_ratio(k, DType::F32, DType::F32, with_tf32_operands), 1);
  }
}

TEST(ReferenceGemmTest, TheBoundCatchesNarrowAccumulatorsAndLostTerms) {
  const auto in_f16 = [](float s, float x, float y) { return to_f32(to_f16(std::fma(x, y, s))); };
  int position = 0;
  const auto without_every_64th = [&](float s, float x, float y) {
    return ++position % 64 == 0 ? s : std::fma(x, y, s);
  };
  for (const std::int64_t k : {64, 1000, 5000}) {
    EXPECT_GT(worst_ratio(k, DType::F32, DType::F32, in_f16), 1);
    EXPECT_GT(worst_ratio(k, DType::F32, DType::F32, without_every_64th), 1);
  }
}

TEST(ReferenceGemmTest, SaysWhereAnIntermediateMayOverflow) {
  const Matrix a(DType::F32, 1, 2, {3e38, 3e38}), b(DType::F32, 2, 1, {1, 1});
  Matrix c(DType::F32, 1, 1, {});
  EXPECT_EQ(run(spec_of(a, b, c), {}, a, b, c).bound[0], kInfinity);
  const Matrix small(DType::F32, 1, 2, {1e38, 1e38});
  EXPECT_LT(run(spec_of(small, b, c), {}, small, b, c).bound[0], 1e33);
}

TEST(ReferenceGemmTest, NonFiniteOperandsHaveAnExactClass) {
  const Matrix b(DType::F32, 2, 1, {1, 1});
  Matrix c(DType::F32, 1, 1, {});
  const auto result = [&](double x, double y) {
    const Matrix a(DType::F32, 1, 2, {x, y});
    const GemmReference reference = run(spec_of(a, b, c), {}, a, b, c);
    EXPECT_EQ(reference.bound[0], 0);
    return reference.value[0];
  };
  EXPECT_EQ(result(kInfinity, 1), kInfinity);
  EXPECT_EQ(result(1, -kInfinity), -kInfinity);
  EXPECT_TRUE(std::isnan(result(kInfinity, -kInfinity)));
  EXPECT_TRUE(std::isnan(result(std::nan(""), 1)));
}

}  // namespace
}  // namespace girih
