#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace girih::inline v0 {
namespace {

constexpr double kConfidence = 0.95;
constexpr double kTie = 0.02;

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> result(values.begin(), values.end());
  std::sort(result.begin(), result.end());
  return result;
}

double median_of_sorted(std::span<const double> values) {
  if (values.empty()) return 0;
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

/// The largest r for which [x_(r), x_(n+1-r)], counted from 1, covers the median with the wanted
/// confidence: coverage is 1 - 2 P(Binomial(n, 1/2) < r). 0 if there is none.
std::size_t covering_rank(std::size_t n) {
  // log2 P(exactly rank): 2^-n itself underflows from n = 1075 on.
  double tail = -static_cast<double>(n);
  double below = std::exp2(tail);
  std::size_t rank = 0;
  while (1 - 2 * below >= kConfidence && 2 * (rank + 1) <= n) {
    ++rank;
    tail += std::log2(static_cast<double>(n - rank + 1) / static_cast<double>(rank));
    below += std::exp2(tail);
  }
  return rank;
}

/// Whether the whole interval lies within a factor of 1 + `noise` of 1.
bool lies_near_one(const Interval& ratio, double noise) {
  return ratio.low >= 1 / (1 + noise) && ratio.high <= 1 + noise;
}

}  // namespace

double median(std::span<const double> values) {
  return median_of_sorted(sorted(values));
}

Interval median_interval(std::span<const double> values) {
  if (values.empty()) return {};
  const std::vector<double> ordered = sorted(values);
  const std::size_t rank = std::max<std::size_t>(covering_rank(ordered.size()), 1);
  return {median_of_sorted(ordered), ordered[rank - 1], ordered[ordered.size() - rank],
          static_cast<int>(ordered.size())};
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

Interval paired_ratio(std::span<const double> baseline, std::span<const double> candidate) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(baseline.size(), candidate.size()); ++i) {
    ratios.push_back(baseline[i] / candidate[i]);
  }
  return median_interval(ratios);
}

std::string_view name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::Faster:
      return "FASTER";
    case Verdict::Slower:
      return "SLOWER";
    case Verdict::Tie:
      return "TIE";
    case Verdict::Undecided:
      return "UNDECIDED";
  }
  return "UNDECIDED";
}

Verdict judge(const Interval& ratio, const Interval& control) {
  if (!ratio.reaches_confidence() || !control.reaches_confidence()) return Verdict::Undecided;
  const double noise = std::max({control.high - 1, 1 / control.low - 1, 0.0});
  if (ratio.low > 1 + noise) return Verdict::Faster;
  if (ratio.high < 1 / (1 + noise)) return Verdict::Slower;
  return lies_near_one(ratio, std::max(kTie, noise)) ? Verdict::Tie : Verdict::Undecided;
}

Verdict judge_control(const Interval& control) {
  const bool ties = control.reaches_confidence() && lies_near_one(control, kTie);
  return ties ? Verdict::Tie : Verdict::Undecided;
}

}  // namespace girih::inline v0
