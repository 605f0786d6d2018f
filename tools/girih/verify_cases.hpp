#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/op.hpp"
#include "verify/bound_gemm.hpp"

namespace girih::cli {

struct VerifyOptions {
  Op op = Op::Gemm;
  std::int64_t cases = 100;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> only;  ///< --case
  std::optional<Backend> backend;
  int threads = 0;
  std::string kernel;  ///< the only one that may be chosen; "": any
  bool json = false;
};

/// One case in one mode that failed.
struct VerifyFailure {
  std::uint64_t index;
  verify::Mode mode;
  std::string description;
  verify::CaseReport report;
  std::string command;  ///< that runs it again
};

struct VerifyTally {
  std::int64_t cases = 0, passed = 0, refused = 0, failed = 0;
  double worst_ratio = 0;
  std::map<std::string, std::int64_t> kernels;
  std::vector<VerifyFailure> failures;
  std::string refusal;  ///< the last one's reason
};

/// Runs every case eagerly, then captured and replayed with changed contents. `launcher` encodes
/// the products of gemm: a test passes a wrong one.
VerifyTally verify_cases(Runtime& runtime, const VerifyOptions& options,
                         const verify::GemmLauncher& launcher = gemm);
/// Prints what was found and gives the exit code.
int report_cases(const VerifyOptions& options, const VerifyTally& tally, double seconds);

}  // namespace girih::cli
