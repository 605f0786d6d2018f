#include "verify/compare.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "reference/element.hpp"

namespace girih {
namespace {

using verify::compare;
using verify::compare_exact;
using verify::Comparison;
using verify::HostView;
using verify::NanRule;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A 2 x 3 result, row-major.
struct Result6 {
  explicit Result6(const std::vector<double>& values, DType type = DType::F32) : dtype(type) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      store_element(bytes, dtype, static_cast<std::int64_t>(i), values[i]);
    }
  }
  [[nodiscard]] HostView view() const { return {{dtype, {2, 3}, {3, 1}, 0}, bytes}; }

  DType dtype;
  std::byte bytes[24] = {};
};

const std::vector<double> kWant = {1, 2, 3, 4, 5, 6};
const std::vector<double> kBound(6, 0.125);

TEST(CompareTest, PassesUpToTheBoundAndFailsJustAbove) {
  Result6 got({1, 2, 3, 4, 5.125, 6});
  EXPECT_TRUE(compare(kWant, kBound, got.view()).passed());
  EXPECT_EQ(compare(kWant, kBound, got.view()).worst_ratio, 1);
  store_element(got.bytes, DType::F32, 4, static_cast<double>(std::nextafter(5.125F, 6.0F)));
  const Comparison comparison = compare(kWant, kBound, got.view());
  EXPECT_FALSE(comparison.passed());
  EXPECT_EQ(comparison.failures, 1);
  EXPECT_EQ(comparison.worst, 4);
  EXPECT_NE(comparison.to_string().find("[1, 1]"), std::string::npos) << comparison.to_string();
}

TEST(CompareTest, ABoundOfZeroIsEquality) {
  const std::vector<double> zero(6, 0);
  Result6 got(kWant);
  EXPECT_TRUE(compare(kWant, zero, got.view()).passed());
  store_element(got.bytes, DType::F32, 0, 1 + 0x1p-23);
  EXPECT_FALSE(compare(kWant, zero, got.view()).passed());
}

TEST(CompareTest, FindsAFaultAtEveryPosition) {
  for (std::int64_t i = 0; i < 6; ++i) {
    Result6 got(kWant);
    store_element(got.bytes, DType::F32, i, -9);
    EXPECT_EQ(compare(kWant, kBound, got.view()).worst, i);
    EXPECT_EQ(compare(kWant, kBound, got.view()).failures, 1);
  }
}

TEST(CompareTest, NanIsNeverANumberNorTheReverse) {
  const double nan = std::nan("");
  EXPECT_FALSE(compare(kWant, kBound, Result6({1, 2, nan, 4, 5, 6}).view()).passed());
  std::vector<double> want = kWant;
  want[2] = nan;
  EXPECT_FALSE(compare(want, kBound, Result6(kWant).view()).passed());
  EXPECT_TRUE(compare(want, kBound, Result6({1, 2, nan, 4, 5, 6}).view()).passed());
}

TEST(CompareTest, InfinitiesMustAgreeInSign) {
  std::vector<double> want = kWant;
  want[5] = kInfinity;
  EXPECT_TRUE(compare(want, kBound, Result6({1, 2, 3, 4, 5, kInfinity}).view()).passed());
  EXPECT_FALSE(compare(want, kBound, Result6({1, 2, 3, 4, 5, -kInfinity}).view()).passed());
  EXPECT_FALSE(compare(want, kBound, Result6({1, 2, 3, 4, 5, 3e38}).view()).passed());
}

TEST(CompareTest, AFiniteValueMayOverflowOnlyWhereItsTypeDoes) {
  const std::vector<double> bound(6, 8);
  const auto passes = [&](double want, double got) {
    std::vector<double> all = kWant;
    all[0] = want;
    std::vector<double> result = kWant;
    result[0] = got;
    return compare(all, bound, Result6(result, DType::F16).view()).passed();
  };
  EXPECT_TRUE(passes(70000, kInfinity));
  EXPECT_FALSE(passes(70000, 65504));
  EXPECT_FALSE(passes(70000, -kInfinity));
  EXPECT_TRUE(passes(65515, kInfinity));  // 65520 is within the bound
  EXPECT_TRUE(passes(65511, 65504));
  EXPECT_FALSE(passes(65500, kInfinity));
  EXPECT_TRUE(passes(-70000, -kInfinity));
}

TEST(CompareTest, CountsWhatNoBoundConstrains) {
  std::vector<double> bound = kBound;
  bound[3] = kInfinity;
  const Comparison comparison =
      compare(kWant, bound, Result6({1, 2, 3, std::nan(""), 5, 6}).view());
  EXPECT_TRUE(comparison.passed());
  EXPECT_EQ(comparison.unbounded, 1);
}

TEST(CompareTest, AnOracleOfAnotherSizeFails) {
  const std::vector<double> five(5, 1);
  EXPECT_FALSE(compare(five, five, Result6(kWant).view()).passed());
}

TEST(CompareTest, FollowsTheStrides) {
  Result6 got(kWant);
  HostView transposed = got.view();
  transposed.geometry = {DType::F32, {3, 2}, {1, 3}, 0};
  EXPECT_TRUE(compare(std::vector<double>{1, 4, 2, 5, 3, 6}, kBound, transposed).passed());
}

TEST(CompareExactTest, DistinguishesEveryBit) {
  const Result6 want(kWant);
  Result6 got(kWant);
  EXPECT_TRUE(compare_exact(want.view(), got.view(), NanRule::SameBits).passed());
  for (std::size_t byte = 0; byte < sizeof got.bytes; ++byte) {
    Result6 changed(kWant);
    changed.bytes[byte] ^= std::byte{1};
    EXPECT_FALSE(compare_exact(want.view(), changed.view(), NanRule::SameSign).passed()) << byte;
  }
}

TEST(CompareExactTest, PayloadsMatterOnlyIfAsked) {
  std::vector<double> values = kWant;
  values[1] = std::nan("");
  const Result6 want(values);
  Result6 got = want;
  got.bytes[4] ^= std::byte{1};
  EXPECT_TRUE(compare_exact(want.view(), got.view(), NanRule::SameSign).passed());
  EXPECT_FALSE(compare_exact(want.view(), got.view(), NanRule::SameBits).passed());
  got.bytes[7] ^= std::byte{0x80};  // the sign
  EXPECT_FALSE(compare_exact(want.view(), got.view(), NanRule::SameSign).passed());
  EXPECT_FALSE(compare_exact(Result6({0, 0, 0, 0, 0, 0}).view(),
                             Result6({0, -0.0, 0, 0, 0, 0}).view(), NanRule::SameSign)
                   .passed());
}

}  // namespace
}  // namespace girih
