#include "girih/bench_gemm.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <set>

#include "core/error.hpp"
#include "core/storage.hpp"
#include "girih/options.hpp"
#include "measure/rounds.hpp"
#include "ops/gemm.hpp"
#include "reference/gemm.hpp"
#include "verify/compare.hpp"

namespace girih::cli {
namespace {

/// Operands in rotation hold at least this much: several times a last-level cache, so that each
/// call finds them in memory.
constexpr std::int64_t kRotatedBytes = std::int64_t{256} << 20;
constexpr std::int64_t kMostSets = 1024;
/// Rows of C held against the oracle.
constexpr std::int64_t kSampledRows = 8;

bool transposes_a(Layout layout) {
  return layout == Layout::TN || layout == Layout::TT;
}
bool transposes_b(Layout layout) {
  return layout == Layout::NT || layout == Layout::TT;
}

/// One set of operands, on the device and for the peers on the host.
struct OperandSet {
  Tensor a, b, c;
  std::vector<std::byte> host_a, host_b, host_c;
};

/// Uniform in [-1, 1), or all of int8: never zeros, which draw less power and so run faster.
std::vector<std::byte> random_matrix(std::int64_t count, DType dtype, std::mt19937_64& generator) {
  const auto width = static_cast<std::size_t>(bit_width(dtype) / 8);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * width);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::size_t i = 0; i < bytes.size(); i += width) {
    if (dtype == DType::I8) {
      bytes[i] = static_cast<std::byte>(generator() & 0xFFU);
      continue;
    }
    const float value = uniform(generator);
    if (dtype == DType::F32) {
      std::memcpy(&bytes[i], &value, sizeof value);
    } else {
      const std::uint16_t bits = dtype == DType::BF16 ? to_bf16(value).bits : to_f16(value).bits;
      std::memcpy(&bytes[i], &bits, sizeof bits);
    }
  }
  return bytes;
}

/// One shape's experiment.
class Experiment {
 public:
  Experiment(Runtime& runtime, const BenchOptions& options, const BenchShape& shape)
      : runtime_(runtime), options_(options), shape_(shape) {}

  Status prepare();
  /// Runs girih, then each peer, once, and holds sample rows of what they wrote against the oracle.
  Status check(const std::vector<std::unique_ptr<Peer>>& peers);
  Status run_girih(std::int64_t iteration) { return gemm(runtime_, desc(iteration)); }
  Status run_peer(Peer& peer, std::int64_t iteration) {
    return peer.multiply(peer_product(iteration));
  }
  [[nodiscard]] GemmDesc desc(std::int64_t iteration) const;
  [[nodiscard]] int sets() const { return static_cast<int>(sets_.size()); }

 private:
  [[nodiscard]] OperandSet& set(std::int64_t iteration) {
    return sets_[static_cast<std::size_t>(iteration) % sets_.size()];
  }
  [[nodiscard]] PeerProduct peer_product(std::int64_t iteration);
  Status check_rows(const std::vector<std::byte>& c, std::string_view who);

  Runtime& runtime_;
  const BenchOptions& options_;
  const BenchShape shape_;
  DType output_ = DType::F32;
  std::vector<OperandSet> sets_;
};

Status Experiment::prepare() {
  output_ = default_output(options_.dtype);
  const std::int64_t width = bit_width(options_.dtype) / 8;
  const std::int64_t bytes = (shape_.m * shape_.k + shape_.k * shape_.n) * width +
                             shape_.m * shape_.n * bit_width(output_) / 8;
  const std::int64_t count = std::clamp<std::int64_t>(kRotatedBytes / bytes, 1, kMostSets);
  std::mt19937_64 generator(1);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto make = [&](std::int64_t rows, std::int64_t columns, DType dtype, bool transposed,
                          Tensor& tensor) -> Status {
      Result<Tensor> made = transposed ? runtime_.tensor({columns, rows}, dtype)
                                       : runtime_.tensor({rows, columns}, dtype);
      if (!made) return made.error();
      tensor = *made;
      return {};
    };
    OperandSet operands;
    GIRIH_TRY(make(shape_.m, shape_.k, options_.dtype, transposes_a(options_.layout), operands.a));
    GIRIH_TRY(make(shape_.k, shape_.n, options_.dtype, transposes_b(options_.layout), operands.b));
    GIRIH_TRY(make(shape_.m, shape_.n, output_, false, operands.c));
    operands.host_a = random_matrix(operands.a.size(), options_.dtype, generator);
    operands.host_b = random_matrix(operands.b.size(), options_.dtype, generator);
    operands.host_c.resize(static_cast<std::size_t>(operands.c.size() * bit_width(output_) / 8));
    GIRIH_TRY(runtime_.upload(operands.a, std::span<const std::byte>(operands.host_a)));
    GIRIH_TRY(runtime_.upload(operands.b, std::span<const std::byte>(operands.host_b)));
    sets_.push_back(std::move(operands));
  }
  return {};
}

GemmDesc Experiment::desc(std::int64_t iteration) const {
  const OperandSet& operands = sets_[static_cast<std::size_t>(iteration) % sets_.size()];
  return {.a = transposes_a(options_.layout) ? operands.a.transposed() : operands.a,
          .b = transposes_b(options_.layout) ? operands.b.transposed() : operands.b,
          .c = operands.c,
          .precision = options_.precision};
}

PeerProduct Experiment::peer_product(std::int64_t iteration) {
  OperandSet& operands = set(iteration);
  return {.operands = options_.dtype,
          .trans_a = transposes_a(options_.layout),
          .trans_b = transposes_b(options_.layout),
          .m = shape_.m,
          .n = shape_.n,
          .k = shape_.k,
          .a = operands.host_a.data(),
          .b = operands.host_b.data(),
          .c = operands.host_c.data(),
          .lda = operands.a.extent(1),
          .ldb = operands.b.extent(1),
          .ldc = shape_.n};
}

Status Experiment::check(const std::vector<std::unique_ptr<Peer>>& peers) {
  OperandSet& first = sets_.front();
  std::vector<std::byte> c(first.host_c.size(), std::byte{0xFF});
  GIRIH_TRY(runtime_.upload(first.c, std::span<const std::byte>(c)));
  GIRIH_TRY(run_girih(0));
  GIRIH_TRY(runtime_.download(first.c, std::span(c)));
  GIRIH_TRY(check_rows(c, "girih"));
  for (const auto& peer : peers) {
    std::fill(first.host_c.begin(), first.host_c.end(), std::byte{0xFF});
    GIRIH_TRY(run_peer(*peer, 0));
    GIRIH_TRY(check_rows(first.host_c, peer->name()));
  }
  return {};
}

Status Experiment::check_rows(const std::vector<std::byte>& c, std::string_view who) {
  const OperandSet& operands = sets_.front();
  const Geometry whole_a = detail::TensorAccess::geometry(desc(0).a.tensor());
  const Geometry whole_b = detail::TensorAccess::geometry(desc(0).b.tensor());
  std::set<std::int64_t> rows = {0, shape_.m - 1};
  std::mt19937_64 generator(2);
  const auto wanted = static_cast<std::size_t>(std::min(kSampledRows, shape_.m));
  while (rows.size() < wanted) {
    rows.insert(static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(shape_.m)));
  }
  for (const std::int64_t row : rows) {
    Geometry a = whole_a;
    a.shape = Shape(1, shape_.k);
    const Geometry c_row = {output_, Shape(1, shape_.n), contiguous_strides(Shape(1, shape_.n)), 0};
    const Result<GemmProblem> problem =
        girih::check(GemmSpec{.a = a, .b = whole_b, .c = c_row, .precision = options_.precision});
    if (!problem) return problem.error();
    const std::int64_t a_bytes = row * whole_a.strides[0] * bit_width(options_.dtype) / 8;
    const std::int64_t c_bytes = row * shape_.n * bit_width(output_) / 8;
    const GemmReference reference = reference_gemm(
        *problem, {.a = operands.host_a.data() + a_bytes, .b = operands.host_b.data()});
    const verify::Comparison comparison =
        verify::compare(reference.value, reference.bound, {c_row, c.data() + c_bytes});
    if (!comparison.passed()) {
      return error(Code::DeviceFailed, "{} is wrong in row {}: {}", who, row,
                   comparison.to_string());
    }
  }
  return {};
}

}  // namespace

std::string_view name(Layout layout) noexcept {
  switch (layout) {
    case Layout::NN:
      return "NN";
    case Layout::NT:
      return "NT";
    case Layout::TN:
      return "TN";
    case Layout::TT:
      return "TT";
  }
  return "unknown_layout";
}

Result<BenchRow> bench_gemm(Runtime& runtime, const BenchOptions& options, const BenchShape& shape,
                            const std::vector<std::unique_ptr<Peer>>& peers, Progress& progress) {
  const std::string label = fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
  progress.stage(label + ": checking");
  Experiment experiment(runtime, options, shape);
  GIRIH_TRY(experiment.prepare());
  GIRIH_TRY(experiment.check(peers));
  const Result<Plan> chosen = plan(runtime, experiment.desc(0));
  if (!chosen) return chosen.error();

  const auto run_girih = [&](std::int64_t i) { return experiment.run_girih(i); };
  const auto finish = [&] { return runtime.synchronize(); };
  std::vector<Contender> contenders = {{"girih", run_girih, finish},
                                       {"control", run_girih, finish}};
  for (const auto& peer : peers) {
    contenders.push_back(
        {peer->name(), [&](std::int64_t i) { return experiment.run_peer(*peer, i); }, {}});
  }
  const RoundOptions rounds = {
      .rounds = options.rounds,
      .round_seconds = 0.05,
      .warm_up_seconds = 2,
      .progress = [&](int done) {
        progress.stage(fmt::format("{}: round {} of {}", label, done, options.rounds));
      }};
  const Result<std::vector<Times>> times = run_rounds(contenders, rounds);
  if (!times) return times.error();

  const std::vector<double>& ours = (*times)[0].seconds;
  BenchRow row{.shape = shape,
               .kernel = chosen->kernel,
               .sets = experiment.sets(),
               .girih = {"girih", median_interval(ours)},
               .control = paired_ratio((*times)[1].seconds, ours),
               .peers = {}};
  for (std::size_t i = 2; i < times->size(); ++i) {
    const Times& peer = (*times)[i];
    const Interval ratio = paired_ratio(peer.seconds, ours);
    row.peers.push_back(
        {{peer.name, median_interval(peer.seconds)}, ratio, judge(ratio, noise_of(row.control))});
  }
  return row;
}

}  // namespace girih::cli
