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
  entry["peers"] = Json::array();
  for (const GroupsLoop& loop : row.loops) {
    entry["peers"].push_back({{"name", loop.name},
                              {"kernel", loop.kernel},
                              {"seconds", to_json(loop.seconds)},
                              {"gflops", gflops(row.bench.shape, loop.seconds)},
                              {"ratio", to_json(loop.ratio)},
                              {"verdict", name(loop.verdict)}});
  }
  return entry;
}

/// By the loop's name, in the order of the contenders.
std::vector<std::pair<std::string, std::vector<double>>> ratios_of(
    const std::vector<GroupsRow>& rows) {
  std::vector<std::pair<std::string, std::vector<double>>> ratios;
  for (const GroupsRow& row : rows) {
    for (const GroupsLoop& loop : row.loops) {
      auto found = std::find_if(ratios.begin(), ratios.end(),
                                [&](const auto& entry) { return entry.first == loop.name; });
      if (found == ratios.end()) found = ratios.insert(found, {loop.name, {}});
      found->second.push_back(loop.ratio.median);
    }
  }
  return ratios;
}

double least(const std::vector<double>& ratios) {
  return *std::min_element(ratios.begin(), ratios.end());
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
  Json peers = Json::array(), means = Json::object(), leasts = Json::object();
  for (const auto& [name, description] : report.peers) {
    peers.push_back({{"name", name}, {"description", description}});
  }
  for (const auto& [name, ratios] : ratios_of(report.rows)) {
    means[name] = geometric_mean(ratios);
    leasts[name] = least(ratios);
  }
  return {{"schema", "girih-bench-grouped-1"},
          {"commit", report.commit},
          {"backend", name(report.device.backend)},
          {"device", report.device.name},
          {"threads", report.threads},
          {"rounds", report.options.rounds},
          {"round_seconds", report.options.round_seconds},
          {"peers", std::move(peers)},
          {"shapes", std::move(shapes)},
          {"failures", std::move(failures)},
          {"geometric_mean_ratio", std::move(means)},
          {"least_ratio", std::move(leasts)}};
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
    for (const GroupsLoop& loop : row.loops) {
      add(loop.name, loop.seconds, loop.ratio, loop.verdict);
    }
  }
  table.print();
  for (const auto& [name, ratios] : ratios_of(report.rows)) {
    std::fputs(formatted("geometric mean against {}: {:.3f}, least {:.3f} (above 1 girih is "
                         "faster)\n",
                         name, geometric_mean(ratios), least(ratios))
                   .c_str(),
               stdout);
  }
  for (const auto& [bench, error] : report.failures) {
    std::fputs(formatted("{}: not timed: {}\n", describe(bench), error.message).c_str(), stdout);
  }
}

}  // namespace girih::cli
