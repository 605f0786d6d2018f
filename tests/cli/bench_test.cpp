#include <cmath>
#include <gtest/gtest.h>
#include <string>

#include "core/error.hpp"
#include "core/storage.hpp"
#include "girih/bench_cases.hpp"
#include "girih/bench_gemm.hpp"
#include "girih/bench_report.hpp"
#include "support/expect.hpp"

namespace girih::testing {
namespace {

using namespace cli;

/// A peer on the host that multiplies f32 by the book, or leaves out the last term of the sum.
class BookPeer final : public Peer {
 public:
  explicit BookPeer(std::int64_t left_out) : left_out_(left_out) {}
  [[nodiscard]] std::string name() const override { return "book"; }
  [[nodiscard]] std::string description() const override { return "by the book"; }
  [[nodiscard]] bool supports(DType operands, DType output) const override {
    return operands == DType::F32 && output == DType::F32;
  }
  Result<std::vector<PeerWay>> prepare(std::span<const PeerProduct> products,
                                       const PeerRun& run) override {
    const std::vector<PeerProduct> sets(products.begin(), products.end());
    const std::int64_t units = std::max<std::int64_t>(run.replayed, 1);
    runs_asked.push_back(run.replayed);
    PeerWay way;
    way.kernel = "loops";
    way.contender = {name(),
                     [this, sets, units](std::int64_t first) -> Status {
                       for (std::int64_t i = first; i < first + units; ++i) {
                         multiply(sets[static_cast<std::size_t>(i) % sets.size()]);
                       }
                       return {};
                     },
                     {},
                     units};
    way.once = [this, sets]() -> Status {
      multiply(sets.front());
      return {};
    };
    return std::vector<PeerWay>{way};
  }

  std::vector<std::int64_t> runs_asked;

 private:
  void multiply(const PeerProduct& p) const {
    const auto* const a = static_cast<const float*>(p.a);
    const auto* const b = static_cast<const float*>(p.b);
    auto* const c = static_cast<float*>(p.c);
    const auto* const bias = static_cast<const float*>(p.bias);
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < p.k - left_out_; ++k) {
          sum += a[p.trans_a ? k * p.lda + i : i * p.lda + k] *
                 b[p.trans_b ? j * p.ldb + k : k * p.ldb + j];
        }
        if (p.b_scale != nullptr) sum *= p.b_scale[j];
        if (p.a_scale != nullptr) sum *= p.a_scale[i];
        if (bias != nullptr) sum += bias[j];
        c[i * p.ldc + j] = p.activation == Activation::Relu && sum < 0 ? 0 : sum;
      }
    }
  }

  std::int64_t left_out_;
};

class Bench : public ::testing::Test {
 protected:
  Result<BenchRow> run(std::int64_t left_out, const BenchCase& bench, Submission submission) {
    std::vector<std::unique_ptr<Peer>> peers;
    peers.push_back(std::make_unique<BookPeer>(left_out));
    BenchOptions options;
    options.rounds = rounds_;
    options.round_seconds = 1e-4;
    options.submission = submission;
    Progress progress;
    Result<BenchRow> row = bench_gemm(runtime_, options, bench, peers, progress);
    replayed_ = static_cast<const BookPeer&>(*peers.front()).runs_asked;
    return row;
  }
  /// Makes C of the first set right, then writes `value` over one element of it.
  Status check_after(const BenchCase& bench, std::int64_t element, float value) {
    BenchOperands operands = must(BenchOperands::make(runtime_, bench));
    GIRIH_TRY(operands.poison(runtime_));
    GIRIH_TRY(gemm(runtime_, operands.desc(0, false)));
    auto* const c =
        reinterpret_cast<float*>(detail::TensorAccess::address(operands.desc(0, false).c.tensor()));
    if (element >= 0) c[element] = value;
    const Result<double> error = operands.check(runtime_, false, "someone");
    return error ? Status() : Status(error.error());
  }

  Runtime runtime_ = must(Runtime::open({.backend = Backend::Cpu, .threads = 2}));
  std::vector<std::int64_t> replayed_;
  int rounds_ = kFewestRounds;
};

TEST_F(Bench, TimesAPeerInEveryLayoutEagerAndReplayed) {
  for (const Layout layout : {Layout::NN, Layout::NT, Layout::TN, Layout::TT}) {
    for (const Submission submission : {Submission::Eager, Submission::Replay}) {
      const Result<BenchRow> row = run(0, {.shape = {9, 7, 20}, .layout = layout}, submission);
      ASSERT_TRUE(row) << row.error().message;
      ASSERT_EQ(row->peers.size(), 1U);
      EXPECT_EQ(row->peers[0].times.name, "book");
      EXPECT_EQ(row->peers[0].times.kernel, "loops");
      EXPECT_GT(row->peers[0].times.seconds.median, 0);
      EXPECT_FALSE(row->epilogue_cost);
      // Peers replay as many products as girih.
      EXPECT_EQ(replayed_, std::vector{row->replayed});
      EXPECT_EQ(row->replayed > 0, submission == Submission::Replay);
      EXPECT_EQ(row->replayed % row->sets, 0);
    }
  }
}

TEST_F(Bench, GivesNoNumberForAWrongPeer) {
  const Result<BenchRow> row = run(1, {.shape = {9, 7, 20}}, Submission::Eager);
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().code, Code::DeviceFailed);
  EXPECT_NE(row.error().message.find("book is wrong"), std::string::npos) << row.error().message;
}

TEST_F(Bench, ARatioIsThePeersTimeOverGirihs) {
  const Result<BenchRow> row = run(0, {.shape = {120, 120, 120}}, Submission::Eager);
  ASSERT_TRUE(row) << row.error().message;
  EXPECT_GT(row->peers[0].ratio.median, 2);  // plain loops against girih
}

TEST_F(Bench, FewRoundsDecideNothing) {
  rounds_ = kFewestRounds - 1;
  const Result<BenchRow> row = run(0, {.shape = {120, 120, 120}}, Submission::Eager);
  ASSERT_TRUE(row) << row.error().message;
  EXPECT_EQ(row->peers[0].verdict, Verdict::Undecided);
  EXPECT_EQ(row->control_verdict, Verdict::Undecided);
}

TEST_F(Bench, RefusesProductsWhoseSizesOverflow) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 32;
  for (const BenchShape& shape : {BenchShape{kHuge, kHuge, 1}, BenchShape{kHuge, 1, kHuge},
                                  BenchShape{1, kHuge, kHuge}, BenchShape{kHuge, 1, 1, kHuge}}) {
    EXPECT_TRUE(refused(run(0, {.shape = shape}, Submission::Eager), Code::SizeOverflow, ""));
  }
}

TEST_F(Bench, TimesAnEpilogueAndWhatItAdds) {
  const Result<BenchRow> row =
      run(0, {.shape = {9, 7, 20}, .epilogue = {.bias = true, .activation = Activation::Relu}},
          Submission::Eager);
  ASSERT_TRUE(row) << row.error().message;
  ASSERT_EQ(row->peers.size(), 1U);
  EXPECT_TRUE(row->epilogue_cost);
  EXPECT_TRUE(row->peers[0].epilogue_cost);
  EXPECT_LT(row->peers[0].epilogue_cost->median, row->peers[0].times.seconds.median);
}

TEST_F(Bench, ScalesReachAPeer) {
  const BenchCase bench = {.shape = {9, 7, 20}, .epilogue = {.scales = true}};
  const Result<BenchRow> row = run(0, bench, Submission::Eager);
  ASSERT_TRUE(row) << row.error().message;
  ASSERT_EQ(row->peers.size(), 1U);
  EXPECT_TRUE(row->peers[0].epilogue_cost);
  const std::vector<PeerProduct> products =
      must(BenchOperands::make(runtime_, bench)).peer_products(true);
  EXPECT_NE(products.front().a_scale, nullptr);
  EXPECT_NE(products.front().b_scale, nullptr);
}

TEST_F(Bench, SeesAWrongElementAndOneThatWasNotWritten) {
  const BenchCase small = {.shape = {33, 17, 40}};
  EXPECT_TRUE(succeeded(check_after(small, -1, 0)));
  EXPECT_TRUE(refused(check_after(small, 33 * 17 - 1, 100), Code::DeviceFailed, "someone"));
  // Beyond 2^24 multiply-adds only windows are compared, but every element is looked at.
  const BenchCase large = {.shape = {300, 300, 200}};
  EXPECT_TRUE(succeeded(check_after(large, -1, 0)));
  EXPECT_TRUE(refused(check_after(large, 300 * 300 - 1, 100), Code::DeviceFailed, "someone"));
  EXPECT_TRUE(refused(check_after(large, 150 * 300 + 151, std::nanf("")), Code::DeviceFailed,
                      "row 150, column 151"));
}

TEST_F(Bench, ChecksEveryTypeBatchedToo) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16, DType::I8}) {
    for (const BenchShape shape : {BenchShape{5, 6, 7, 3}, BenchShape{100, 70, 900, 4}}) {
      BenchCase bench = {.shape = shape, .layout = Layout::TT, .operands = dtype};
      bench.output = bench_output(dtype, {});
      BenchOperands operands = must(BenchOperands::make(runtime_, bench));
      for (const std::int64_t set : {0, operands.sets() - 1}) {
        ASSERT_TRUE(operands.poison(runtime_));
        ASSERT_TRUE(gemm(runtime_, operands.desc(set, false)));
        const Result<double> status = operands.check(runtime_, false, "girih");
        // Only the first set is looked at: after a product on another one it is poison still.
        if (set == 0) {
          EXPECT_TRUE(succeeded(status));
        } else {
          EXPECT_FALSE(status);
        }
      }
    }
  }
}

TEST(BenchCases, AreEveryShapeInEveryLayoutAndType) {
  CaseOptions options;
  options.ladders = "tallk,epilogue";
  options.layouts = {Layout::NN, Layout::TN};
  options.dtypes = {DType::BF16, DType::I8};
  const std::vector<BenchCase> cases = must(bench_cases(options));
  EXPECT_EQ(cases.size(), (3U + 5U) * 2 * 2);
  EXPECT_EQ(cases.front().ladder, "tallk");
  EXPECT_EQ(cases.front().output, DType::BF16);
  EXPECT_EQ(cases.back().ladder, "epilogue");
  EXPECT_EQ(cases.back().output, DType::I32);
  EXPECT_EQ(cases.back().layout, Layout::TN);
}

TEST(BenchCases, HoldTheLadders) {
  const auto count = [](std::string_view name) { return must(ladder(name)).size(); };
  EXPECT_EQ(count("square"), 5U);
  EXPECT_EQ(count("tessl"), 8U);
  EXPECT_EQ(count("strata"), 13U);
  EXPECT_EQ(count("llm"), 6U);
  EXPECT_EQ(count("tallk"), 3U);
  EXPECT_EQ(count("skinny"), 12U);
  EXPECT_EQ(count("gemv"), 15U);
  EXPECT_EQ(to_string(must(ladder("batched"))[5]), "144x144x32x2904");
  EXPECT_TRUE(refused(ladder("oval"), Code::InvalidOption, "oval"));
  EXPECT_EQ(to_string(must(parse_shapes("1x2x3,4x5x6x7"))[1]), "4x5x6x7");
}

TEST(BenchPeers, AreThereOrSayWhyNot) {
  const Result<std::unique_ptr<Peer>> peer = load_peer("cublaslt", 1);
  if (peer) {
    EXPECT_NE((*peer)->description().find("cuBLASLt"), std::string::npos);
  } else {
    EXPECT_TRUE(refused(peer, Code::BackendUnavailable, "ublas"));
  }
  EXPECT_TRUE(refused(load_peer("mkl9", 1), Code::InvalidOption, "mkl9"));
}

BenchRow row_of(std::string ladder, double ratio, double cost, double peer_cost) {
  BenchRow row;
  row.bench = {.shape = {2, 3, 4}, .ladder = std::move(ladder)};
  row.girih = {"girih", "kernel", {1, 1, 1}, 1};
  row.control = {1, 1, 1};
  row.epilogue_cost = Interval{cost, cost, cost};
  row.peers.push_back({{"peer", "its", {ratio, ratio, ratio}, 0},
                       {ratio, ratio, ratio},
                       Verdict::Tie,
                       Interval{peer_cost, peer_cost, peer_cost}});
  return row;
}

TEST(BenchReports, SumUpByGroupAndOverAll) {
  BenchReport report;
  report.rows = {row_of("a", 2, 1, 2), row_of("a", 0.5, 1, 2), row_of("b", 4, 1, 8)};
  report.failures.push_back({{.shape = {5, 6, 7}}, error(Code::DeviceFailed, "it is wrong")});
  const Json json = to_json(report);
  EXPECT_NEAR(json["geometric_mean_ratio"]["peer"].get<double>(), std::cbrt(4.0), 1e-12);
  EXPECT_EQ(json["least_ratio"]["peer"], 0.5);
  ASSERT_EQ(json["groups"].size(), 2U);
  EXPECT_EQ(json["groups"][0]["ladder"], "a");
  EXPECT_NEAR(json["groups"][0]["geometric_mean_ratio"]["peer"].get<double>(), 1, 1e-12);
  EXPECT_EQ(json["groups"][1]["least_ratio"]["peer"], 4.0);
  EXPECT_EQ(json["shapes"][0]["epilogue_cost"]["median"], 1.0);
  EXPECT_NEAR(json["groups"][0]["epilogue_cost_ratio"]["peer"].get<double>(), 0.5, 1e-12);
  EXPECT_NEAR(json["groups"][1]["epilogue_cost_ratio"]["peer"].get<double>(), 0.125, 1e-12);
  // A cost that may be 0 is in no mean.
  report.rows[0].epilogue_cost->low = -1;
  EXPECT_NEAR(to_json(report)["epilogue_cost_ratio"]["peer"].get<double>(), 0.25, 1e-12);
  EXPECT_EQ(json["shapes"][0]["gflops"], 2.0 * 2 * 3 * 4 * 1e-9);
  EXPECT_EQ(json["failures"][0]["error"], "it is wrong");
}

}  // namespace
}  // namespace girih::testing
