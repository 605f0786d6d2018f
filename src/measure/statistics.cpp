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
  double tail = std::ldexp(1.0, -static_cast<int>(n));  // P(exactly 0)
  double below = tail;
  std::size_t rank = 0;
  while (1 - 2 * below >= kConfidence && 2 * (rank + 1) <= n) {
    ++rank;
    tail *= static_cast<double>(n - rank + 1) / static_cast<double>(rank);
    below += tail;
  }
  return rank;
}

}  // namespace

double median(std::span<const double> values) {
  return median_of_sorted(sorted(values));
}

Interval median_interval(std::span<const double> values) {
  if (values.empty()) return {};
  const std::vector<double> ordered = sorted(values);
  const std::size_t rank = std::max<std::size_t>(covering_rank(ordered.size()), 1);
  return {median_of_sorted(ordered), ordered[rank - 1], ordered[ordered.size() - rank]};
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

double noise_of(const Interval& control) {
  return std::max({control.high - 1, 1 / control.low - 1, 0.0});
}

Verdict judge(const Interval& ratio, double noise) {
  if (ratio.low > 1 + noise) return Verdict::Faster;
  if (ratio.high < 1 / (1 + noise)) return Verdict::Slower;
  const double tie = std::max(kTie, noise);
  if (ratio.low >= 1 / (1 + tie) && ratio.high <= 1 + tie) return Verdict::Tie;
  return Verdict::Undecided;
}

Verdict judge_control(const Interval& control) {
  return judge(control, kTie) == Verdict::Tie ? Verdict::Tie : Verdict::Undecided;
}

}  // namespace girih::inline v0
