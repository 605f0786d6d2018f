#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "girih/bench_operands.hpp"
#include "girih/progress.hpp"
#include "measure/statistics.hpp"

namespace girih::cli {

/// How the products of a round reach the device.
enum class Submission : std::uint8_t {
  Eager,   ///< one call each
  Replay,  ///< a captured sequence of them, for girih and for peers
};
std::string_view name(Submission submission) noexcept;

struct BenchOptions {
  int rounds = 11;
  double round_seconds = 0.05;
  Submission submission = Submission::Eager;
  /// Also times girih with Reproducibility::PerShape.
  bool against_per_shape = false;
};

/// One contender's times on one shape.
struct BenchTimes {
  std::string name;
  std::string kernel;  ///< may be empty
  Interval seconds;
  int split_k = 0;       ///< 0: not told
  double max_error = 0;  ///< of what was checked, against the oracle
};

struct BenchPeer {
  BenchTimes times;
  Interval ratio;  ///< peer's time over girih's, paired by round: above 1 girih is faster
  Verdict verdict = Verdict::Undecided;
  /// With an epilogue: what it adds to the peer's own plain product, seconds, paired by round.
  std::optional<Interval> epilogue_cost;
};

struct BenchRow {
  BenchCase bench;
  std::vector<std::string> notes;  ///< of girih's plan
  int sets = 1;                    ///< of operands, in rotation
  std::int64_t replayed = 0;       ///< products of one replay; 0 if eager
  BenchTimes girih;
  Interval control;  ///< girih against itself
  Verdict control_verdict = Verdict::Undecided;
  std::optional<Interval> epilogue_cost;
  std::vector<BenchPeer> peers;
};

/// Times one case against the peers. Every result is checked first against the oracle: a wrong one
/// is DeviceFailed and no time is taken. With an epilogue, what is compared are products that have
/// it; each contender also runs without, and the difference is what the epilogue costs.
Result<BenchRow> bench_gemm(Runtime& runtime, const BenchOptions& options, const BenchCase& bench,
                            const std::vector<std::unique_ptr<Peer>>& peers, Progress& progress);

}  // namespace girih::cli
