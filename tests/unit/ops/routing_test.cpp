#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "ops/permute.hpp"
#include "support/expect.hpp"

namespace girih {
namespace {

using testing::must;
using testing::refused;

class RoutingCheckTest : public ::testing::Test {
 protected:
  Tensor tensor(const Shape& shape, DType dtype = DType::F32) {
    return must(runtime_.tensor(shape, dtype));
  }
  Tensor indices(const Shape& shape) { return tensor(shape, DType::I32); }
  /// Seven tokens choose two of five experts.
  RouteDesc routing() {
    return {.logits = tensor({7, 5}),
            .chosen = indices({7, 2}),
            .weights = tensor({7, 2}),
            .offsets = indices({6}),
            .rows = indices({7, 2}),
            .sources = indices({14})};
  }
  /// `change` makes of a valid descriptor one that is refused.
  template <class Desc, class Change>
  void expect_refusal(Desc desc, Code code, const std::string& word, const Change& change) {
    ASSERT_TRUE(testing::succeeded(check(desc, context_)));
    change(desc);
    EXPECT_TRUE(refused(check(desc, context_), code, word));
  }

  Runtime runtime_ = must(Runtime::open({.backend = Backend::Cpu}));
  CheckContext context_{.runtime = runtime_.id()};
};

TEST_F(RoutingCheckTest, StatesExtentsAndStrides) {
  RouteDesc desc = routing();
  desc.logits = tensor({5, 7}, DType::F16).transposed();
  desc.kind = RouterWeights::Sigmoid;
  desc.scale = 3;
  const RouteProblem problem = must(check(desc, context_));
  EXPECT_EQ(problem.tokens, 7);
  EXPECT_EQ(problem.experts, 5);
  EXPECT_EQ(problem.k, 2);
  EXPECT_EQ(problem.logits.dtype, DType::F16);
  EXPECT_EQ(problem.logits.at(2, 3), 2 + 3 * 7);
  EXPECT_EQ(problem.sources.at(4, 0), 4);
  EXPECT_EQ(problem.kind, RouterWeights::Sigmoid);
  EXPECT_EQ(problem.scale, 3);
  EXPECT_FALSE(problem.workspace_bytes.has_value());
  EXPECT_EQ(problem.bytes(), 7 * 5 * 2 + 7 * 2 * 16 + 6 * 4.0);
}

TEST_F(RoutingCheckTest, RefusesExtentsThatDoNotFit) {
  const Code shape = Code::RoutingShapeMismatch;
  expect_refusal(routing(), shape, "logits has rank 3", [&](RouteDesc& desc) {
    desc.logits = tensor({7, 5, 1});
  });
  expect_refusal(routing(), shape, "k = 0", [&](RouteDesc& desc) {
    desc.chosen = indices({7, 0});
  });
  expect_refusal(routing(), shape, "k = 6 columns, must be 1 to 5", [&](RouteDesc& desc) {
    desc.chosen = indices({7, 6});
  });
  expect_refusal(routing(), shape, "chosen is [8, 2], must be [7, 2]", [&](RouteDesc& desc) {
    desc.chosen = indices({8, 2});
  });
  expect_refusal(routing(), shape, "weights is [7, 3]", [&](RouteDesc& desc) {
    desc.weights = tensor({7, 3});
  });
  expect_refusal(routing(), shape, "offsets is [5], must be [6]",
                 [&](RouteDesc& desc) { desc.offsets = indices({5}); });
  expect_refusal(routing(), shape, "rows is [14]",
                 [&](RouteDesc& desc) { desc.rows = indices({14}); });
  expect_refusal(routing(), shape, "sources is [7, 2], must be [14]", [&](RouteDesc& desc) {
    desc.sources = indices({7, 2});
  });
  const Tensor endless = must(tensor({1, 2}).view({std::int64_t{1} << 40, 2}, {0, 1}, 0));
  expect_refusal(routing(), shape, "2^31 - 1", [&](RouteDesc& desc) { desc.logits = endless; });
}

TEST_F(RoutingCheckTest, RefusesTypesAndOptions) {
  const Code type = Code::RoutingTypeMismatch;
  expect_refusal(routing(), type, "logits is i8, must be one of f32, bf16, f16",
                 [&](RouteDesc& desc) {
                   desc.logits = tensor({7, 5}, DType::I8);
                 });
  expect_refusal(routing(), type, "chosen is f32, must be i32", [&](RouteDesc& desc) {
    desc.chosen = tensor({7, 2});
  });
  expect_refusal(routing(), type, "weights is bf16, must be f32", [&](RouteDesc& desc) {
    desc.weights = tensor({7, 2}, DType::BF16);
  });
  expect_refusal(routing(), type, "sources",
                 [&](RouteDesc& desc) { desc.sources = tensor({14}, DType::U8); });
  expect_refusal(routing(), Code::InvalidOption, "kind",
                 [](RouteDesc& desc) { desc.kind = static_cast<RouterWeights>(4); });
  for (const float scale : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    expect_refusal(routing(), Code::InvalidOption, "scale",
                   [&](RouteDesc& desc) { desc.scale = scale; });
  }
  expect_refusal(routing(), Code::InvalidTensor, "rows",
                 [](RouteDesc& desc) { desc.rows = Tensor(); });
  Runtime other = must(Runtime::open({.backend = Backend::Cpu}));
  expect_refusal(routing(), Code::ForeignTensor, "offsets",
                 [&](RouteDesc& desc) { desc.offsets = must(other.tensor({6}, DType::I32)); });
}

TEST_F(RoutingCheckTest, RefusesMemoryThatIsShared) {
  const Code aliasing = Code::RoutingAliasing;
  expect_refusal(routing(), aliasing, "weights overlaps logits", [](RouteDesc& desc) {
    desc.weights = must(desc.logits.tensor().view({7, 2}, {2, 1}, 0));
  });
  expect_refusal(routing(), aliasing, "chosen overlaps rows",
                 [](RouteDesc& desc) { desc.rows = desc.chosen; });
  expect_refusal(routing(), aliasing, "sources: its strides",
                 [&](RouteDesc& desc) { desc.sources = must(indices({1}).view({14}, {0}, 0)); });
  expect_refusal(routing(), aliasing, "offsets overlaps workspace",
                 [](RouteDesc& desc) { desc.workspace = desc.offsets.tensor(); });
  expect_refusal(routing(), Code::InvalidTensor, "workspace",
                 [&](RouteDesc& desc) { desc.workspace = must(indices({100}).slice(0, 1, 100)); });
  // Column slices of one matrix are apart.
  RouteDesc sliced = routing();
  const Tensor both = indices({7, 4});
  sliced.chosen = must(both.slice(1, 0, 2));
  sliced.rows = must(both.slice(1, 2, 4));
  EXPECT_TRUE(testing::succeeded(check(sliced, context_)));
}

TEST_F(RoutingCheckTest, PermutesTakeAnyTypeOfWholeBytes) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const auto problem = check(
        PermuteDesc{
            .x = tensor({4, 6}, dtype), .sources = indices({9}), .y = tensor({9, 6}, dtype)},
        context_);
    if (dtype == DType::F64 || dtype == DType::I4) {
      EXPECT_TRUE(refused(problem, Code::RoutingTypeMismatch, "x"));
      continue;
    }
    ASSERT_TRUE(testing::succeeded(problem)) << name(dtype);
    EXPECT_EQ(problem->tokens, 4);
    EXPECT_EQ(problem->rows, 9);
    EXPECT_EQ(problem->bytes(), 2 * 9 * 6 * bit_width(dtype) / 8 + 9 * 4);
  }
}

TEST_F(RoutingCheckTest, RefusesPermutesThatDoNotFit) {
  const PermuteDesc valid{.x = tensor({4, 6}), .sources = indices({9}), .y = tensor({9, 6})};
  const Code shape = Code::RoutingShapeMismatch, type = Code::RoutingTypeMismatch;
  expect_refusal(valid, shape, "y is [9, 5], must be [9, 6]", [&](PermuteDesc& desc) {
    desc.y = tensor({9, 5});
  });
  expect_refusal(valid, shape, "sources has rank 2", [&](PermuteDesc& desc) {
    desc.sources = indices({9, 1});
  });
  expect_refusal(valid, shape, "x has rank 1", [&](PermuteDesc& desc) { desc.x = tensor({24}); });
  expect_refusal(valid, type, "y is bf16, must be f32", [&](PermuteDesc& desc) {
    desc.y = tensor({9, 6}, DType::BF16);
  });
  expect_refusal(valid, type, "sources is f32",
                 [&](PermuteDesc& desc) { desc.sources = tensor({9}); });
  expect_refusal(valid, Code::RoutingAliasing, "y overlaps x",
                 [](PermuteDesc& desc) { desc.x = must(desc.y.tensor().slice(0, 0, 4)); });
  EXPECT_TRUE(
      must(check(PermuteDesc{.x = tensor({0, 6}), .sources = indices({0}), .y = tensor({0, 6})},
                 context_))
          .is_empty());
}

// Rows without columns: as many of another width need gigabytes.
TEST_F(RoutingCheckTest, RefusesMoreIndicesThanTheirPlacesCount) {
  constexpr std::int64_t kMany = std::int64_t{1} << 31;
  const Code shape = Code::RoutingShapeMismatch;
  expect_refusal(PermuteDesc{.x = tensor({1, 0}), .sources = indices({9}), .y = tensor({9, 0})},
                 shape, "sources has 2147483648 elements", [&](PermuteDesc& desc) {
                   desc.sources = must(indices({}).repeated(kMany));
                   desc.y = tensor({kMany, 0});
                 });
  expect_refusal(UnpermuteDesc{.x = tensor({1, 0}), .rows = indices({4, 3}), .y = tensor({4, 0})},
                 shape, "rows has 2147483648 elements", [&](UnpermuteDesc& desc) {
                   desc.rows = must(indices({2}).repeated(kMany / 2));
                   desc.y = tensor({kMany / 2, 0});
                 });
}

TEST_F(RoutingCheckTest, RefusesUnpermutesThatDoNotFit) {
  const UnpermuteDesc valid{.x = tensor({9, 6}, DType::BF16),
                            .rows = indices({4, 3}),
                            .y = tensor({4, 6}, DType::F16),
                            .weights = tensor({4, 3})};
  const Code shape = Code::RoutingShapeMismatch, type = Code::RoutingTypeMismatch;
  const UnpermuteProblem problem = must(check(valid, context_));
  EXPECT_EQ(problem.flops(), 2 * 4 * 3 * 6);
  EXPECT_EQ(problem.bytes(), 12 * (6 * 2 + 8) + 4 * 6 * 2);
  expect_refusal(valid, shape, "weights is [4, 2], must be [4, 3]", [&](UnpermuteDesc& desc) {
    desc.weights = tensor({4, 2});
  });
  expect_refusal(valid, shape, "y is [5, 6], must be [4, 6]", [&](UnpermuteDesc& desc) {
    desc.y = tensor({5, 6});
  });
  expect_refusal(valid, shape, "rows has rank 1",
                 [&](UnpermuteDesc& desc) { desc.rows = indices({12}); });
  expect_refusal(valid, type, "x is i8", [&](UnpermuteDesc& desc) {
    desc.x = tensor({9, 6}, DType::I8);
  });
  expect_refusal(valid, type, "y is i32", [&](UnpermuteDesc& desc) { desc.y = indices({4, 6}); });
  expect_refusal(valid, type, "weights is f16", [&](UnpermuteDesc& desc) {
    desc.weights = tensor({4, 3}, DType::F16);
  });
  expect_refusal(valid, Code::InvalidTensor, "weights",
                 [](UnpermuteDesc& desc) { desc.weights = Tensor(); });
  expect_refusal(valid, Code::RoutingAliasing, "y overlaps weights", [&](UnpermuteDesc& desc) {
    desc.y = tensor({4, 6});
    desc.weights = must(desc.y.tensor().slice(1, 0, 3));
  });
}

TEST_F(RoutingCheckTest, IndicesMustNameRowsOfX) {
  const PermuteProblem permute = must(check(
      PermuteDesc{.x = tensor({4, 6}), .sources = indices({3}), .y = tensor({3, 6})}, context_));
  const std::int32_t good[] = {0, 3, 3}, over[] = {0, 4, -1}, under[] = {0, 3, -1};
  EXPECT_TRUE(testing::succeeded(check_indices(permute, good)));
  EXPECT_TRUE(refused(check_indices(permute, over), Code::RoutingIndex, "source 1 is 4, x has 4"));
  EXPECT_TRUE(refused(check_indices(permute, under), Code::RoutingIndex, "source 2 is -1"));
  const UnpermuteProblem unpermute = must(check(
      UnpermuteDesc{
          .x = tensor({4, 6}), .rows = must(indices({3, 3}).slice(1, 0, 1)), .y = tensor({3, 6})},
      context_));
  const std::int32_t strided[] = {0, 99, 99, 3, 99, 99, 4};
  EXPECT_TRUE(refused(check_indices(unpermute, strided), Code::RoutingIndex, "row [2, 0] is 4"));
}

}  // namespace
}  // namespace girih
