#pragma once

#include <span>
#include <string_view>

#include <girih/runtime.hpp>

namespace girih::inline v0 {

/// Samples below which no interval of order statistics reaches 95 %.
inline constexpr int kFewestRounds = 6;

/// A median and the interval that holds the true one with at least 95 % confidence (order
/// statistics; no shape of distribution is assumed). With fewer than 6 samples no pair of order
/// statistics reaches 95 %, and the interval is the range.
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
  int samples = 0;

  [[nodiscard]] bool reaches_confidence() const noexcept { return samples >= kFewestRounds; }
};

/// Median of finite values; 0 for none. Even counts give the mean of the middle two.
double median(std::span<const double> values);
Interval median_interval(std::span<const double> values);
/// exp(mean(log x)) of positive values; 0 for none.
double geometric_mean(std::span<const double> values);
/// Per-round ratios baseline / candidate: above 1 the candidate is faster. The spans pair up.
Interval paired_ratio(std::span<const double> baseline, std::span<const double> candidate);

/// What a paired ratio, held against the noise of the rig, comes to. The noise is how far from 1 a
/// control, of one side against itself, strayed.
enum class Verdict : std::uint8_t {
  Faster,     ///< the whole interval lies above 1 + noise
  Slower,     ///< the whole interval lies below 1 / (1 + noise)
  Tie,        ///< the whole interval lies within 2 %, or the noise if that is more, of 1
  Undecided,  ///< none of these, or an interval of too few samples: more rounds are needed
};
std::string_view name(Verdict verdict) noexcept;

Verdict judge(const Interval& ratio, const Interval& control);
/// Of the control, which cannot be held against the noise that is read off it: Tie within 2 % of 1,
/// else Undecided.
Verdict judge_control(const Interval& control);

}  // namespace girih::inline v0
