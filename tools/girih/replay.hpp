#pragma once

#include <optional>
#include <string>

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
/// has it, no memory.
Result<Replay> replay(Runtime& runtime, const CallLine& line, bool verify);

}  // namespace girih::cli
