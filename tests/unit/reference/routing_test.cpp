#include "reference/routing.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "support/expect.hpp"

// The oracle against results written out here.

namespace girih {
namespace {

using testing::must;
using Numbers = std::vector<double>;

class RoutingReferenceTest : public ::testing::Test {
 protected:
  RouteReference routed(std::int64_t tokens, std::int64_t experts, std::int64_t k,
                        const std::vector<float>& logits, RouterWeights kind, float scale = 1) {
    const auto tensor = [&](const Shape& shape, DType dtype) {
      return must(runtime_.tensor(shape, dtype));
    };
    const RouteDesc desc{.logits = tensor({tokens, experts}, DType::F32),
                         .chosen = tensor({tokens, k}, DType::I32),
                         .weights = tensor({tokens, k}, DType::F32),
                         .offsets = tensor({experts + 1}, DType::I32),
                         .rows = tensor({tokens, k}, DType::I32),
                         .sources = tensor({tokens * k}, DType::I32),
                         .kind = kind,
                         .scale = scale};
    return reference_route(must(check(desc, {.runtime = runtime_.id()})),
                           {.logits = reinterpret_cast<const std::byte*>(logits.data())});
  }

  Runtime runtime_ = must(Runtime::open({.backend = Backend::Cpu}));
};

TEST_F(RoutingReferenceTest, SortsPairsByExpertAndThenByToken) {
  // Tokens 0 to 3 choose 2 and 0, 0 and 1, 1 and 2, 0 and 1: the last by their lower indices.
  const RouteReference x =
      routed(4, 3, 2, {3, -1, 4, 9, 5, 1, -2, 7, 6, 0, -0.0F, 0}, RouterWeights::SoftmaxOfChosen);
  EXPECT_EQ(x.chosen, (Numbers{2, 0, 0, 1, 1, 2, 0, 1}));
  EXPECT_EQ(x.offsets, (Numbers{0, 3, 6, 8}));
  EXPECT_EQ(x.sources, (Numbers{0, 1, 3, 1, 2, 3, 0, 2}));
  EXPECT_EQ(x.rows, (Numbers{6, 0, 1, 3, 4, 7, 2, 5}));
}

TEST_F(RoutingReferenceTest, WeighsInFourWays) {
  const std::vector<float> logits = {1, 3, 2};
  const double e1 = std::exp(1.0), e2 = std::exp(2.0), e3 = std::exp(3.0);
  const double s2 = e2 / (1 + e2), s3 = e3 / (1 + e3);
  const auto expect = [&](RouterWeights kind, double first, double second) {
    const RouteReference x = routed(1, 3, 2, logits, kind, 2);
    EXPECT_NEAR(x.weights[0], 2 * first, 1e-15);
    EXPECT_NEAR(x.weights[1], 2 * second, 1e-15);
    for (const double bound : x.weight_bounds) {
      EXPECT_GT(bound, 0x1p-24);
      EXPECT_LT(bound, 0x1p-17);
    }
  };
  expect(RouterWeights::SoftmaxOfChosen, e3 / (e3 + e2), e2 / (e3 + e2));
  expect(RouterWeights::SoftmaxOfAll, e3 / (e3 + e2 + e1), e2 / (e3 + e2 + e1));
  expect(RouterWeights::Sigmoid, s3, s2);
  expect(RouterWeights::SigmoidOfChosen, s3 / (s3 + s2), s2 / (s3 + s2));
}

TEST_F(RoutingReferenceTest, ExtremesAreExact) {
  const float inf = INFINITY, nan = NAN;
  const RouteReference first = routed(1, 4, 2, {1, nan, inf, 2}, RouterWeights::SoftmaxOfChosen);
  EXPECT_EQ(first.chosen, (Numbers{1, 2}));
  EXPECT_TRUE(std::isnan(first.weights[0]) && std::isnan(first.weights[1]));
  EXPECT_EQ(first.weight_bounds, (Numbers{0, 0}));
  const RouteReference masked = routed(1, 3, 2, {-inf, 5, -inf}, RouterWeights::SoftmaxOfAll);
  EXPECT_EQ(masked.chosen, (Numbers{1, 0}));
  EXPECT_EQ(masked.weights, (Numbers{1, 0}));
  // Both sigmoids underflow in f32; their ratio does not.
  const RouteReference low = routed(1, 2, 2, {-200, -201}, RouterWeights::SigmoidOfChosen);
  EXPECT_NEAR(low.weights[0], 1 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_LT(low.weight_bounds[0], 1e-3);
}

TEST_F(RoutingReferenceTest, UnpermuteAddsWeightedRows) {
  const std::vector<float> x = {1, 2, 10, 20, 100, 200}, weights = {0.5F, 2, -1, 0.25F};
  const std::vector<std::int32_t> rows = {2, 0, 1, 1};
  const UnpermuteDesc desc{.x = must(runtime_.tensor({3, 2}, DType::F32)),
                           .rows = must(runtime_.tensor({2, 2}, DType::I32)),
                           .y = must(runtime_.tensor({2, 2}, DType::BF16)),
                           .weights = must(runtime_.tensor({2, 2}, DType::F32))};
  const UnpermuteReference y =
      reference_unpermute(must(check(desc, {.runtime = runtime_.id()})),
                          {.x = reinterpret_cast<const std::byte*>(x.data()),
                           .indices = rows.data(),
                           .weights = weights.data()});
  EXPECT_EQ(y.value, (Numbers{52, 104, -7.5, -15}));
  // Half a unit of bf16, 2^-8, and two roundings of f32.
  EXPECT_NEAR(y.bound[0], 52 * (0x1p-8 + 0x1p-23), 1e-5);
}

TEST_F(RoutingReferenceTest, PermuteRepeatsRows) {
  const std::vector<std::uint16_t> x = {1, 2, 3, 4};
  const std::vector<std::int32_t> sources = {1, 1, 0};
  std::vector<std::uint16_t> y(6);
  const PermuteDesc desc{.x = must(runtime_.tensor({2, 2}, DType::F16)),
                         .sources = must(runtime_.tensor({3}, DType::I32)),
                         .y = must(runtime_.tensor({3, 2}, DType::F16))};
  reference_permute(must(check(desc, {.runtime = runtime_.id()})),
                    {.x = reinterpret_cast<const std::byte*>(x.data()),
                     .sources = sources.data(),
                     .y = reinterpret_cast<std::byte*>(y.data())});
  EXPECT_EQ(y, (std::vector<std::uint16_t>{3, 4, 3, 4, 1, 2}));
}

}  // namespace
}  // namespace girih
