#include <array>
#include <gtest/gtest.h>

#include "support/case_lane.hpp"
#include "support/gemm.hpp"

// Products with few rows, or few columns: what a decoder's steps are made of. See gemm.cpp for how
// a case is run.

namespace girih::testing {
namespace {

using verify::GemmCase;
using verify::MatrixCase;
using verify::ResidualCase;
using verify::Sharing;

constexpr auto kTypes = std::to_array<ProductTypes>({{DType::F32, DType::F32},
                                                     {DType::F32, DType::BF16},
                                                     {DType::BF16, DType::BF16},
                                                     {DType::BF16, DType::F32},
                                                     {DType::F16, DType::F16},
                                                     {DType::F16, DType::F32},
                                                     {DType::I8, DType::I32},
                                                     {DType::I8, DType::BF16},
                                                     {DType::F8E4M3, DType::BF16},
                                                     {DType::F8E4M3, DType::F32},
                                                     {DType::F8E5M2, DType::F16},
                                                     {DType::F8E5M2, DType::F32}});

bool is_f8(DType type) {
  return type == DType::F8E4M3 || type == DType::F8E5M2;
}

class GemmSkinny : public CaseLaneTest<GemmCase> {
 protected:
  /// Only cuda has rows for 8-bit floats.
  void expect_where_served(GemmCase x) {
    if (is_f8(x.operands) && GetParam().backend != Backend::Cuda) return;
    expect(x);
  }
};

TEST_P(GemmSkinny, EveryNumberOfRowsInEveryTypeAndLayout) {
  struct Extents {
    std::int64_t n, k;
  };
  // Whole pieces of 16 bytes of every type; tails in K and N; neither.
  constexpr auto kExtents = std::to_array<Extents>({{256, 256}, {144, 400}, {45, 77}});
  std::uint64_t i = 0;
  for (std::int64_t m = 1; m <= 17; ++m) {
    for (const auto& [operands, output] : kTypes) {
      const auto [n, k] = kExtents[i % kExtents.size()];
      const MatrixCase b{.column_major = i / 3 % 2 != 0};
      expect_where_served(
          {.index = i, .m = m, .n = n, .k = k, .operands = operands, .output = output, .b = b});
      expect_where_served({.index = i,
                           .m = n,
                           .n = m,
                           .k = k,
                           .operands = operands,
                           .output = output,
                           .a = b,
                           .b = {.column_major = true}});
      ++i;
    }
  }
}

TEST_P(GemmSkinny, AnyStridesAndAlignment) {
  std::uint64_t i = 0;
  for (const auto& [operands, output] : kTypes) {
    for (const std::int64_t pad : {0, 1, 16}) {
      for (const std::int64_t offset : {0, 1, 8}) {
        for (const bool column_major : {false, true}) {
          const MatrixCase place{.step = i % 5 == 0 ? 2 : 1, .pad = pad, .offset = offset};
          GemmCase x{.index = i++,
                     .m = 6,
                     .n = 96,
                     .k = 144,
                     .operands = operands,
                     .output = output,
                     .a = place,
                     .b = place,
                     .c = place};
          x.b.column_major = column_major;
          x.c.column_major = i % 3 == 0;
          expect_where_served(x);
        }
      }
    }
  }
}

TEST_P(GemmSkinny, LongKIsAddedUpFromItsSlices) {
  std::uint64_t i = 0;
  for (const auto& [operands, output] : kTypes) {
    for (const std::int64_t n : {32, 129}) {
      for (const bool column_major : {false, true}) {
        expect_where_served({.index = i++,
                             .m = n == 32 ? 1 : 9,
                             .n = n,
                             .k = 6160,
                             .operands = operands,
                             .output = output,
                             .b = {.column_major = column_major}});
      }
    }
  }
}

TEST_P(GemmSkinny, TheWholeEpilogueOnEitherSide) {
  std::uint64_t i = 0;
  for (const auto& [operands, output] : kTypes) {
    if (output == DType::I32) continue;
    for (const bool has_few_rows : {true, false}) {
      expect_where_served({.index = i++,
                           .m = has_few_rows ? 5 : 96,
                           .n = has_few_rows ? 96 : 5,
                           .k = 160,
                           .operands = operands,
                           .output = output,
                           .b = {.column_major = !has_few_rows},
                           .alpha = -0.75F,
                           .beta = 0.5F,
                           .alpha_on_device = i % 2 == 0,
                           .bias = DType::BF16,
                           .bias_offset = 1,
                           .activation = Activation::GeluTanh,
                           .residual = ResidualCase::Separate,
                           .residual_type = DType::F32,
                           .a_scale = Granularity::PerRow,
                           .b_scale = Granularity::PerColumn});
      expect_where_served({.index = i,
                           .m = has_few_rows ? 3 : 64,
                           .n = has_few_rows ? 64 : 3,
                           .k = 48,
                           .operands = operands,
                           .output = output,
                           .gate = Gate{.activation = Activation::Silu, .limit = 7}});
    }
  }
}

TEST_P(GemmSkinny, BatchesAndSharedOperands) {
  std::uint64_t i = 0;
  for (const auto& [operands, output] : kTypes) {
    for (const Sharing sharing : {Sharing::Own, Sharing::Rank2, Sharing::Repeated}) {
      expect_where_served({.index = i++,
                           .m = 4,
                           .n = 64,
                           .k = 128,
                           .batch = 5,
                           .operands = operands,
                           .output = output,
                           .b = {.column_major = i % 2 == 0, .sharing = sharing}});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, GemmSkinny, ::testing::ValuesIn(lanes_of_rows_off_metal()),
                         lane_name);

/// A skinny row and one of its types.
struct SkinnyRow {
  UsableKernel kernel;
  DType operands;
};
std::vector<SkinnyRow> skinny_rows() {
  std::vector<SkinnyRow> rows;
  for (const Backend backend : tested_backends()) {
    for (const UsableKernel& kernel : usable_kernels(backend, Op::Gemm)) {
      for (int i = 0; kernel.info.skinny && i < kDTypeCount; ++i) {
        const auto type = static_cast<DType>(i);
        if (kernel.info.operands.has(type)) rows.push_back({kernel, type});
      }
    }
  }
  return rows;
}

TEST(GemmSkinnyBits, DependOnNoLayoutNoAlignmentAndNoSide) {
  constexpr std::int64_t kM = 11, kN = 144, kK = 1040;
  constexpr auto kInvariant = Reproducibility::RowInvariant;
  for (const auto& [kernel, operands] : skinny_rows()) {
    Runtime runtime = open(kernel.backend, {.force_kernel = std::string(kernel.info.name)});
    const Tensor a = random_tensor(runtime, {kM, kK}, operands, 1);
    const Tensor b = random_tensor(runtime, {kK, kN}, operands, 2);
    const auto column_major = [&](const Tensor& x, std::int64_t offset) {
      const Tensor room = must(runtime.tensor({x.extent(0) * x.extent(1) + offset}, x.dtype()));
      const Tensor stored = must(room.view({x.extent(1), x.extent(0)}, {x.extent(0), 1}, offset));
      must(copy(runtime, {.source = x.transposed(), .destination = stored}));
      return stored.transposed();
    };
    const auto expected = product(runtime, a, b, DType::F32, kInvariant);
    const std::string what = std::string(kernel.info.name) + " on " + std::string(name(operands));
    EXPECT_EQ(product(runtime, a, column_major(b, 0), DType::F32, kInvariant), expected) << what;
    EXPECT_EQ(product(runtime, a, column_major(b, 1), DType::F32, kInvariant), expected) << what;
    EXPECT_EQ(product(runtime, column_major(a, 0), b, DType::F32, kInvariant), expected) << what;
    for (const std::int64_t m : {1, 4, 8}) {  // kernels of fewer rows
      const auto top = product(runtime, must(a.slice(0, 0, m)), b, DType::F32, kInvariant);
      EXPECT_TRUE(std::equal(top.begin(), top.end(), expected.begin())) << what << ", " << m;
    }
    // C^T = B^T A^T, whose rows are the long side.
    const Tensor c = must(runtime.tensor({kM, kN}, DType::F32));
    must(gemm(runtime, {.a = column_major(b, 0).transposed(),
                        .b = a.transposed(),
                        .c = c.transposed(),
                        .reproducibility = kInvariant}));
    EXPECT_EQ(bytes_of(runtime, c), expected) << what << ", sides exchanged";
  }
}

}  // namespace
}  // namespace girih::testing
