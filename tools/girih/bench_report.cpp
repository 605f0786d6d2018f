#include "girih/bench_report.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <span>

#include "core/error.hpp"
#include "core/format.hpp"
#include "io/file.hpp"

namespace girih::cli {
namespace {

double gflops(const BenchShape& shape, double seconds) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k) * static_cast<double>(shape.batch) / seconds * 1e-9;
}

Json case_to_json(const BenchCase& bench) {
  return {{"m", bench.shape.m},
          {"n", bench.shape.n},
          {"k", bench.shape.k},
          {"batch", bench.shape.batch},
          {"ladder", bench.ladder},
          {"dtype", name(bench.operands)},
          {"out_dtype", name(bench.output)},
          {"layout", name(bench.layout)}};
}

Json row_to_json(const BenchRow& row) {
  Json peers = Json::array();
  for (const BenchPeer& peer : row.peers) {
    Json entry = {{"name", peer.times.name},
                  {"kernel", peer.times.kernel},
                  {"seconds", to_json(peer.times.seconds)},
                  {"gflops", gflops(row.bench.shape, peer.times.seconds.median)},
                  {"max_error", peer.times.max_error},
                  {"ratio", to_json(peer.ratio)},
                  {"verdict", name(peer.verdict)}};
    if (peer.times.split_k > 0) entry["split_k"] = peer.times.split_k;
    if (peer.epilogue_cost) entry["epilogue_cost"] = to_json(*peer.epilogue_cost);
    peers.push_back(std::move(entry));
  }
  Json entry = case_to_json(row.bench);
  entry["kernel"] = row.girih.kernel;
  entry["split_k"] = row.girih.split_k;
  entry["notes"] = row.notes;
  entry["operand_sets"] = row.sets;
  entry["replayed"] = row.replayed;
  entry["seconds"] = to_json(row.girih.seconds);
  entry["gflops"] = gflops(row.bench.shape, row.girih.seconds.median);
  entry["max_error"] = row.girih.max_error;
  entry["control"] = to_json(row.control);
  if (row.epilogue_cost) entry["epilogue_cost"] = to_json(*row.epilogue_cost);
  entry["peers"] = std::move(peers);
  return entry;
}

/// One peer's ratios over several rows.
struct PeerSummary {
  std::string name;
  std::vector<double> ratios;
  std::vector<double> cost_ratios;  ///< girih's cost of an epilogue over the peer's

  [[nodiscard]] double least() const { return *std::min_element(ratios.begin(), ratios.end()); }
};

/// Summaries of the rows that `wanted` takes, in the order in which peers first appear.
std::vector<PeerSummary> summarise(const std::vector<BenchRow>& rows,
                                   const std::function<bool(const BenchRow&)>& wanted) {
  std::vector<PeerSummary> summaries;
  for (const BenchRow& row : rows) {
    if (!wanted(row)) continue;
    for (const BenchPeer& peer : row.peers) {
      auto found = std::find_if(summaries.begin(), summaries.end(), [&](const PeerSummary& each) {
        return each.name == peer.times.name;
      });
      if (found == summaries.end()) {
        found = summaries.insert(summaries.end(), {peer.times.name, {}, {}});
      }
      found->ratios.push_back(peer.ratio.median);
      // What noise hides has no ratio: a cost near 0 would outweigh all others in the mean.
      if (row.epilogue_cost && row.epilogue_cost->low > 0 && peer.epilogue_cost &&
          peer.epilogue_cost->low > 0) {
        found->cost_ratios.push_back(row.epilogue_cost->median / peer.epilogue_cost->median);
      }
    }
  }
  return summaries;
}

Json summary_to_json(const std::vector<PeerSummary>& summaries) {
  Json means = Json::object(), least = Json::object(), costs = Json::object();
  for (const PeerSummary& each : summaries) {
    means[each.name] = geometric_mean(each.ratios);
    least[each.name] = each.least();
    if (!each.cost_ratios.empty()) costs[each.name] = geometric_mean(each.cost_ratios);
  }
  Json json = {{"geometric_mean_ratio", std::move(means)}, {"least_ratio", std::move(least)}};
  if (!costs.empty()) json["epilogue_cost_ratio"] = std::move(costs);
  return json;
}

/// Rows alike in ladder, type and layout.
struct Group {
  std::string ladder;
  DType dtype;
  Layout layout;

  [[nodiscard]] bool holds(const BenchRow& row) const {
    return row.bench.ladder == ladder && row.bench.operands == dtype && row.bench.layout == layout;
  }
};

std::vector<Group> groups_of(const std::vector<BenchRow>& rows) {
  std::vector<Group> groups;
  for (const BenchRow& row : rows) {
    const auto holds = [&](const Group& group) { return group.holds(row); };
    if (std::none_of(groups.begin(), groups.end(), holds)) {
      groups.push_back({row.bench.ladder, row.bench.operands, row.bench.layout});
    }
  }
  return groups;
}

bool any(const BenchRow&) {
  return true;
}

/// "bf16 NN 2048 x 768 x 768"
std::string describe(const BenchCase& bench) {
  std::string text = formatted("{} {} {} x {} x {}", name(bench.operands), name(bench.layout),
                               bench.shape.m, bench.shape.n, bench.shape.k);
  if (bench.shape.batch != 1) text += formatted(" x {}", bench.shape.batch);
  return text;
}

}  // namespace

Status write_report(const std::string& path, const Json& json) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return file.error();
  const std::string text = json.dump(1) + '\n';
  GIRIH_TRY(file->write(std::as_bytes(std::span(text))));
  return file->commit();
}

Json to_json(const Interval& interval) {
  return {{"median", interval.median}, {"low", interval.low}, {"high", interval.high}};
}

Json to_json(const BenchReport& report) {
  Json peers = Json::object();
  for (const auto& [name, description] : report.peers) peers[name] = description;
  Json shapes = Json::array(), failures = Json::array(), groups = Json::array();
  for (const BenchRow& row : report.rows) shapes.push_back(row_to_json(row));
  for (const BenchFailure& failure : report.failures) {
    Json entry = case_to_json(failure.bench);
    entry["error"] = failure.error.message;
    failures.push_back(std::move(entry));
  }
  for (const Group& group : groups_of(report.rows)) {
    Json entry = {
        {"ladder", group.ladder}, {"dtype", name(group.dtype)}, {"layout", name(group.layout)}};
    entry.update(summary_to_json(
        summarise(report.rows, [&](const BenchRow& row) { return group.holds(row); })));
    groups.push_back(std::move(entry));
  }
  const BenchCase& first =
      report.rows.empty() ? report.failures.front().bench : report.rows.front().bench;
  Json json = {
      {"schema", "girih-bench-gemm-2"},
      {"commit", report.commit},
      {"backend", name(report.device.backend)},
      {"device", report.device.name},
      {"threads", report.threads},
      {"precision", name(first.precision)},
      {"reproducibility",
       first.reproducibility == Reproducibility::RowInvariant ? "row-invariant" : "per-shape"},
      {"epilogue",
       {{"bias", first.epilogue.bias},
        {"activation", name(first.epilogue.activation)},
        {"scales", first.epilogue.scales}}},
      {"submission", name(report.options.submission)},
      {"rounds", report.options.rounds},
      {"round_seconds", report.options.round_seconds},
      {"peers", std::move(peers)},
      {"shapes", std::move(shapes)},
      {"failures", std::move(failures)},
      {"groups", std::move(groups)}};
  json.update(summary_to_json(summarise(report.rows, any)));
  return json;
}

void print_table(const BenchReport& report) {
  Table table;
  const bool with_cost = !report.rows.empty() && report.rows.front().epilogue_cost.has_value();
  const bool confident = !report.rows.empty() && report.rows.front().control.reaches_confidence();
  std::vector<std::string> titles = {"product",
                                     "girih",
                                     "GFLOP/s",
                                     "against",
                                     "its",
                                     "ratio",
                                     confident ? "95 % interval" : "range",
                                     "verdict",
                                     "error",
                                     "its error"};
  if (with_cost) titles.insert(titles.end(), {"epilogue adds", "its adds"});
  table.add(titles);
  for (const BenchRow& row : report.rows) {
    const auto add = [&](std::string_view peer, const BenchTimes& its, const Interval& ratio,
                         Verdict verdict, const std::optional<Interval>& cost) {
      std::vector<std::string> cells = {
          describe(row.bench),
          show_seconds(row.girih.seconds.median),
          formatted("{:.1f}", gflops(row.bench.shape, row.girih.seconds.median)),
          std::string(peer),
          show_seconds(its.seconds.median),
          formatted("{:.3f}", ratio.median),
          formatted("{:.3f} .. {:.3f}", ratio.low, ratio.high),
          std::string(name(verdict)),
          formatted("{:.2g}", row.girih.max_error),
          formatted("{:.2g}", its.max_error)};
      if (with_cost) {
        cells.push_back(formatted("{:.2f} us", row.epilogue_cost->median * 1e6));
        cells.push_back(cost ? formatted("{:.2f} us", cost->median * 1e6) : "");
      }
      table.add(std::move(cells));
    };
    add("itself", row.girih, row.control, row.control_verdict, {});
    for (const BenchPeer& peer : row.peers) {
      add(peer.times.name, peer.times, peer.ratio, peer.verdict, peer.epilogue_cost);
    }
  }
  table.print();
  const std::vector<Group> groups = groups_of(report.rows);
  const auto print = [](std::string_view what, const std::vector<PeerSummary>& summaries) {
    for (const PeerSummary& each : summaries) {
      std::fputs(
          formatted(
              "{}geometric mean against {}: {:.3f}, least {:.3f}{} (above 1 girih is faster)\n",
              what, each.name, geometric_mean(each.ratios), each.least(),
              each.cost_ratios.empty() ? ""
                                       : formatted(", cost of the epilogue {:.2f} of its",
                                                   geometric_mean(each.cost_ratios)))
              .c_str(),
          stdout);
    }
  };
  if (groups.size() > 1) {
    for (const Group& group : groups) {
      const std::string ladder = group.ladder.empty() ? "" : group.ladder + ' ';
      print(formatted("{}{} {}: ", ladder, name(group.dtype), name(group.layout)),
            summarise(report.rows, [&](const BenchRow& row) { return group.holds(row); }));
    }
  }
  print("", summarise(report.rows, any));
  for (const BenchFailure& failure : report.failures) {
    std::fputs(
        formatted("{}: not timed: {}\n", describe(failure.bench), failure.error.message).c_str(),
        stdout);
  }
}

}  // namespace girih::cli
