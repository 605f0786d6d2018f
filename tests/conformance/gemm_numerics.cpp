#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "support/backends.hpp"
#include "support/gemm.hpp"
#include "verify/compare.hpp"

// Single roundings, over all values that a type has.

namespace girih::testing {
namespace {

constexpr double kRoundoff = 0x1p-24;

class GemmNumerics : public BackendTest {
 protected:
  /// x [n, 1] times a row of `columns` ones, in `output`: each column is x, rounded.
  Tensor times_ones(const Tensor& x, std::int64_t columns, DType output,
                    Activation activation = Activation::None) {
    std::vector<std::byte> ones(static_cast<std::size_t>(columns * bit_width(x.dtype()) / 8));
    for (std::int64_t j = 0; j < columns; ++j) store_element(ones.data(), x.dtype(), j, 1);
    const Tensor row = must(runtime_.tensor({1, columns}, x.dtype()));
    must(runtime_.upload(row, ones.data(), ones.size()));
    Tensor c = must(runtime_.tensor({x.extent(0), columns}, output));
    must(gemm(runtime_, {.a = x, .b = row, .c = c, .epilogue = {.activation = activation}}));
    return c;
  }
};

TEST_P(GemmNumerics, EveryHalfIsReadExactly) {
  for (const DType dtype : {DType::BF16, DType::F16}) {
    std::vector<std::uint16_t> patterns(65536);
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
    const Tensor x = tensor_of(runtime_, {65536, 1}, dtype, patterns);
    for (const std::int64_t columns : {1, 3, 16}) {
      const std::vector<float> got = floats_of(runtime_, times_ones(x, columns, DType::F32));
      for (std::size_t i = 0; i < got.size(); ++i) {
        const auto pattern = i / static_cast<std::size_t>(columns);
        const double want = load_element(reinterpret_cast<const std::byte*>(patterns.data()), dtype,
                                         static_cast<std::int64_t>(pattern));
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(got[i])) << pattern;
        } else {
          ASSERT_EQ(static_cast<double>(got[i]), want) << pattern;
        }
      }
    }
  }
}

TEST_P(GemmNumerics, EveryResultIsRoundedToNearestEven) {
  // All f32 of the form (16 bits, then 0, half, or next to half of what bf16 drops), and random.
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 65536; ++high) {
    for (const std::uint32_t low : {0x0000U, 0x7FFFU, 0x8000U, 0x8001U}) {
      values.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  for (std::uint32_t half = 0; half < 65536; ++half) {  // f16 values and the ties above them
    const auto value = to_f32(f16{static_cast<std::uint16_t>(half)});
    const auto next = to_f32(f16{static_cast<std::uint16_t>(half + 1)});
    const float middle = value + (next - value) / 2;
    values.insert(values.end(),
                  {middle, std::nextafter(middle, HUGE_VALF), std::nextafter(middle, -HUGE_VALF)});
  }
  const Tensor x = tensor_of(runtime_, {std::ssize(values), 1}, DType::F32, values);
  for (const DType output : {DType::BF16, DType::F16}) {
    for (const std::int64_t columns : {1, 5}) {
      // Vectors and their tails, which a tile of metal's has not.
      if (GetParam() == Backend::Metal && columns == 1) continue;
      const std::vector<std::byte> got = bytes_of(runtime_, times_ones(x, columns, output));
      for (std::size_t i = 0; i < values.size() * static_cast<std::size_t>(columns); ++i) {
        const float value = values[i / static_cast<std::size_t>(columns)];
        const double want = round_to(number_format(output), static_cast<double>(value));
        const double result = load_element(got.data(), output, static_cast<std::int64_t>(i));
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(result));
        } else {
          ASSERT_EQ(result, want) << std::hexfloat << value << " to " << name(output);
        }
      }
    }
  }
}

TEST_P(GemmNumerics, ActivationsAreAccurateEverywhere) {
  std::vector<float> values = {0.0F,
                               -0.0F,
                               3.0F,
                               -3.0F,
                               20.5F,
                               25.0F,
                               50.0F,
                               1e4F,
                               -25.0F,
                               -1e4F,
                               1e10F,
                               -1e10F,
                               1e30F,
                               -1e30F,
                               1e-30F,
                               -1e-42F,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::lowest(),
                               HUGE_VALF,
                               -HUGE_VALF,
                               std::nanf("")};
  for (double x = -110; x < 110; x += 0.00390625) values.push_back(static_cast<float>(x));
  for (int i = -140; i < 120; ++i) {
    values.push_back(std::ldexp(1.2345F, i));
    values.push_back(std::ldexp(-1.2345F, i));
  }
  const Tensor x = tensor_of(runtime_, {std::ssize(values), 1}, DType::F32, values);
  for (const Activation activation :
       {Activation::None, Activation::Relu, Activation::GeluTanh, Activation::Silu}) {
    std::vector<double> want, bound;
    for (const float value : values) {
      want.push_back(reference_activation(activation, static_cast<double>(value)));
      const bool exact =
          activation == Activation::None || activation == Activation::Relu || !std::isfinite(value);
      bound.push_back(exact ? 0 : 8 * kRoundoff * std::fabs(static_cast<double>(value)) + 0x1p-149);
    }
    const std::vector<std::byte> got = bytes_of(runtime_, times_ones(x, 1, DType::F32, activation));
    const verify::Comparison comparison =
        verify::compare(want, bound, {{DType::F32, {std::ssize(values)}, {1}, 0}, got.data()});
    EXPECT_TRUE(comparison.passed())
        << name(activation) << ": " << comparison.to_string() << " at x "
        << values[static_cast<std::size_t>(comparison.worst)];
  }
}

TEST_P(GemmNumerics, SumsOfProductsThatCancelKeepTheirSmallPart) {
  // sum = 2^20 - 2^20 + ... + tiny: lost if partial sums are kept in fewer bits than f32's.
  constexpr std::int64_t kK = 4096;
  std::vector<float> left(kK), right(kK, 1.0F);
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i % 2 == 0 ? 0x1p10F : -0x1p10F;
  left[17] += 0.125F;
  const Tensor a = tensor_of(runtime_, {1, kK}, DType::F32, left);
  const Tensor b = tensor_of(runtime_, {kK, 1}, DType::F32, right);
  for (const DType output : {DType::F32, DType::BF16, DType::F16}) {
    const std::vector<std::byte> got = product(runtime_, a, b, output);
    EXPECT_EQ(load_element(got.data(), output, 0), 0.125) << name(output);
  }
}

// A device's alpha is not known to be finite.
TEST_P(GemmNumerics, TheSumOfNoProductsIsZeroWhateverItsFactors) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor alpha = tensor_of(runtime_, {}, DType::F32, std::vector{infinity});
  for (const DType dtype : {DType::F32, DType::BF16}) {
    for (const std::int64_t m : {5, 40}) {
      const Tensor c = must(runtime_.tensor({m, 24}, DType::F32));
      must(fill(runtime_, {.destination = c, .value = 1}));
      must(gemm(runtime_, {.a = must(runtime_.tensor({m, 0}, dtype)),
                           .b = must(runtime_.tensor({0, 24}, dtype)),
                           .c = c,
                           .alpha = alpha,
                           .a_scale = Scale{must(alpha.repeated(m)), Granularity::PerRow},
                           .b_scale = Scale{must(alpha.repeated(24)), Granularity::PerColumn}}));
      for (const float x : floats_of(runtime_, c)) ASSERT_EQ(x, 0) << name(dtype);
    }
  }
}

TEST_P(GemmNumerics, IntegerSumsBeyond24BitsAreRoundedOnce) {
  constexpr std::int64_t kK = 1045;
  std::vector<std::int8_t> ones(kK, 127);
  std::vector<std::int8_t> others(kK, 127);
  others.back() = 126;
  const Tensor a = tensor_of(runtime_, {1, kK}, DType::I8, ones);
  const Tensor b = tensor_of(runtime_, {kK, 1}, DType::I8, others);
  const std::int64_t exact = (kK - 1) * 127 * 127 + 127 * 126;
  ASSERT_GT(exact, 1 << 24);
  EXPECT_EQ(load_element(product(runtime_, a, b, DType::I32).data(), DType::I32, 0),
            static_cast<double>(exact));
  EXPECT_EQ(load_element(product(runtime_, a, b, DType::F32).data(), DType::F32, 0),
            static_cast<double>(static_cast<float>(exact)));
}

GIRIH_FOR_ALL_BACKENDS(GemmNumerics);

}  // namespace
}  // namespace girih::testing
