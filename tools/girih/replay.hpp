#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <girih/runtime.hpp>

#include "ops/call_line.hpp"
#include "verify/compare.hpp"

namespace girih::cli {

/// What became of a recorded call when it was run again. Whatever it was refused with is data: the
/// recording may have been refused too.
struct Replay {
  std::string kernel;  ///< empty if none was chosen
  Status status;
  int runs = 0;
  double seconds = 0;  ///< median of the runs, each waited for
  std::optional<verify::Comparison> comparison{};
};

/// Runs the call on operands of the recorded types, shapes, strides and alignments, with seeded
/// contents; device scalars are 1. `verify` holds the first run against the oracle. Fails for what
/// keeps it from being tried: operands over 4 GiB in all, work of more than a minute as the plan
/// has it or of the oracle as its operation count has it, no memory.
Result<Replay> replay(Runtime& runtime, const CallLine& line, bool verify);

/// A line of a trace, and its replay or what kept it from being read or tried.
struct ReplayedLine {
  std::optional<CallLine> line;  ///< none if it could not be read
  Result<Replay> replay;
};

/// "ok", "verified", "WRONG", "not read", "not tried", or the code of a refusal.
std::string_view outcome_of(const ReplayedLine& replayed) noexcept;
/// The failure that it amounts to: a line not read or not tried, a wrong result, or a refusal that
/// is not the recorded one.
Status judge(const ReplayedLine& replayed);

}  // namespace girih::cli
