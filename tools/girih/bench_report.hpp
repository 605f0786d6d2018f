#pragma once

#include <string>
#include <vector>

#include "girih/bench_gemm.hpp"
#include "girih/print.hpp"
#include "plan/device_info.hpp"

namespace girih::cli {

/// A case that could not be timed.
struct BenchFailure {
  BenchCase bench;
  Error error;
};

/// All that a run of `bench gemm` found.
struct BenchReport {
  std::string commit;
  DeviceInfo device;
  int threads = 1;
  BenchOptions options;
  std::vector<std::pair<std::string, std::string>> peers;  ///< name, what it says of itself
  std::vector<BenchRow> rows;
  std::vector<BenchFailure> failures;
};

/// The whole report in place of the last one, or that one stays.
Status write_report(const std::string& path, const Json& json);
Json to_json(const Interval& interval);
/// The object that docs/measuring.md describes.
Json to_json(const BenchReport& report);
/// The same as a table, then geometric means and the least ratios.
void print_table(const BenchReport& report);

}  // namespace girih::cli
