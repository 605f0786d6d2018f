#include <fmt/format.h>
#include <fstream>
#include <memory>

#include "core/error.hpp"
#include "girih/bench_gemm.hpp"
#include "girih/commands.hpp"
#include "girih/options.hpp"
#include "girih/print.hpp"
#include "runtime/state.hpp"

namespace girih::cli {
namespace {

struct BenchArguments {
  BenchOptions bench;
  std::string ladder, shapes, file, commit;
  std::vector<std::string> against;
};

double gflops(const BenchShape& shape, double seconds) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k) / seconds * 1e-9;
}

Json to_json(const Interval& interval) {
  return {{"median", interval.median}, {"low", interval.low}, {"high", interval.high}};
}

Json to_json(const BenchRow& row) {
  Json peers = Json::array();
  for (const BenchPeer& peer : row.peers) {
    peers.push_back({{"name", peer.times.name},
                     {"seconds", to_json(peer.times.seconds)},
                     {"gflops", gflops(row.shape, peer.times.seconds.median)},
                     {"ratio", to_json(peer.ratio)},
                     {"verdict", name(peer.verdict)}});
  }
  return {{"m", row.shape.m},
          {"n", row.shape.n},
          {"k", row.shape.k},
          {"kernel", row.kernel},
          {"operand_sets", row.sets},
          {"seconds", to_json(row.girih.seconds)},
          {"gflops", gflops(row.shape, row.girih.seconds.median)},
          {"control", to_json(row.control)},
          {"peers", peers}};
}

/// Geometric mean of the ratios to each peer, over the shapes.
Json geometric_means(const std::vector<BenchRow>& rows) {
  Json means = Json::object();
  if (rows.empty()) return means;
  for (std::size_t p = 0; p < rows.front().peers.size(); ++p) {
    std::vector<double> ratios;
    for (const BenchRow& row : rows) ratios.push_back(row.peers[p].ratio.median);
    means[rows.front().peers[p].times.name] = geometric_mean(ratios);
  }
  return means;
}

Json report(const BenchArguments& arguments, const DeviceInfo& device, int threads,
            const std::vector<std::unique_ptr<Peer>>& peers, const std::vector<BenchRow>& rows) {
  Json versions = Json::object();
  for (const auto& peer : peers) versions[peer->name()] = peer->description();
  Json shapes = Json::array();
  for (const BenchRow& row : rows) shapes.push_back(to_json(row));
  return {{"schema", "girih-bench-gemm-1"},
          {"commit", arguments.commit},
          {"backend", name(device.backend)},
          {"device", device.name},
          {"threads", threads},
          {"dtype", name(arguments.bench.dtype)},
          {"layout", name(arguments.bench.layout)},
          {"precision", name(arguments.bench.precision)},
          {"rounds", arguments.bench.rounds},
          {"peers", versions},
          {"shapes", shapes},
          {"geometric_mean_ratio", geometric_means(rows)}};
}

void print_table(const std::vector<BenchRow>& rows) {
  Table table;
  table.add(
      {"M x N x K", "girih", "GFLOP/s", "against", "its", "ratio", "95 % interval", "verdict"});
  for (const BenchRow& row : rows) {
    const std::string shape = fmt::format("{} x {} x {}", row.shape.m, row.shape.n, row.shape.k);
    const auto add = [&](std::string_view peer, const std::string& time, const Interval& ratio,
                         std::string_view verdict) {
      table.add({shape, show_seconds(row.girih.seconds.median),
                 fmt::format("{:.1f}", gflops(row.shape, row.girih.seconds.median)),
                 std::string(peer), time, fmt::format("{:.3f}", ratio.median),
                 fmt::format("{:.3f} .. {:.3f}", ratio.low, ratio.high), std::string(verdict)});
    };
    add("itself", show_seconds(row.girih.seconds.median), row.control,
        name(judge(row.control, noise_of(row.control))));
    for (const BenchPeer& peer : row.peers) {
      add(peer.times.name, show_seconds(peer.times.seconds.median), peer.ratio, name(peer.verdict));
    }
  }
  table.print();
  const Json means = geometric_means(rows);
  for (const auto& [peer, mean] : means.items()) {
    fmt::print("geometric mean against {}: {:.3f} (above 1 girih is faster)\n", peer,
               mean.get<double>());
  }
}

Status write_report(const std::string& path, const Json& json) {
  std::ofstream file(path, std::ios::trunc);
  file << json.dump(1) << '\n';
  file.close();
  if (!file) return error(Code::FileWrite, "{}: cannot be written", path);
  return {};
}

Result<std::vector<std::unique_ptr<Peer>>> load_peers(const BenchArguments& arguments,
                                                      int threads) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (const std::string& name : arguments.against) {
    Result<std::unique_ptr<Peer>> peer = load_peer(name, threads);
    if (!peer) return peer.error();
    if (!(*peer)->supports(arguments.bench.dtype)) {
      return error(Code::UnsupportedConversion, "peer {} does not multiply {}", name,
                   girih::name(arguments.bench.dtype));
    }
    peers.push_back(*std::move(peer));
  }
  return peers;
}

Result<int> run(BenchArguments& arguments) {
  auto shapes =
      arguments.shapes.empty() ? ladder(arguments.ladder) : parse_shapes(arguments.shapes);
  if (!shapes) return shapes.error();
  arguments.bench.shapes = *std::move(shapes);
  Result<Runtime> runtime =
      Runtime::open({.backend = arguments.bench.backend, .threads = arguments.bench.threads});
  if (!runtime) return runtime.error();
  Device& device = detail::RuntimeAccess::shared(*runtime)->device();
  const auto peers = load_peers(arguments, device.threads());
  if (!peers) return peers.error();

  std::vector<BenchRow> rows;
  {
    Progress progress;
    for (const BenchShape& shape : arguments.bench.shapes) {
      Result<BenchRow> row = bench_gemm(*runtime, arguments.bench, shape, *peers, progress);
      if (!row) return row.error();
      rows.push_back(*std::move(row));
    }
  }
  const Json json = report(arguments, device.info(), device.threads(), *peers, rows);
  if (arguments.file == "-") {
    print_json(json);
    return kDone;
  }
  if (!arguments.file.empty()) GIRIH_TRY(write_report(arguments.file, json));
  print_table(rows);
  return kDone;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* const bench = app.add_subcommand("bench", "Time girih against other libraries");
  bench->require_subcommand(1);
  bench->footer("Example:\n  girih bench gemm --ladder square --against openblas");
  CLI::App* const gemm = bench->add_subcommand("gemm", "Time products");
  auto arguments = std::make_shared<BenchArguments>();
  arguments->ladder = "square";
  gemm->add_option("--ladder", arguments->ladder, "A named list of shapes; default square")
      ->type_name(ladder_names());
  gemm->add_option("--shapes", arguments->shapes, "Shapes of your own instead")
      ->type_name("MxNxK,...");
  add_choice(*gemm, "--layout", arguments->bench.layout,
             std::vector{Layout::NN, Layout::NT, Layout::TN, Layout::TT},
             "A and B as stored (N) or transposed (T); default NN");
  add_choice(*gemm, "--dtype", arguments->bench.dtype,
             std::vector{DType::F32, DType::BF16, DType::F16, DType::I8},
             "Type of A and B; default f32");
  add_choice(*gemm, "--precision", arguments->bench.precision,
             std::vector{Precision::Exact, Precision::Fast, Precision::Tf32},
             "How f32 operands are multiplied; default exact");
  add_choice(*gemm, "--backend", arguments->bench.backend,
             std::vector{Backend::Cpu, Backend::Cuda, Backend::Metal},
             "Exactly this backend, or an error");
  gemm->add_option("--against", arguments->against, "Peers, if installed: openblas,onednn")
      ->delimiter(',');
  gemm->add_option("--threads", arguments->bench.threads, "CPU threads, of the peers as well")
      ->check(CLI::Range(0, 1024));
  gemm->add_option("--rounds", arguments->bench.rounds, "Interleaved rounds; default 11")
      ->check(CLI::Range(1, 1001));
  gemm->add_option("--commit", arguments->commit, "Recorded in the report");
  gemm->add_option("--json", arguments->file,
                   "Write the report, as JSON, to this file; - prints it")
      ->type_name("FILE");
  gemm->footer(
      "Results are checked against the oracle before anything is timed. All contenders, girih "
      "twice\n"
      "(`itself` is the control), run in interleaved rounds; a ratio is the peer's time over "
      "girih's,\n"
      "paired by round. docs/measuring.md has the method and the report's fields.\n\n"
      "Example:\n"
      "  girih bench gemm --ladder square --against openblas,onednn --json bench.json");
  gemm->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace girih::cli
