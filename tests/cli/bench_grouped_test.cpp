#include "girih/bench_grouped.hpp"

#include <gtest/gtest.h>

#include "support/expect.hpp"

namespace girih::testing {
namespace {

using namespace cli;

class BenchGroups : public ::testing::Test {
 protected:
  Result<GroupsRow> run(const GroupsShape& shape, DType dtype = DType::BF16) {
    GroupsCase bench{.shape = shape, .operands = dtype, .output = dtype};
    return bench_grouped(runtime_, options_, bench, peers_, progress_);
  }

  Runtime runtime_ = must(Runtime::open({.backend = Backend::Cpu}));
  GroupsOptions options_{.rounds = 6, .round_seconds = 1e-4};
  std::vector<std::unique_ptr<Peer>> peers_;
  Progress progress_;
};

/// Multiplies by the book; with `forgets` it leaves out the last product of a set.
class BookPeer final : public Peer {
 public:
  explicit BookPeer(std::int64_t groups, bool forgets = false)
      : groups_(groups), forgets_(forgets) {}
  [[nodiscard]] std::string name() const override { return "book"; }
  [[nodiscard]] std::string description() const override { return "by the book"; }
  [[nodiscard]] bool supports(DType, DType) const override { return true; }
  Result<std::vector<PeerWay>> prepare(std::span<const PeerProduct> products,
                                       const PeerRun& run) override {
    EXPECT_EQ(run.replayed, 0);
    EXPECT_EQ(std::ssize(products) % groups_, 0);
    PeerWay way;
    way.kernel = "loops";
    way.contender.name = name();
    way.contender.run =
        [this, all = std::vector(products.begin(), products.end())](std::int64_t i) -> Status {
      if (forgets_ && i % groups_ == groups_ - 1) return {};
      multiply(all.at(static_cast<std::size_t>(i)));
      return {};
    };
    return std::vector<PeerWay>{way};
  }

 private:
  static void multiply(const PeerProduct& p) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          sum += static_cast<const float*>(p.a)[i * p.lda + k] *
                 static_cast<const float*>(p.b)[k * p.ldb + j];
        }
        static_cast<float*>(p.c)[i * p.ldc + j] = sum;
      }
    }
  }
  std::int64_t groups_;
  bool forgets_;
};

TEST_F(BenchGroups, TimesTheCallAndTheLoop) {
  const GroupsRow row = must(run({5, 7, 40, 24}));
  EXPECT_EQ(row.seconds.samples, 6);
  ASSERT_EQ(row.loops.size(), 1U);
  EXPECT_EQ(row.loops[0].name, "gemm-loop");
  EXPECT_EQ(row.loops[0].ratio.samples, 6);
  EXPECT_GT(row.loops[0].seconds.median, 0);
  EXPECT_FALSE(row.kernel.empty());
  EXPECT_EQ(row.loops[0].kernel, row.kernel);
  EXPECT_GT(row.sets, 1);
}

TEST_F(BenchGroups, TimesALoopOfAPeersProducts) {
  peers_.push_back(std::make_unique<BookPeer>(5));
  const GroupsRow row = must(run({5, 7, 40, 24}, DType::F32));
  ASSERT_EQ(row.loops.size(), 2U);
  EXPECT_EQ(row.loops[1].name, "book-loop");
  EXPECT_EQ(row.loops[1].kernel, "loops");
  EXPECT_EQ(row.loops[1].ratio.samples, 6);
  EXPECT_GT(row.loops[1].seconds.median, 0);
  GroupsReport found;
  found.rows.push_back(row);
  const Json report = to_json(found);
  EXPECT_EQ(report["shapes"][0]["peers"][1]["name"], "book-loop");
  EXPECT_GT(report["least_ratio"]["book-loop"], 0);
}

TEST_F(BenchGroups, APeerThatForgetsAGroupHasNoTime) {
  peers_.push_back(std::make_unique<BookPeer>(5, true));
  EXPECT_TRUE(refused(run({5, 7, 40, 24}, DType::F32), Code::DeviceFailed,
                      "book-loop is wrong: NaN in row 28"));
}

TEST_F(BenchGroups, AWrongResultHasNoTime) {
  int calls = 0;
  options_.launcher = [&](Runtime& runtime, GroupedGemmDesc desc) -> Status {
    ++calls;
    // The last group is left out.
    const Tensor& b = desc.b.tensor();
    const Tensor& offsets = desc.offsets.tensor();
    desc.b = must(b.slice(0, 0, b.extent(0) - 1));
    desc.offsets = must(offsets.slice(0, 0, offsets.extent(0) - 1));
    return grouped_gemm(runtime, desc);
  };
  EXPECT_TRUE(refused(run({5, 7, 40, 24}), Code::DeviceFailed, "girih is wrong: NaN in row 28"));
  options_.launcher = [&](Runtime& runtime, GroupedGemmDesc desc) {
    ++calls;
    desc.alpha = 1.125F;
    return grouped_gemm(runtime, desc);
  };
  EXPECT_TRUE(refused(run({5, 7, 40, 24}), Code::DeviceFailed, "of group 0 on: worst at"));
  EXPECT_EQ(calls, 2);
}

TEST_F(BenchGroups, TheLadderIsThatOfExperts) {
  const std::vector<GroupsShape> shapes = must(groups_ladder("experts"));
  ASSERT_EQ(shapes.size(), 6U);
  EXPECT_EQ(to_string(shapes[2]), "128x64x4096x2048");
  EXPECT_EQ(to_string(shapes[5]), "512x40x2048x4096");
  EXPECT_EQ(must(parse_groups("2x3x4x5"))[0].flops(), 2.0 * 2 * 3 * 4 * 5);
}

}  // namespace
}  // namespace girih::testing
