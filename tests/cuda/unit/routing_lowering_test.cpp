#include <gtest/gtest.h>
#include <optional>
#include <vector>

#include "backends/cuda/kernels/routing_kernels.hpp"
#include "cuda/unit/lowering.hpp"

// What routing, and moves of the rows that it chose, hand to their kernels.

namespace girih::testing {
namespace {

using cuda::IndexCheckParams;
using cuda::PermuteParams;
using cuda::RouteParams;
using cuda::UnpermuteParams;

constexpr std::int64_t kTokens = 60, kRows = 150, kColumns = 64, kChosen = 2, kExperts = 12;

struct Launches final : cuda::LaunchSink {
  Status add(const cuda::Launch& launch) noexcept override {
    functions.push_back(launch.function);
    grids.push_back(launch.grid.x);
    if (launch.function == cuda::index_check_kernel()) {
      check = *static_cast<const IndexCheckParams*>(launch.params);
    } else if (launch.function == cuda::permute_kernel()) {
      permute = *static_cast<const PermuteParams*>(launch.params);
    } else if (launch.function == cuda::unpermute_kernel()) {
      unpermute = *static_cast<const UnpermuteParams*>(launch.params);
    } else {
      route = *static_cast<const RouteParams*>(launch.params);
    }
    return {};
  }
  std::vector<const void*> functions;
  std::vector<unsigned> grids;
  std::optional<IndexCheckParams> check;
  std::optional<PermuteParams> permute;
  std::optional<UnpermuteParams> unpermute;
  std::optional<RouteParams> route;
};

template <class T>
T* at(std::uintptr_t number) {
  return reinterpret_cast<T*>(address(number));
}

/// Problems that tensors state; the addresses are others.
class CudaRoutingLowering : public ::testing::Test {
 protected:
  Tensor tensor(const Shape& shape, DType dtype) { return must(runtime_.tensor(shape, dtype)); }

  PermuteProblem permuting() {
    return must(check(PermuteDesc{.x = tensor({kTokens, kColumns}, DType::BF16),
                                  .sources = tensor({kRows}, DType::I32),
                                  .y = tensor({kRows, kColumns}, DType::BF16)},
                      check_context_));
  }
  UnpermuteProblem unpermuting() {
    return must(check(UnpermuteDesc{.x = tensor({kRows, kColumns}, DType::BF16),
                                    .rows = tensor({kTokens, kChosen}, DType::I32),
                                    .y = tensor({kTokens, kColumns}, DType::F32),
                                    .weights = tensor({kTokens, kChosen}, DType::F32)},
                      check_context_));
  }
  RouteProblem routing(std::int64_t tokens) {
    return must(check(RouteDesc{.logits = tensor({tokens, kExperts}, DType::F32),
                                .chosen = tensor({tokens, kChosen}, DType::I32),
                                .weights = tensor({tokens, kChosen}, DType::F32),
                                .offsets = tensor({kExperts + 1}, DType::I32),
                                .rows = tensor({tokens, kChosen}, DType::I32),
                                .sources = tensor({tokens * kChosen}, DType::I32)},
                      check_context_));
  }
  template <class Call>
  Launches lower(const Call& call) {
    Launches record;
    must(cuda::lower(call, {.multiprocessors = 132, .finding = &finding_}, record));
    return record;
  }
  Launches lower(const PermuteProblem& problem, const std::byte* x = address(1),
                 std::byte* y = address(3)) {
    return lower(
        PermuteCall{problem, {.x = x, .sources = at<std::int32_t>(2), .y = y}, {}, address(4)});
  }
  Launches lower(const UnpermuteProblem& problem, const std::byte* x = address(1),
                 std::byte* y = address(3)) {
    return lower(
        UnpermuteCall{problem,
                      {.x = x, .indices = at<std::int32_t>(2), .weights = at<float>(5), .y = y},
                      {},
                      address(4)});
  }
  /// Of the check that ran before, by the kernel that moves the rows.
  void expect_check(const Launches& record, const cuda::IndexCheck& known, std::int64_t limit) {
    ASSERT_EQ(record.functions.size(), 2U);
    ASSERT_EQ(record.functions[0], cuda::index_check_kernel());
    const IndexCheckParams& check = record.check.value();
    EXPECT_EQ(check.indices.data, address(2));
    EXPECT_EQ(check.limit, limit);
    EXPECT_EQ(known.limit, limit);
    EXPECT_EQ(known.found, check.found);
    EXPECT_EQ(static_cast<const void*>(known.found), address(4));
    EXPECT_EQ(known.blocks, static_cast<std::int32_t>(record.grids[0]));
    EXPECT_EQ(known.finding, &finding_);
  }

  Runtime runtime_ = must(Runtime::open({.backend = Backend::Cpu}));
  CheckContext check_context_{.runtime = runtime_.id()};
  cuda::Finding finding_;
};

TEST_F(CudaRoutingLowering, SourcesAreRowsOfX) {
  const Launches record = lower(permuting());
  const PermuteParams& p = record.permute.value();
  expect_check(record, p.check, kTokens);
  EXPECT_EQ(p.check.kind, cuda::FindingKind::Source);
  EXPECT_EQ(record.check->rows * record.check->columns, kRows);
  EXPECT_EQ(p.rows, kRows);
  EXPECT_EQ(p.columns, kColumns);
  EXPECT_EQ(p.x.data, address(1));
  EXPECT_EQ(p.y.data, address(3));
}

TEST_F(CudaRoutingLowering, IndicesOfTokensAreRowsOfXToo) {
  const Launches record = lower(unpermuting());
  const UnpermuteParams& p = record.unpermute.value();
  expect_check(record, p.check, kRows);
  EXPECT_EQ(p.check.kind, cuda::FindingKind::Row);
  EXPECT_EQ(p.check.per, kChosen);
  EXPECT_EQ(record.check->rows, kTokens);
  EXPECT_EQ(record.check->columns, kChosen);
  EXPECT_EQ(p.tokens, kTokens);
  EXPECT_EQ(p.weights.data, address(5));
}

TEST_F(CudaRoutingLowering, PiecesOf16BytesAreMovedWhereBothSidesHaveThem) {
  const PermuteProblem good = permuting();
  ASSERT_TRUE(lower(good).permute->in_pieces);
  EXPECT_FALSE(lower(good, address(1) + 8).permute->in_pieces) << "x begins inside one";
  EXPECT_FALSE(lower(good, address(1), address(3) + 2).permute->in_pieces) << "y does";
  for (RowsLayout PermuteProblem::*side : {&PermuteProblem::x, &PermuteProblem::y}) {
    PermuteProblem problem = good;
    (problem.*side).row_stride = kColumns + 4;
    EXPECT_FALSE(lower(problem).permute->in_pieces) << "the next row does";
    problem = good;
    (problem.*side).column_stride = 2;
    EXPECT_FALSE(lower(problem).permute->in_pieces) << "columns apart";
  }
  PermuteProblem problem = good;
  problem.columns = kColumns - 4;
  EXPECT_FALSE(lower(problem).permute->in_pieces) << "the last one is cut";
}

TEST_F(CudaRoutingLowering, EachSideOfASumHasPiecesOrNot) {
  const UnpermuteProblem good = unpermuting();
  const auto pieces = [](const Launches& record) {
    return std::pair{record.unpermute->x_in_pieces, record.unpermute->y_in_pieces};
  };
  ASSERT_EQ(pieces(lower(good)), std::pair(true, true));
  EXPECT_EQ(pieces(lower(good, address(1) + 2)), std::pair(false, true));
  EXPECT_EQ(pieces(lower(good, address(1), address(3) + 4)), std::pair(true, false));
  UnpermuteProblem problem = good;
  problem.x.row_stride = kColumns + 1;
  EXPECT_EQ(pieces(lower(problem)), std::pair(false, true));
  problem = good;
  problem.y.row_stride = kColumns + 1;
  EXPECT_EQ(pieces(lower(problem)), std::pair(true, false));
}

TEST_F(CudaRoutingLowering, PartsHaveEveryTokenOnce) {
  for (const std::int64_t tokens : {1, 7, 8, 100, 4099}) {
    const RouteProblem problem = routing(tokens);
    const RouteSelection selection = must(select(problem, {.device = find_fixture("h200"),
                                                           .kernels = cuda::kernel_table(),
                                                           .threads = 1,
                                                           .forced_kernel = ""}));
    const Launches record = lower(RouteCall{problem,
                                            {.logits = address(1),
                                             .chosen = at<std::int32_t>(2),
                                             .weights = at<float>(3),
                                             .offsets = at<std::int32_t>(5),
                                             .rows = at<std::int32_t>(6),
                                             .sources = at<std::int32_t>(7)},
                                            selection,
                                            address(4)});
    const RouteParams& p = record.route.value();
    EXPECT_EQ(p.parts * p.least_tokens + p.longer_parts, tokens);
    EXPECT_LT(p.longer_parts, p.parts);
    EXPECT_GE(p.longer_parts, 0);
    EXPECT_EQ(record.functions,
              (std::vector<const void*>{cuda::route_choose_kernel(), cuda::route_scan_kernel(),
                                        cuda::route_place_kernel()}));
    const auto parts = static_cast<unsigned>(p.parts);
    EXPECT_EQ(record.grids, (std::vector<unsigned>{parts, 1, parts}));
    EXPECT_EQ(static_cast<const void*>(p.counts), address(4));
    EXPECT_GE(selection.workspace_bytes, 4 * p.parts * kExperts);
  }
}

}  // namespace
}  // namespace girih::testing
