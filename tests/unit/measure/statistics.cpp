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
  // Above, those of the normal approximation: n / 2 - 0.98 sqrt(n).
  for (const auto& [n, rank] :
       {std::pair{6, 1}, {9, 2}, {11, 2}, {17, 5}, {25, 8}, {1001, 470}, {5000, 2431}}) {
    std::vector<double> values;
    for (int i = 1; i <= n; ++i) values.push_back(i);
    const Interval interval = median_interval(values);
    EXPECT_EQ(interval.low, rank) << n;
    EXPECT_EQ(interval.high, n + 1 - rank) << n;
    EXPECT_EQ(interval.samples, n);
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

Interval interval(double median, double low, double high, int samples = 11) {
  return {median, low, high, samples};
}

TEST(Verdicts, NeedTheWholeInterval) {
  const Interval quiet = interval(1, 0.995, 1.02);
  EXPECT_EQ(judge(interval(1.10, 1.06, 1.15), quiet), Verdict::Faster);
  EXPECT_EQ(judge(interval(1.10, 1.01, 1.15), quiet), Verdict::Undecided);
  EXPECT_EQ(judge(interval(0.90, 0.85, 0.95), quiet), Verdict::Slower);
  EXPECT_EQ(judge(interval(1.00, 0.99, 1.01), interval(1, 1, 1)), Verdict::Tie);
  EXPECT_EQ(judge(interval(1.00, 0.80, 1.20), quiet), Verdict::Undecided);
}

TEST(Verdicts, NoiseIsTheControlsFurthestStray) {
  const Interval ratio = interval(1.10, 1.06, 1.15);
  EXPECT_EQ(judge(ratio, interval(1, 0.95, 1.00)), Verdict::Faster);  // 1 / 0.95 = 1.053
  EXPECT_EQ(judge(ratio, interval(1, 0.94, 1.00)), Verdict::Undecided);
  EXPECT_EQ(judge(ratio, interval(1, 1.00, 1.05)), Verdict::Faster);
  EXPECT_EQ(judge(ratio, interval(1, 1.00, 1.07)), Verdict::Undecided);
  EXPECT_EQ(judge(ratio, interval(1, 0.80, 1.00)), Verdict::Tie);
  EXPECT_EQ(judge(ratio, interval(0.9, 0.86, 1.0)), Verdict::Tie);
}

TEST(Verdicts, NeedEnoughRoundsOnBothSides) {
  const Interval ratio = interval(1.5, 1.5, 1.5), control = interval(1, 1, 1);
  EXPECT_EQ(judge({1.5, 1.5, 1.5, kFewestRounds - 1}, control), Verdict::Undecided);
  EXPECT_EQ(judge(ratio, {1, 1, 1, kFewestRounds - 1}), Verdict::Undecided);
  EXPECT_EQ(judge_control({1, 1, 1, kFewestRounds - 1}), Verdict::Undecided);
  EXPECT_EQ(judge({1.5, 1.5, 1.5, kFewestRounds}, {1, 1, 1, kFewestRounds}), Verdict::Faster);
}

TEST(Verdicts, AControlTiesOnlyNearOne) {
  EXPECT_EQ(judge_control(interval(1.00, 0.985, 1.015)), Verdict::Tie);
  EXPECT_EQ(judge_control(interval(0.94, 0.94, 0.94)), Verdict::Undecided);
  EXPECT_EQ(judge_control(interval(1.00, 0.90, 1.10)), Verdict::Undecided);
  EXPECT_EQ(judge_control(interval(1.30, 1.20, 1.40)), Verdict::Undecided);
}

}  // namespace
}  // namespace girih
