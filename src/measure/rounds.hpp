#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <girih/status.hpp>

#include "measure/statistics.hpp"

namespace girih::inline v0 {

/// Something to time. `run(i)` does `units` of work, one of them on the i-th set of operands,
/// counted modulo however many the caller rotates through; `finish` waits for what `run` queued.
struct Contender {
  std::string name;
  std::function<Status(std::int64_t iteration)> run;
  std::function<Status()> finish;
  std::int64_t units = 1;
  /// Does `runs` runs and gives their seconds, for work that the host's clock, around `run` and
  /// `finish`, would see too much of. Empty: the host's clock.
  std::function<Result<double>(std::int64_t first, std::int64_t runs)> clock{};
};

struct RoundOptions {
  int rounds = 11;
  /// A round runs each contender for at least this long.
  double round_seconds = 0.05;
  /// Warm-up ends when three batches in a row agree within 2 %, or after this long.
  double warm_up_seconds = 2;
  /// Called after each round with rounds done; may be empty.
  std::function<void(int done)> progress;
};

/// Seconds of one unit of work, one entry a round.
struct Times {
  std::string name;
  std::int64_t iterations = 0;  ///< runs a round
  std::vector<double> seconds;
};

/// Times all contenders in interleaved rounds, in alternating order. Each is warmed up first. Fails
/// with the first failure of a contender; a sample that is not positive is a DeviceFailed.
Result<std::vector<Times>> run_rounds(std::span<const Contender> contenders,
                                      const RoundOptions& options);

/// A quicker look: medians, one a contender, of the seconds of a unit in `trials` interleaved
/// batches of `runs` runs, after one that counts for nothing. Fails as `run_rounds` does.
Result<std::vector<double>> run_trials(std::span<const Contender> contenders, int trials,
                                       std::int64_t runs);

}  // namespace girih::inline v0
