#include "core/checked.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>

namespace girih {
namespace {

__extension__ typedef __int128 Wide;  // no standard type is wide enough

constexpr std::int64_t kMax = INT64_MAX;
constexpr std::int64_t kMin = INT64_MIN;
constexpr std::array<std::int64_t, 15> kValues = {kMin,
                                                  kMin + 1,
                                                  -(std::int64_t{1} << 32),
                                                  -3,
                                                  -2,
                                                  -1,
                                                  0,
                                                  1,
                                                  2,
                                                  3,
                                                  std::int64_t{1} << 31,
                                                  std::int64_t{1} << 32,
                                                  3037000500,  // the root of 2^63, rounded up
                                                  kMax - 1,
                                                  kMax};

TEST(CheckedTest, AgreesWith128BitArithmetic) {
  for (const std::int64_t a : kValues) {
    for (const std::int64_t b : kValues) {
      const auto expect = [&](Wide exact, std::optional<std::int64_t> got) {
        const bool fits = exact >= kMin && exact <= kMax;
        ASSERT_EQ(got.has_value(), fits) << a << ", " << b;
        if (fits) {
          EXPECT_EQ(*got, static_cast<std::int64_t>(exact));
        }
      };
      expect(static_cast<Wide>(a) * b, checked_mul(a, b));
      expect(static_cast<Wide>(a) + b, checked_add(a, b));
    }
  }
}

TEST(CheckedTest, DividesAndRoundsUp) {
  for (std::int64_t divisor = 1; divisor <= 9; ++divisor) {
    for (std::int64_t value = 0; value <= 40; ++value) {
      const std::int64_t quotient = ceil_div(value, divisor);
      EXPECT_GE(quotient * divisor, value);
      EXPECT_LT((quotient - 1) * divisor, value);
      EXPECT_EQ(round_up(value, divisor), quotient * divisor);
    }
  }
  EXPECT_EQ(ceil_div(kMax, 1), kMax);
  EXPECT_EQ(ceil_div(kMax, kMax), 1);
}

}  // namespace
}  // namespace girih
