#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "support/allocations.hpp"
#include "support/backends.hpp"
#include "support/gemm.hpp"

// What routing promises beyond its values: whole chains of calls, indices that break their rule,
// threads, memory.

namespace girih::testing {
namespace {

constexpr std::int64_t kTokens = 300, kExperts = 24, kSlots = 4, kWidth = 40;

/// The outputs of a route.
struct Routed {
  Tensor chosen, weights, offsets, rows, sources;

  explicit Routed(Runtime& runtime, std::int64_t tokens = kTokens, std::int64_t experts = kExperts,
                  std::int64_t k = kSlots)
      : chosen(must(runtime.tensor({tokens, k}, DType::I32))),
        weights(must(runtime.tensor({tokens, k}, DType::F32))),
        offsets(must(runtime.tensor({experts + 1}, DType::I32))),
        rows(must(runtime.tensor({tokens, k}, DType::I32))),
        sources(must(runtime.tensor({tokens * k}, DType::I32))) {}

  [[nodiscard]] RouteDesc desc(const Tensor& logits) const {
    return {.logits = logits,
            .chosen = chosen,
            .weights = weights,
            .offsets = offsets,
            .rows = rows,
            .sources = sources};
  }
  [[nodiscard]] std::vector<std::byte> bytes(Runtime& runtime) const {
    std::vector<std::byte> all;
    for (const Tensor* tensor : {&chosen, &weights, &offsets, &rows, &sources}) {
      const std::vector<std::byte> one = bytes_of(runtime, *tensor);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }
};

std::vector<std::int32_t> integers_of(Runtime& runtime, const Tensor& tensor) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(tensor.size()));
  must(runtime.download(tensor, std::span(values)));
  return values;
}

/// Runtimes of a backend that has kernels for it; elsewhere the calls are refused.
class RoutingCalls : public BackendTest {
 protected:
  void SetUp() override {
    if (GetParam() != Backend::Metal) return;
    const Routed routed(runtime_, 2, 4, 1);
    const RouteDesc desc = routed.desc(must(runtime_.tensor({2, 4}, DType::F32)));
    EXPECT_TRUE(refused(plan(runtime_, desc), Code::GemmNoKernel, "no row of this operation"));
    EXPECT_TRUE(refused(route(runtime_, desc), Code::GemmNoKernel, "route"));
    GTEST_SKIP() << name(GetParam()) << " has no kernels for it";
  }
  /// The status of a call or a replay once it has run: where it was queued, of the wait for it.
  Status outcome(Status status) {
    if (!status || GetParam() == Backend::Cpu) return status;
    return runtime_.synchronize();
  }
};

TEST_P(RoutingCalls, ChosenPlacesAndTokensFitTogether) {
  const Tensor logits = random_tensor(runtime_, {kTokens, kExperts}, DType::BF16, 1);
  const Routed routed(runtime_);
  must(route(runtime_, routed.desc(logits)));
  const auto chosen = integers_of(runtime_, routed.chosen);
  const auto offsets = integers_of(runtime_, routed.offsets);
  const auto rows = integers_of(runtime_, routed.rows);
  const auto sources = integers_of(runtime_, routed.sources);
  std::vector<int> named(sources.size());
  for (std::size_t pair = 0; pair < rows.size(); ++pair) {
    const auto row = static_cast<std::size_t>(rows[pair]);
    const auto expert = static_cast<std::size_t>(chosen[pair]);
    ++named[row];
    EXPECT_GE(rows[pair], offsets[expert]);
    EXPECT_LT(rows[pair], offsets[expert + 1]);
    EXPECT_EQ(sources[row], static_cast<int>(pair) / kSlots);
  }
  EXPECT_EQ(named, std::vector<int>(named.size(), 1));
  for (std::size_t e = 0; e + 1 < offsets.size(); ++e) {
    EXPECT_TRUE(std::is_sorted(sources.begin() + offsets[e], sources.begin() + offsets[e + 1]));
  }
}

TEST_P(RoutingCalls, WeightsOfTheChosenAddUpToTheScale) {
  const Tensor logits = random_tensor(runtime_, {kTokens, kExperts}, DType::F32, 2);
  const Routed routed(runtime_);
  for (const RouterWeights kind :
       {RouterWeights::SoftmaxOfChosen, RouterWeights::SigmoidOfChosen}) {
    RouteDesc desc = routed.desc(logits);
    desc.kind = kind;
    desc.scale = 16;
    must(route(runtime_, desc));
    const std::vector<float> weights = floats_of(runtime_, routed.weights);
    for (std::size_t t = 0; t < static_cast<std::size_t>(kTokens); ++t) {
      float sum = 0;
      for (std::size_t s = 0; s < kSlots; ++s) sum += weights[t * kSlots + s];
      EXPECT_NEAR(sum, 16, 16 * 8 * 0x1p-24);
    }
  }
}

TEST_P(RoutingCalls, ANaNLogitIsChosenFirstAndShows) {
  const Tensor logits = tensor_of<float>(runtime_, {2, 4}, DType::F32,
                                         {1, std::nanf(""), 5, std::nanf(""), 4, 3, 2, 1});
  const Routed routed(runtime_, 2, 4, 3);
  must(route(runtime_, routed.desc(logits)));
  EXPECT_EQ(integers_of(runtime_, routed.chosen), (std::vector<std::int32_t>{1, 3, 2, 0, 1, 2}));
  const std::vector<float> weights = floats_of(runtime_, routed.weights);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(std::isnan(weights[i]), i < 3) << i;
}

TEST_P(RoutingCalls, APermuteUndoneIsTheTokensOwn) {
  // Four equal weights of 1/4 add up to a token's own row, exactly.
  const Tensor logits = must(runtime_.tensor({kTokens, kExperts}, DType::F32));
  const Routed routed(runtime_);
  must(route(runtime_, routed.desc(logits)));
  const Tensor x = random_tensor(runtime_, {kTokens, kWidth}, DType::BF16, 3);
  const Tensor sorted = must(runtime_.tensor({kTokens * kSlots, kWidth}, DType::BF16));
  must(permute(runtime_, {.x = x, .sources = routed.sources, .y = sorted}));
  const Tensor back = must(runtime_.tensor({kTokens, kWidth}, DType::BF16));
  must(unpermute(runtime_,
                 {.x = sorted, .rows = routed.rows, .y = back, .weights = routed.weights}));
  EXPECT_EQ(bytes_of(runtime_, back), bytes_of(runtime_, x));
}

TEST_P(RoutingCalls, IndicesThatBreakTheirRuleWriteNothing) {
  const Tensor x = random_tensor(runtime_, {6, kWidth}, DType::F32, 4);
  for (const std::int32_t bad : {-1, 6, std::numeric_limits<std::int32_t>::max(),
                                 std::numeric_limits<std::int32_t>::min()}) {
    std::vector<std::int32_t> values(200);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i % 6);
    values[197] = bad;
    const Tensor sources = tensor_of(runtime_, {200}, DType::I32, values);
    const Tensor y = random_tensor(runtime_, {200, kWidth}, DType::F32, 5);
    const std::vector<std::byte> before = bytes_of(runtime_, y);
    EXPECT_TRUE(refused(outcome(permute(runtime_, {.x = x, .sources = sources, .y = y})),
                        Code::RoutingIndex, "source 197 is " + std::to_string(bad)));
    EXPECT_EQ(bytes_of(runtime_, y), before);

    const Tensor sum = random_tensor(runtime_, {100, kWidth}, DType::F32, 6);
    const std::vector<std::byte> sum_before = bytes_of(runtime_, sum);
    const Tensor rows = must(sources.reshape({100, 2}));
    EXPECT_TRUE(refused(outcome(unpermute(runtime_, {.x = x, .rows = rows, .y = sum})),
                        Code::RoutingIndex, "row [98, 1] is " + std::to_string(bad)));
    EXPECT_EQ(bytes_of(runtime_, sum), sum_before);
  }
  EXPECT_TRUE(succeeded(runtime_.synchronize()));
}

TEST_P(RoutingCalls, AReplayReadsTheIndicesOfNow) {
  const Tensor x = random_tensor(runtime_, {3, kWidth}, DType::F32, 4);
  const Tensor sources = tensor_of<std::int32_t>(runtime_, {2}, DType::I32, {0, 1});
  const Tensor y = must(runtime_.tensor({2, kWidth}, DType::F32));
  Graph graph = must(
      capture(runtime_, [&] { return permute(runtime_, {.x = x, .sources = sources, .y = y}); }));
  const std::vector<std::int32_t> other = {2, 0}, bad = {1, 3};
  must(runtime_.upload(sources, std::span(other)));
  must(graph.replay());
  EXPECT_EQ(bytes_of(runtime_, must(y.slice(0, 0, 1))), bytes_of(runtime_, must(x.slice(0, 2, 3))));
  const std::vector<std::byte> before = bytes_of(runtime_, y);
  must(runtime_.upload(sources, std::span(bad)));
  EXPECT_TRUE(refused(outcome(graph.replay()), Code::RoutingIndex, "source 1 is 3"));
  EXPECT_EQ(bytes_of(runtime_, y), before);
}

TEST_P(RoutingCalls, ATokensWeightsDependOnNoOtherToken) {
  const Tensor logits = random_tensor(runtime_, {kTokens, kExperts}, DType::F16, 7);
  for (int kind = 0; kind < 4; ++kind) {
    const Routed all(runtime_);
    RouteDesc desc = all.desc(logits);
    desc.kind = static_cast<RouterWeights>(kind);
    must(route(runtime_, desc));
    for (const std::int64_t t : {std::int64_t{0}, std::int64_t{77}, kTokens - 1}) {
      const Routed one(runtime_, 1);
      RouteDesc alone = one.desc(must(logits.slice(0, t, t + 1)));
      alone.kind = desc.kind;
      must(route(runtime_, alone));
      EXPECT_EQ(bytes_of(runtime_, one.weights),
                bytes_of(runtime_, must(all.weights.slice(0, t, t + 1))));
      EXPECT_EQ(bytes_of(runtime_, one.chosen),
                bytes_of(runtime_, must(all.chosen.slice(0, t, t + 1))));
    }
  }
}

TEST_P(RoutingCalls, AllocatesNothingInSteadyState) {
  const Tensor logits = random_tensor(runtime_, {2000, kExperts}, DType::F32, 8);
  const Tensor x = random_tensor(runtime_, {2000, kWidth}, DType::BF16, 9);
  const Routed routed(runtime_, 2000);
  const Tensor sorted = must(runtime_.tensor({2000 * kSlots, kWidth}, DType::BF16));
  const Tensor y = must(runtime_.tensor({2000, kWidth}, DType::BF16));
  const auto step = [&] {
    must(route(runtime_, routed.desc(logits)));
    must(permute(runtime_, {.x = x, .sources = routed.sources, .y = sorted}));
    must(
        unpermute(runtime_, {.x = sorted, .rows = routed.rows, .y = y, .weights = routed.weights}));
  };
  step();
  const std::uint64_t before = runtime_.memory().system_allocations;
  const std::uint64_t heap = heap_allocations();
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(runtime_.memory().system_allocations, before);
  if (GetParam() == Backend::Cpu) {
    EXPECT_EQ(heap_allocations(), heap);  // a driver has its own
  }
}

TEST_P(RoutingCalls, WorksInTheCallersWorkspace) {
  const Tensor logits = random_tensor(runtime_, {kTokens, kExperts}, DType::F32, 10);
  const Routed own(runtime_), theirs(runtime_);
  must(route(runtime_, own.desc(logits)));
  RouteDesc desc = theirs.desc(logits);
  const auto bytes = static_cast<std::int64_t>(must(plan(runtime_, desc)).workspace_bytes);
  ASSERT_GT(bytes, 0);
  const Tensor memory = must(runtime_.tensor({bytes}, DType::I8));
  desc.workspace = must(memory.slice(0, 0, bytes - 1));
  EXPECT_TRUE(refused(route(runtime_, desc), Code::WorkspaceTooSmall, std::to_string(bytes)));
  desc.workspace = memory;
  must(route(runtime_, desc));
  EXPECT_EQ(theirs.bytes(runtime_), own.bytes(runtime_));
}

TEST_P(RoutingCalls, IsPrepared) {
  const Tensor logits = random_tensor(runtime_, {kTokens, kExperts}, DType::F32, 11);
  const Tensor x = random_tensor(runtime_, {kTokens, kWidth}, DType::F32, 12);
  const Routed routed(runtime_);
  const Tensor sorted = must(runtime_.tensor({kTokens * kSlots, kWidth}, DType::F32));
  const std::vector<OpDesc> calls = {
      routed.desc(logits), PermuteDesc{.x = x, .sources = routed.sources, .y = sorted},
      UnpermuteDesc{.x = sorted, .rows = routed.rows, .y = x, .weights = routed.weights}};
  must(prepare(runtime_, calls));
  const std::uint64_t before = runtime_.memory().system_allocations;
  must(route(runtime_, routed.desc(logits)));
  EXPECT_EQ(runtime_.memory().system_allocations, before);
}

GIRIH_FOR_ALL_BACKENDS(RoutingCalls);

TEST(RoutingThreads, ResultsDoNotDependOnTheNumberOfThreads) {
  std::vector<std::byte> first;
  for (const int threads : {1, 2, 3, 8}) {
    Runtime runtime = open(Backend::Cpu, {.threads = threads});
    const Tensor logits = random_tensor(runtime, {5000, 40}, DType::F32, 1);
    const Routed routed(runtime, 5000, 40, 6);
    RouteDesc desc = routed.desc(logits);
    desc.kind = RouterWeights::SoftmaxOfAll;
    must(route(runtime, desc));
    EXPECT_EQ(must(plan(runtime, desc)).threads > 1, threads > 1);
    if (first.empty()) first = routed.bytes(runtime);
    EXPECT_EQ(routed.bytes(runtime), first) << threads;
  }
}

}  // namespace
}  // namespace girih::testing
