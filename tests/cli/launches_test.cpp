#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "backends/cuda/device.hpp"
#include "girih/bench_launches.hpp"
#include "support/expect.hpp"

// The search for launches, up to where it needs a device.

namespace girih::testing {
namespace {

using namespace cli;

SelectionContext context() {
  return {.device = find_fixture("h200"),
          .kernels = cuda::kernel_table(),
          .threads = 1,
          .forced_kernel = ""};
}

GemmProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1,
                       bool a_transposed = false, bool b_transposed = false,
                       Reproducibility reproducibility = Reproducibility::PerShape) {
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    Geometry geometry{DType::BF16, Shape(batch, rows, columns), {}, 0};
    geometry.strides[0] = rows * columns;
    geometry.strides[1] = transposed ? 1 : columns;
    geometry.strides[2] = transposed ? rows : 1;
    return geometry;
  };
  return must(girih::check(GemmSpec{.a = matrix(m, k, a_transposed),
                                    .b = matrix(k, n, b_transposed),
                                    .c = matrix(m, n, false),
                                    .reproducibility = reproducibility}));
}

bool is_same_form(const GemmSelection& a, const GemmSelection& b) {
  return a.kernel == b.kernel && a.split_k == b.split_k && a.split_kind == b.split_kind &&
         a.cluster_rows == b.cluster_rows && a.cluster_columns == b.cluster_columns &&
         a.swaps_sides == b.swaps_sides && a.workspace_bytes == b.workspace_bytes;
}

TEST(Launches, HoldEachFormOnceFastestPredictedFirst) {
  const GemmProblem problem = problem_of(1000, 776, 4096);
  const std::vector<GemmSelection> launches = must(launches_to_time(problem, context(), 100000));
  ASSERT_GT(launches.size(), 100U);
  EXPECT_FALSE(launches[0].is_tuned);
  EXPECT_TRUE(is_same_form(launches[0], launches[1]));
  for (std::size_t i = 2; i < launches.size(); ++i) {
    EXPECT_LE(launches[i - 1].predicted_seconds, launches[i].predicted_seconds);
    for (std::size_t j = 1; j < i; ++j) {
      ASSERT_FALSE(is_same_form(launches[i], launches[j])) << i << " and " << j;
    }
  }
  EXPECT_EQ(must(launches_to_time(problem, context(), 10)).size(), 11U);
}

TEST(Launches, SplitNothingUnderRowInvariance) {
  const auto splits = [](Reproducibility reproducibility) {
    const GemmProblem problem = problem_of(64, 320, 32768, 1, false, false, reproducibility);
    const std::vector<GemmSelection> launches = must(launches_to_time(problem, context(), 100000));
    return std::count_if(launches.begin(), launches.end(),
                         [](const GemmSelection& each) { return each.split_k > 1; });
  };
  EXPECT_GT(splits(Reproducibility::PerShape), 0);
  EXPECT_EQ(splits(Reproducibility::RowInvariant), 0);
}

TEST(Launches, AreWrittenAsTheTableHasThem) {
  std::ifstream table(GIRIH_TUNED_TABLE);
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    std::array<long long, 4> extents{};
    std::array<char, 3> a_major{};
    std::array<char, 3> b_major{};
    if (std::sscanf(line.c_str(), "GIRIH_CUDA_TUNED(%lld, %lld, %lld, %lld, %2[KMN], %2[KMN],",
                    &extents[0], &extents[1], &extents[2], &extents[3], a_major.data(),
                    b_major.data()) != 6) {
      continue;
    }
    const GemmProblem problem = problem_of(extents[0], extents[1], extents[2], extents[3],
                                           std::string_view(a_major.data()) == "MN",
                                           std::string_view(b_major.data()) == "K");
    EXPECT_EQ(tuned_row(problem, must(select(problem, context()))), line);
    ++rows;
  }
  EXPECT_GT(rows, 50);
}

}  // namespace
}  // namespace girih::testing
