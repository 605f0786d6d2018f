#include <array>
#include <gtest/gtest.h>

#include "support/case_lane.hpp"
#include "support/gemm.hpp"
#include "verify/bound_grouped.hpp"

// Grouped products on guarded operands, see verify/case.hpp. Replays have other offsets than the
// capture.

namespace girih::testing {
namespace {

using verify::CaseReport;
using verify::Contents;
using verify::GemmCase;
using verify::grouped;
using verify::GroupedCase;
using verify::Lengths;
using verify::MatrixCase;
using verify::ResidualCase;
using verify::Sharing;

constexpr auto kTypes = std::to_array<ProductTypes>({{DType::F32, DType::F32},
                                                     {DType::BF16, DType::BF16},
                                                     {DType::BF16, DType::F32},
                                                     {DType::F16, DType::F16},
                                                     {DType::I8, DType::I32},
                                                     {DType::I8, DType::BF16}});
constexpr auto kExtents = std::to_array<GroupedExtent>({GroupedExtent::Rows, GroupedExtent::Depth});
constexpr auto kLengths = std::to_array<Lengths>(
    {Lengths::Ragged, Lengths::Even, Lengths::OneHasAll, Lengths::AllEmpty, Lengths::Short});

class GroupedGrid : public CaseLaneTest<GroupedCase, Kernels::NotOnMetal> {
 protected:
  void expect_both(const GemmCase& rows, const GemmCase& depth, Lengths lengths) {
    expect(grouped(rows, GroupedExtent::Rows, lengths));
    expect(grouped(depth, GroupedExtent::Depth, lengths));
  }
};

TEST_P(GroupedGrid, EveryKindOfLengthsInEveryType) {
  std::uint64_t index = 0;
  for (const auto& [operands, output] : kTypes) {
    for (const Lengths lengths : kLengths) {
      for (const std::int64_t groups : {1, 3, 17}) {
        const GemmCase rows{.index = ++index,
                            .m = 75,
                            .n = 45,
                            .k = 33,
                            .batch = groups,
                            .operands = operands,
                            .output = output,
                            .c = {.pad = 1}};
        GemmCase depth = rows;
        depth.m = 21;
        depth.k = 90;
        expect_both(rows, depth, lengths);
      }
    }
  }
}

TEST_P(GroupedGrid, EveryLayout) {
  for (int bits = 0; bits < 16; ++bits) {
    const auto layout = [&](int bit, std::int64_t pad) {
      return MatrixCase{.column_major = (bits >> bit & 1) != 0, .pad = pad, .offset = bit};
    };
    GemmCase x{.index = static_cast<std::uint64_t>(bits),
               .m = 50,
               .n = 37,
               .k = 40,
               .batch = 4,
               .operands = bits % 2 != 0 ? DType::F32 : DType::BF16,
               .a = layout(0, 1),
               .b = layout(1, 3),
               .c = layout(2, 2)};
    x.b.batch_gap = 5;
    if ((bits & 8) != 0) x.a.step = x.b.step = 2;
    expect_both(x, x, Lengths::Ragged);
  }
  const GemmCase shared{.m = 50, .n = 37, .k = 40, .batch = 4, .b = {.sharing = Sharing::Repeated}};
  expect(grouped(shared, GroupedExtent::Rows));
}

TEST_P(GroupedGrid, EveryTermOfTheEpilogue) {
  std::uint64_t index = 0;
  for (const auto& [operands, output] : kTypes) {
    if (output == DType::I32) continue;
    for (const bool per_group : {false, true}) {
      for (const ResidualCase residual :
           {ResidualCase::None, ResidualCase::Separate, ResidualCase::SameAsC}) {
        const GemmCase x{
            .index = ++index,
            .m = 61,
            .n = 34,
            .k = 52,
            .batch = 5,
            .operands = operands,
            .output = output,
            .alpha = 0.75F,
            .beta = index % 2 != 0 ? -0.5F : 0.0F,
            .alpha_on_device = index % 3 == 0,
            .bias = DType::F32,
            .bias_per_batch = per_group,
            .bias_offset = 1,
            .activation = Activation::Silu,
            .residual = residual,
            .residual_type = residual == ResidualCase::SameAsC ? output : DType::F16,
            .a_scale = index % 2 != 0 ? Granularity::PerRow : Granularity::PerTensor,
            .b_scale = index % 3 != 0 ? Granularity::PerColumn : Granularity::PerTensor,
            .scales_per_batch = per_group};
        expect_both(x, x, Lengths::Ragged);
      }
    }
  }
}

TEST_P(GroupedGrid, Gates) {
  for (const GateOrder order : {GateOrder::Concatenated, GateOrder::Interleaved}) {
    for (const bool per_group : {false, true}) {
      const GemmCase x{.m = 44,
                       .n = 25,
                       .k = 300,
                       .batch = 3,
                       .operands = DType::BF16,
                       .output = DType::BF16,
                       .bias = DType::BF16,
                       .bias_per_batch = per_group,
                       .gate = Gate{.order = order, .limit = 2},
                       .b_scale = Granularity::PerColumn,
                       .scales_per_batch = per_group};
      expect_both(x, x, Lengths::Ragged);
    }
  }
}

TEST_P(GroupedGrid, ManyGroups) {
  for (const Lengths lengths : kLengths) {
    expect(grouped({.m = 3000, .n = 19, .k = 12, .batch = 512}, GroupedExtent::Rows, lengths));
    expect(grouped({.m = 9, .n = 11, .k = 1500, .batch = 512, .beta = 1}, GroupedExtent::Depth,
                   lengths));
  }
}

// Long ones run on all threads, short ones beside each other; K takes several steps.
TEST_P(GroupedGrid, LongGroupsAmongShortOnes) {
  for (const Lengths lengths : {Lengths::Short, Lengths::Ragged, Lengths::OneHasAll}) {
    expect(grouped({.m = 420, .n = 150, .k = 700, .batch = 12, .operands = DType::BF16},
                   GroupedExtent::Rows, lengths));
    expect(grouped({.m = 130, .n = 150, .k = 900, .batch = 12, .operands = DType::BF16},
                   GroupedExtent::Depth, lengths));
  }
}

TEST_P(GroupedGrid, ExtentsOfNothing) {
  for (const std::int64_t groups : {0, 1, 4}) {
    for (const std::int64_t k : {0, 5}) {
      for (const std::int64_t m : {0, 3}) {
        for (const std::int64_t n : {0, 7}) {
          for (const float beta : {0.0F, 1.0F}) {
            const GemmCase x{
                .m = m, .n = n, .k = k, .batch = groups, .beta = beta, .bias = DType::F32};
            expect_both(x, x, Lengths::Ragged);
          }
        }
      }
    }
  }
  const GemmCase unread{.m = 30, .n = 7, .k = 20, .batch = 3, .alpha = 0, .beta = 1};
  expect_both(unread, unread, Lengths::Ragged);
}

TEST_P(GroupedGrid, EveryKindOfContents) {
  for (const Contents contents :
       {Contents::Wide, Contents::Cancelling, Contents::Special, Contents::Lowest}) {
    const GemmCase x{.m = 60, .n = 20, .k = 70, .batch = 4, .contents = contents};
    expect_both(x, x, Lengths::Ragged);
  }
}

GIRIH_FOR_ALL_LANES(GroupedGrid);

// 120 cases of a fixed seed; `girih verify --op grouped_gemm` runs more, of any seed.
class GroupedFuzzQuick : public LaneTest {};

TEST_P(GroupedFuzzQuick, Passes) {
  constexpr std::uint64_t kSeed = 20261130;
  int refused = 0;
  for (std::uint64_t i = 0; i < 120; ++i) {
    const GroupedCase x = verify::make_grouped_case(kSeed, i);
    const CaseReport report = verify::run_case(runtime_, x, mode());
    const DType operands = x.product.operands;
    const bool is_eighth = operands == DType::F8E4M3 || operands == DType::F8E5M2;
    refused += report.outcome == CaseReport::Outcome::Refused && !is_eighth ? 1 : 0;
    EXPECT_FALSE(report.failed()) << x.to_string() << "\n  on " << report.kernel << ": "
                                  << report.detail << "\n  again: girih verify --op grouped_gemm "
                                  << "--seed " << kSeed << " --case " << i;
  }
  if (runtime_.backend() == Backend::Cpu) {
    EXPECT_LE(refused, 9);  // tf32, one in 12 cases of f32
  }
}

GIRIH_FOR_ALL_LANES(GroupedFuzzQuick);

/// Operands that tensor copies can read, so that matrix rows on a GPU take them.
GemmCase aligned(std::uint64_t index) {
  return {.index = index,
          .m = 200,
          .n = 264,
          .k = 136,
          .batch = 7,
          .operands = index % 2 != 0 ? DType::F16 : DType::BF16,
          .output = index % 3 == 0   ? DType::F32
                    : index % 2 != 0 ? DType::F16
                                     : DType::BF16};
}

class GroupedRows : public BackendTest {};

TEST_P(GroupedRows, EveryRowThatServesGroupsIsRun) {
  std::vector<UsableKernel> rows = usable_kernels(GetParam(), Op::GroupedGemm);
  for (const UsableKernel& kernel : usable_kernels(GetParam(), Op::Gemm)) {
    if (kernel.info.groups) rows.push_back(kernel);
  }
  for (const UsableKernel& kernel : rows) {
    Runtime runtime = open(GetParam(), {.force_kernel = std::string(kernel.info.name)});
    int passed = 0;
    for (std::uint64_t i = 0; i < 44; ++i) {
      const GroupedCase x =
          i < 40 ? verify::make_grouped_case(9, i) : grouped(aligned(i), GroupedExtent::Rows);
      const CaseReport report = verify::run_case(runtime, x, static_cast<verify::Mode>(i % 3),
                                                 grouped_gemm, verify::Refusals::OfTheRow);
      EXPECT_FALSE(report.failed())
          << x.to_string() << "\n  on " << kernel.info.name << ": " << report.detail;
      if (report.outcome != CaseReport::Outcome::Passed) continue;
      EXPECT_EQ(report.kernel, kernel.info.name);
      ++passed;
    }
    EXPECT_GT(passed, 2) << kernel.info.name;
  }
}

GIRIH_FOR_ALL_BACKENDS(GroupedRows);

class GroupedMatrix : public CaseLaneTest<GroupedCase, Kernels::NotOnMetal> {};

TEST_P(GroupedMatrix, EveryLayoutAndLength) {
  std::uint64_t index = 0;
  for (int bits = 0; bits < 4; ++bits) {
    for (const Lengths lengths : kLengths) {
      GemmCase x = aligned(++index);
      x.a.column_major = (bits & 1) != 0;
      x.b.column_major = (bits & 2) != 0;
      expect(grouped(x, GroupedExtent::Rows, lengths));
      std::swap(x.m, x.k);
      expect(grouped(x, GroupedExtent::Depth, lengths));
    }
  }
}

TEST_P(GroupedMatrix, EveryTermOfTheEpilogue) {
  for (std::uint64_t index = 1; index <= 16; ++index) {
    GemmCase x = aligned(index);
    if (index % 2 != 0) x.bias = DType::F32;
    x.bias_per_batch = index % 4 == 1;
    x.activation = static_cast<Activation>(index % 4);
    if (index % 3 == 1) x.beta = 0.5F;
    if (index % 5 == 1) x.residual = ResidualCase::Separate, x.residual_type = DType::BF16;
    if (index % 7 == 1) x.b_scale = Granularity::PerColumn, x.scales_per_batch = true;
    if (index % 8 == 1) x.a_scale = Granularity::PerRow;
    if (index % 6 == 1) x.c.pad = 3;
    x.alpha = 0.75F;
    x.alpha_on_device = index % 4 == 0;
    expect(grouped(x, GroupedExtent::Rows, Lengths::Ragged));
    std::swap(x.m, x.k);
    expect(grouped(x, GroupedExtent::Depth, Lengths::Ragged));
  }
}

TEST_P(GroupedMatrix, Gates) {
  for (std::uint64_t index = 1; index <= 16; ++index) {
    GemmCase x = aligned(index);
    x.n = 152;
    x.b.column_major = index % 2 != 0;
    x.gate = Gate{.order = index / 2 % 2 != 0 ? GateOrder::Concatenated : GateOrder::Interleaved,
                  .limit = 2,
                  .up_offset = 1};
    if (index % 4 < 2) x.bias = DType::F32, x.bias_per_batch = true;
    if (index > 8) x.b_scale = Granularity::PerColumn;
    if (index > 12) x.residual = ResidualCase::Separate, x.residual_type = DType::F32;
    expect(grouped(x, GroupedExtent::Rows, Lengths::Ragged));
  }
}

TEST_P(GroupedMatrix, ManyShortGroups) {
  GemmCase x = aligned(1);
  x.m = 5000;
  x.n = 64;
  x.k = 72;
  x.batch = 512;
  for (const Lengths lengths : {Lengths::Ragged, Lengths::Short}) {
    expect(grouped(x, GroupedExtent::Rows, lengths));
  }
}

GIRIH_FOR_ALL_LANES(GroupedMatrix);

}  // namespace
}  // namespace girih::testing
