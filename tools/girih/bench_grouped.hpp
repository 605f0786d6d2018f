#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "girih/bench_groups.hpp"
#include "girih/print.hpp"
#include "girih/progress.hpp"
#include "measure/statistics.hpp"
#include "plan/device_info.hpp"

namespace girih::cli {

struct GroupsOptions {
  int rounds = 11;
  double round_seconds = 0.05;
  /// Encodes girih's call; a test passes one that does it wrong.
  std::function<Status(Runtime&, const GroupedGemmDesc&)> launcher = grouped_gemm;
};

/// A loop over the groups, of `gemm` or of a peer's products.
struct GroupsLoop {
  std::string name;
  std::string kernel;  ///< of the first group's product; may be empty
  Interval seconds{};
  Interval ratio{};  ///< its time over girih's, paired by round
  Verdict verdict = Verdict::Undecided;
};

/// What became of one case: one call against loops over the groups.
struct GroupsRow {
  GroupsCase bench;
  std::string kernel;
  std::vector<std::string> notes;  ///< of girih's plan
  int sets = 1;                    ///< of operands, in rotation
  Interval seconds, control;
  Verdict control_verdict = Verdict::Undecided;
  std::vector<GroupsLoop> loops;  ///< gemm's first
};

/// Times a case. All results are checked first against the oracle: a wrong one is DeviceFailed and
/// no time is taken.
Result<GroupsRow> bench_grouped(Runtime& runtime, const GroupsOptions& options,
                                const GroupsCase& bench,
                                const std::vector<std::unique_ptr<Peer>>& peers,
                                Progress& progress);

/// All that a run of `bench grouped_gemm` found.
struct GroupsReport {
  std::string commit;
  DeviceInfo device;
  int threads = 1;
  GroupsOptions options;
  std::vector<std::pair<std::string, std::string>> peers{};  ///< name, what it says of itself
  std::vector<GroupsRow> rows{};
  std::vector<std::pair<GroupsCase, Error>> failures{};
};
/// The object that docs/measuring.md describes.
Json to_json(const GroupsReport& report);
void print_table(const GroupsReport& report);

}  // namespace girih::cli
