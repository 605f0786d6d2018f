#include "reference/grouped.hpp"

#include <gtest/gtest.h>

#include "support/expect.hpp"

// The oracle against sums written out here, on whole numbers that double holds exactly.

namespace girih {
namespace {

using testing::must;

template <class T>
const std::byte* bytes(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}
template <class T>
std::byte* bytes(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}
std::vector<float> numbers(std::size_t count, int seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((static_cast<int>(i) * 7 + seed * 5) % 11 - 5);
  }
  return values;
}
Geometry dense(const Shape& shape) {
  return {DType::F32, shape, contiguous_strides(shape), 0};
}

constexpr std::size_t kRows = 7, kN = 3, kK = 2, kGroups = 3;
const std::vector<std::int32_t> kOffsets = {1, 3, 3, 6};

TEST(GroupedReferenceTest, RowsGoToTheirGroupsMatrixBiasAndScale) {
  const std::vector<float> a = numbers(kRows * kK, 1), b = numbers(kGroups * kK * kN, 2);
  std::vector<float> c = numbers(kRows * kN, 3);
  const std::vector<float> bias = numbers(kGroups * kN, 4), scale = numbers(kGroups, 5);
  const std::vector<float> a_scale = numbers(kRows, 6), residual = numbers(kRows * kN, 7);
  GroupedGemmSpec spec{.product = {.a = dense({kRows, kK}),
                                   .b = dense({kGroups, kK, kN}),
                                   .c = dense({kRows, kN}),
                                   .bias = dense({kGroups, kN}),
                                   .residual = dense({kRows, kN}),
                                   .a_scale = dense({kRows}),
                                   .b_scale = dense({kGroups}),
                                   .a_granularity = Granularity::PerRow,
                                   .beta = {.value = 2}},
                       .offsets = {DType::I32, {kGroups + 1}, {1}, 0}};
  const GemmOperands operands{.a = bytes(a),
                              .b = bytes(b),
                              .c = bytes(c),
                              .bias = bytes(bias),
                              .residual = bytes(residual),
                              .a_scale = a_scale.data(),
                              .b_scale = scale.data()};
  const GroupedGemmReference result =
      reference_grouped_gemm(must(check(spec)), {operands, kOffsets.data()}, Backend::Cpu);
  const int group_of_row[kRows] = {-1, 0, 0, 2, 2, 2, -1};
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kN; ++j) {
      ASSERT_EQ(result.is_written[i * kN + j], group_of_row[i] >= 0) << i;
      if (group_of_row[i] < 0) continue;
      const auto g = static_cast<std::size_t>(group_of_row[i]);
      double sum = 0;
      for (std::size_t k = 0; k < kK; ++k) {
        sum += double(a[i * kK + k]) * double(b[(g * kK + k) * kN + j]);
      }
      const double terms =
          2 * double(c[i * kN + j]) + double(bias[g * kN + j]) + double(residual[i * kN + j]);
      EXPECT_EQ(result.value[i * kN + j], double(a_scale[i]) * double(scale[g]) * sum + terms)
          << i << ", " << j;
    }
  }
}

TEST(GroupedReferenceTest, DepthGivesEachGroupItsOwnSumAndTerms) {
  constexpr std::size_t kM = 4;
  const std::vector<float> a = numbers(kM * kRows, 1), b = numbers(kRows * kN, 2);
  std::vector<float> c = numbers(kGroups * kM * kN, 3);
  const std::vector<float> bias = numbers(kGroups * kN, 4), residual = numbers(c.size(), 5);
  const std::vector<float> a_scale = numbers(kGroups * kM, 6), b_scale = numbers(kGroups * kN, 7);
  GroupedGemmSpec spec{.product = {.a = dense({kM, kRows}),
                                   .b = dense({kRows, kN}),
                                   .c = dense({kGroups, kM, kN}),
                                   .bias = dense({kGroups, kN}),
                                   .residual = dense({kGroups, kM, kN}),
                                   .a_scale = dense({kGroups, kM}),
                                   .b_scale = dense({kGroups, kN}),
                                   .a_granularity = Granularity::PerRow,
                                   .b_granularity = Granularity::PerColumn,
                                   .beta = {.value = 1}},
                       .offsets = {DType::I32, {kGroups + 1}, {2}, 0}};
  const GemmOperands operands{.a = bytes(a),
                              .b = bytes(b),
                              .c = bytes(c),
                              .bias = bytes(bias),
                              .residual = bytes(residual),
                              .a_scale = a_scale.data(),
                              .b_scale = b_scale.data()};
  std::vector<std::int32_t> apart;
  for (const std::int32_t offset : kOffsets) apart.insert(apart.end(), {offset, -1});
  const GroupedGemmReference result =
      reference_grouped_gemm(must(check(spec)), {operands, apart.data()}, Backend::Cpu);
  for (std::size_t g = 0; g < kGroups; ++g) {
    for (std::size_t i = 0; i < kM; ++i) {
      for (std::size_t j = 0; j < kN; ++j) {
        const std::size_t at = (g * kM + i) * kN + j;
        double sum = 0;
        for (auto k = std::size_t(kOffsets[g]); k < std::size_t(kOffsets[g + 1]); ++k) {
          sum += double(a[i * kRows + k]) * double(b[k * kN + j]);
        }
        const double factors = double(a_scale[g * kM + i]) * double(b_scale[g * kN + j]);
        EXPECT_EQ(result.value[at],
                  factors * sum + double(c[at]) + double(bias[g * kN + j]) + double(residual[at]))
            << g << ", " << i << ", " << j;
        EXPECT_TRUE(result.is_written[at]);
      }
    }
  }
}

}  // namespace
}  // namespace girih
