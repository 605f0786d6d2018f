#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include <girih/dtype.hpp>

#include "reference/element.hpp"
#include "verify/random.hpp"

// The library's conversions (integer arithmetic on fields) against the oracle's (real arithmetic).

namespace girih {
namespace {

struct Format {
  DType dtype;
  std::uint32_t patterns;
  float (*widen)(std::uint32_t bits);
  std::uint32_t (*narrow)(float value);
};

template <class T>
float widen_as(std::uint32_t bits) {
  return to_f32(T{static_cast<decltype(T::bits)>(bits)});
}

const Format kFormats[] = {
    {DType::BF16, 65536, widen_as<bf16>, [](float x) { return std::uint32_t{to_bf16(x).bits}; }},
    {DType::F16, 65536, widen_as<f16>, [](float x) { return std::uint32_t{to_f16(x).bits}; }},
    {DType::F8E4M3, 256, widen_as<f8e4m3>,
     [](float x) { return std::uint32_t{to_f8e4m3(x).bits}; }},
    {DType::F8E5M2, 256, widen_as<f8e5m2>,
     [](float x) { return std::uint32_t{to_f8e5m2(x).bits}; }},
};

double oracle_value(DType dtype, std::uint32_t bits) {
  std::byte storage[4];
  std::memcpy(storage, &bits, sizeof bits);
  return load_element(storage, dtype, 0);
}

std::uint32_t oracle_bits(DType dtype, double value) {
  std::byte storage[4] = {};
  store_element(storage, dtype, 0, value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, storage, sizeof bits);
  return bits;
}

class Conversion : public ::testing::TestWithParam<Format> {
 protected:
  void expect_narrowed(float value) const {
    const Format& format = GetParam();
    const std::uint32_t got = format.narrow(value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(oracle_value(format.dtype, got)));
      EXPECT_EQ(std::signbit(oracle_value(format.dtype, got)), std::signbit(value));
      return;
    }
    EXPECT_EQ(got, oracle_bits(format.dtype, static_cast<double>(value)))
        << std::hexfloat << value << " (bits " << std::bit_cast<std::uint32_t>(value) << ")";
  }
};

TEST_P(Conversion, WidensEveryPatternExactly) {
  for (std::uint32_t bits = 0; bits < GetParam().patterns; ++bits) {
    const double want = oracle_value(GetParam().dtype, bits);
    const auto got = static_cast<double>(GetParam().widen(bits));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
    } else {
      EXPECT_EQ(got, want) << bits;
    }
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << bits;
  }
}

TEST_P(Conversion, NarrowsEveryPatternBackToItself) {
  for (std::uint32_t bits = 0; bits < GetParam().patterns; ++bits) {
    const float value = GetParam().widen(bits);
    if (std::isnan(value)) {
      expect_narrowed(value);
    } else {
      EXPECT_EQ(GetParam().narrow(value), bits);
    }
  }
}

TEST_P(Conversion, RoundsTiesToEvenBetweenEveryPairOfNeighbours) {
  for (std::uint32_t bits = 0; bits + 1 < GetParam().patterns; ++bits) {
    const double low = oracle_value(GetParam().dtype, bits);
    const double high = oracle_value(GetParam().dtype, bits + 1);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const auto middle = static_cast<float>((low + high) / 2);
    expect_narrowed(middle);
    expect_narrowed(std::nextafter(middle, std::numeric_limits<float>::infinity()));
    expect_narrowed(std::nextafter(middle, -std::numeric_limits<float>::infinity()));
  }
}

TEST_P(Conversion, AgreesOnEveryExponentAndOnRandomBits) {
  for (std::uint32_t high = 0; high < 65536; ++high)
    expect_narrowed(std::bit_cast<float>(high << 16));
  verify::Random random(20260830);
  for (int i = 0; i < 300'000; ++i) {
    expect_narrowed(std::bit_cast<float>(static_cast<std::uint32_t>(random.bits() >> 32)));
  }
}

TEST_P(Conversion, OverflowsFromHalfAStepPastTheLargest) {
  const NumberFormat format = number_format(GetParam().dtype);
  const double threshold = format.overflow_threshold();
  const auto below = std::nextafter(static_cast<float>(threshold), 0.0F);
  EXPECT_EQ(oracle_value(GetParam().dtype, GetParam().narrow(below)), format.max);
  const double at =
      oracle_value(GetParam().dtype, GetParam().narrow(static_cast<float>(threshold)));
  if (format.has_infinity) {  // the largest number is odd: the tie goes up
    EXPECT_EQ(at, std::numeric_limits<double>::infinity());
  } else {  // 448 is even: the tie goes down
    EXPECT_EQ(at, format.max);
  }
  const double above =
      oracle_value(GetParam().dtype,
                   GetParam().narrow(std::nextafter(static_cast<float>(threshold), HUGE_VALF)));
  EXPECT_EQ(std::isnan(above), !format.has_infinity);
  EXPECT_FALSE(std::isfinite(above));
}

INSTANTIATE_TEST_SUITE_P(Formats, Conversion, ::testing::ValuesIn(kFormats),
                         [](const auto& test) { return std::string(name(test.param.dtype)); });

// Values from the standards, so that library and oracle cannot be wrong together.
TEST(DTypeTest, IeeeAnchors) {
  EXPECT_EQ(to_f32(f16{0x3C00}), 1.0F);
  EXPECT_EQ(to_f32(f16{0x0001}), 0x1p-24F);
  EXPECT_EQ(to_f32(f16{0x0400}), 0x1p-14F);
  EXPECT_EQ(to_f32(f16{0x7BFF}), 65504.0F);
  EXPECT_EQ(to_f32(f16{0xC000}), -2.0F);
  EXPECT_EQ(to_f16(65519.0F).bits, 0x7BFF);
  EXPECT_EQ(to_f16(65520.0F).bits, 0x7C00);
  EXPECT_EQ(to_f16(0x1p-25F).bits, 0x0000);
  EXPECT_EQ(to_f16(0x1.8p-25F).bits, 0x0001);
  EXPECT_EQ(to_bf16(1.0F).bits, 0x3F80);
  EXPECT_EQ(to_bf16(0x1.01p0F).bits, 0x3F80);  // tie to even, down
  EXPECT_EQ(to_bf16(0x1.03p0F).bits, 0x3F82);  // tie to even, up
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7F80);
  EXPECT_EQ(to_f32(f8e4m3{0x7E}), 448.0F);
  EXPECT_EQ(to_f32(f8e4m3{0x01}), 0x1p-9F);
  EXPECT_TRUE(std::isnan(to_f32(f8e4m3{0x7F})));
  EXPECT_EQ(to_f32(f8e5m2{0x7B}), 57344.0F);
  EXPECT_EQ(to_f32(f8e5m2{0x01}), 0x1p-16F);
  EXPECT_EQ(to_f32(f8e5m2{0x7C}), std::numeric_limits<float>::infinity());
}

TEST(DTypeTest, WidthsNamesAndKinds) {
  const std::pair<DType, int> widths[] = {
      {DType::F32, 32},   {DType::F64, 64}, {DType::BF16, 16}, {DType::F16, 16}, {DType::F8E4M3, 8},
      {DType::F8E5M2, 8}, {DType::I8, 8},   {DType::U8, 8},    {DType::I32, 32}, {DType::I4, 4}};
  static_assert(std::size(widths) == kDTypeCount);
  for (const auto& [dtype, width] : widths) {
    EXPECT_EQ(bit_width(dtype), width);
    EXPECT_EQ(is_float(dtype), name(dtype)[0] == 'f' || dtype == DType::BF16) << name(dtype);
    for (const auto& [other, unused] : widths) {
      if (other != dtype) {
        EXPECT_NE(name(other), name(dtype));
      }
    }
  }
}

}  // namespace
}  // namespace girih
