#include <algorithm>
#include <cstdio>

#include "core/format.hpp"
#include "girih/bench_grouped.hpp"
#include "girih/bench_report.hpp"

namespace girih::cli {
namespace {

double gflops(const GroupsShape& shape, const Interval& seconds) {
  return shape.flops() / seconds.median * 1e-9;
}

/// How fast the weights were read, if each was once.
double weight_rate(const GroupsCase& bench, const Interval& seconds) {
  const GroupsShape& s = bench.shape;
  return static_cast<double>(s.groups) * static_cast<double>(s.k) * static_cast<double>(s.n) *
         bit_width(bench.operands) / 8 / seconds.median * 1e-9;
}

Json case_to_json(const GroupsCase& bench) {
  return {{"groups", bench.shape.groups},
          {"rows", bench.shape.rows},
          {"n", bench.shape.n},
          {"k", bench.shape.k},
          {"ladder", bench.ladder},
          {"dtype", name(bench.operands)},
          {"out_dtype", name(bench.output)}};
}

Json row_to_json(const GroupsRow& row) {
  Json entry = case_to_json(row.bench);
  entry["kernel"] = row.kernel;
  entry["notes"] = row.notes;
  entry["operand_sets"] = row.sets;
  entry["seconds"] = to_json(row.seconds);
  entry["gflops"] = gflops(row.bench.shape, row.seconds);
  entry["weight_gb_per_s"] = weight_rate(row.bench, row.seconds);
  entry["control"] = to_json(row.control);
  entry["peers"] = Json::array({{{"name", "gemm-loop"},
                                 {"kernel", row.loop_kernel},
                                 {"seconds", to_json(row.loop_seconds)},
                                 {"gflops", gflops(row.bench.shape, row.loop_seconds)},
                                 {"ratio", to_json(row.ratio)},
                                 {"verdict", name(row.verdict)}}});
  return entry;
}

std::vector<double> ratios_of(const std::vector<GroupsRow>& rows) {
  std::vector<double> ratios;
  for (const GroupsRow& row : rows) ratios.push_back(row.ratio.median);
  return ratios;
}

double least(const std::vector<double>& ratios) {
  return ratios.empty() ? 0 : *std::min_element(ratios.begin(), ratios.end());
}

/// "bf16 8 x 512 x 4096 x 2048"
std::string describe(const GroupsCase& bench) {
  const GroupsShape& s = bench.shape;
  return formatted("{} {} x {} x {} x {}", name(bench.operands), s.groups, s.rows, s.n, s.k);
}

}  // namespace

Json to_json(const GroupsReport& report) {
  Json shapes = Json::array(), failures = Json::array();
  for (const GroupsRow& row : report.rows) shapes.push_back(row_to_json(row));
  for (const auto& [bench, error] : report.failures) {
    Json entry = case_to_json(bench);
    entry["error"] = error.message;
    failures.push_back(std::move(entry));
  }
  const std::vector<double> ratios = ratios_of(report.rows);
  return {{"schema", "girih-bench-grouped-1"},
          {"commit", report.commit},
          {"backend", name(report.device.backend)},
          {"device", report.device.name},
          {"threads", report.threads},
          {"rounds", report.options.rounds},
          {"round_seconds", report.options.round_seconds},
          {"shapes", std::move(shapes)},
          {"failures", std::move(failures)},
          {"geometric_mean_ratio", {{"gemm-loop", geometric_mean(ratios)}}},
          {"least_ratio", {{"gemm-loop", least(ratios)}}}};
}

void print_table(const GroupsReport& report) {
  Table table;
  const bool confident = !report.rows.empty() && report.rows.front().control.reaches_confidence();
  table.add({"groups x rows x N x K", "girih", "GFLOP/s", "weights", "against", "its", "ratio",
             confident ? "95 % interval" : "range", "verdict"});
  for (const GroupsRow& row : report.rows) {
    const auto add = [&](std::string_view peer, const Interval& seconds, const Interval& ratio,
                         Verdict verdict) {
      table.add({describe(row.bench), show_seconds(row.seconds.median),
                 formatted("{:.1f}", gflops(row.bench.shape, row.seconds)),
                 formatted("{:.2f} GB/s", weight_rate(row.bench, row.seconds)), std::string(peer),
                 show_seconds(seconds.median), formatted("{:.3f}", ratio.median),
                 formatted("{:.3f} .. {:.3f}", ratio.low, ratio.high), std::string(name(verdict))});
    };
    add("itself", row.seconds, row.control, row.control_verdict);
    add("gemm-loop", row.loop_seconds, row.ratio, row.verdict);
  }
  table.print();
  const std::vector<double> ratios = ratios_of(report.rows);
  std::fputs(formatted("geometric mean against gemm-loop: {:.3f}, least {:.3f} (above 1 girih is "
                       "faster)\n",
                       geometric_mean(ratios), least(ratios))
                 .c_str(),
             stdout);
  for (const auto& [bench, error] : report.failures) {
    std::fputs(formatted("{}: not timed: {}\n", describe(bench), error.message).c_str(), stdout);
  }
}

}  // namespace girih::cli
