#include "measure/statistics.hpp"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace girih {
namespace {

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median(std::vector<double>{}), 0);
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 2, 3}), 2.5);
}

TEST(Statistics, IntervalRanksAreTheBinomialOnes) {
  // Tabulated ranks of 95 % intervals for a median: n = 6 -> 1, 9 -> 2, 11 -> 2, 17 -> 5, 25 -> 8.
  for (const auto& [n, rank] : {std::pair{6, 1}, {9, 2}, {11, 2}, {17, 5}, {25, 8}}) {
    std::vector<double> values;
    for (int i = 1; i <= n; ++i) values.push_back(i);
    const Interval interval = median_interval(values);
    EXPECT_EQ(interval.low, rank) << n;
    EXPECT_EQ(interval.high, n + 1 - rank) << n;
  }
}

TEST(Statistics, IntervalCoversTheMedianOftenEnough) {
  std::mt19937_64 generator(7);
  std::lognormal_distribution<double> skewed(0, 1);  // true median 1
  int covered = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(11);
    for (double& value : values) value = skewed(generator);
    const Interval interval = median_interval(values);
    covered += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, kTrials * 95 / 100);
}

TEST(Statistics, RatioIsOfRoundsAndNotOfMedians) {
  // Both drift tenfold; in each round the candidate takes half the time.
  const std::vector<double> baseline = {2, 4, 6, 8, 10, 20};
  const std::vector<double> candidate = {1, 2, 3, 4, 5, 10};
  const Interval ratio = paired_ratio(baseline, candidate);
  EXPECT_EQ(ratio.median, 2);
  EXPECT_EQ(ratio.low, 2);
  EXPECT_EQ(ratio.high, 2);
}

TEST(Statistics, GeometricMean) {
  EXPECT_EQ(geometric_mean(std::vector<double>{}), 0);
  EXPECT_NEAR(geometric_mean(std::vector<double>{0.5, 2.0}), 1.0, 1e-12);
}

TEST(Verdicts, NeedTheWholeInterval) {
  EXPECT_EQ(judge({1.10, 1.06, 1.15}, 0.02), Verdict::Faster);
  EXPECT_EQ(judge({1.10, 1.01, 1.15}, 0.02), Verdict::Undecided);
  EXPECT_EQ(judge({0.90, 0.85, 0.95}, 0.02), Verdict::Slower);
  EXPECT_EQ(judge({1.00, 0.99, 1.01}, 0.005), Verdict::Tie);
  EXPECT_EQ(judge({1.10, 1.06, 1.15}, 0.20), Verdict::Tie);
  EXPECT_EQ(judge({1.00, 0.80, 1.20}, 0.01), Verdict::Undecided);
}

TEST(Verdicts, AControlTiesOnlyNearOne) {
  EXPECT_EQ(judge_control({1.00, 0.985, 1.015}), Verdict::Tie);
  EXPECT_EQ(judge_control({0.94, 0.94, 0.94}), Verdict::Undecided);
  EXPECT_EQ(judge_control({1.00, 0.90, 1.10}), Verdict::Undecided);
  EXPECT_EQ(judge_control({1.30, 1.20, 1.40}), Verdict::Undecided);
}

TEST(Verdicts, NoiseIsTheControlsFurthestStray) {
  EXPECT_NEAR(noise_of({1.0, 0.98, 1.01}), 1 / 0.98 - 1, 1e-12);
  EXPECT_NEAR(noise_of({1.0, 0.999, 1.05}), 0.05, 1e-12);
  EXPECT_EQ(noise_of({1.0, 1.0, 1.0}), 0);
}

}  // namespace
}  // namespace girih
