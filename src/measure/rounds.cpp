#include "measure/rounds.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "core/error.hpp"

namespace girih::inline v0 {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seconds of `runs` runs.
Result<double> clock_runs(const Contender& contender, std::int64_t first, std::int64_t runs) {
  if (contender.clock) return contender.clock(first, runs);
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < runs; ++i) GIRIH_TRY(contender.run(first + i));
  if (contender.finish) GIRIH_TRY(contender.finish());
  return seconds_since(start);
}

/// Seconds of one unit, over `runs` runs.
Result<double> time_batch(const Contender& contender, std::int64_t first, std::int64_t runs) {
  const Result<double> all = clock_runs(contender, first, runs);
  if (!all) return all.error();
  const double seconds = *all / static_cast<double>(runs * contender.units);
  if (!(seconds > 0) || !std::isfinite(seconds)) {
    return error(Code::DeviceFailed, "{} took {} s: no plausible time", contender.name, seconds);
  }
  return seconds;
}

/// Runs a contender until its times settle; gives the runs that fill a round.
Result<std::int64_t> warm_up(const Contender& contender, const RoundOptions& options) {
  const auto start = Clock::now();
  std::array<double, 3> recent{};
  std::int64_t iterations = 1;
  for (int batch = 0;; ++batch) {
    const Result<double> seconds = time_batch(contender, batch, iterations);
    if (!seconds) return seconds.error();
    recent[static_cast<std::size_t>(batch % 3)] = *seconds;
    const double wanted =
        std::ceil(options.round_seconds / (*seconds * static_cast<double>(contender.units)));
    iterations = static_cast<std::int64_t>(std::clamp(wanted, 1.0, 1e6));
    const auto [low, high] = std::minmax_element(recent.begin(), recent.end());
    const bool settled = batch >= 3 && *high <= *low * 1.02;
    if (settled || seconds_since(start) > options.warm_up_seconds) return iterations;
  }
}

}  // namespace

Result<std::vector<Times>> run_rounds(std::span<const Contender> contenders,
                                      const RoundOptions& options) {
  std::vector<Times> times;
  for (const Contender& contender : contenders) {
    const Result<std::int64_t> iterations = warm_up(contender, options);
    if (!iterations) return iterations.error();
    times.push_back({contender.name, *iterations, {}});
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const std::size_t turn = round % 2 == 0 ? i : contenders.size() - 1 - i;
      Times& record = times[turn];
      const Result<double> seconds =
          time_batch(contenders[turn], round * record.iterations, record.iterations);
      if (!seconds) return seconds.error();
      record.seconds.push_back(*seconds);
    }
    if (options.progress) options.progress(round + 1);
  }
  return times;
}

Result<std::vector<double>> run_trials(std::span<const Contender> contenders, int trials,
                                       std::int64_t runs) {
  std::vector<std::vector<double>> seconds(contenders.size());
  for (int trial = -1; trial < trials; ++trial) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const Result<double> time = time_batch(contenders[i], 0, runs);
      if (!time) return time.error();
      if (trial >= 0) seconds[i].push_back(*time);
    }
  }
  std::vector<double> medians;
  medians.reserve(seconds.size());
  for (const std::vector<double>& each : seconds) medians.push_back(median(each));
  return medians;
}

}  // namespace girih::inline v0
