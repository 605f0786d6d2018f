#include <array>
#include <gtest/gtest.h>
#include <limits>

#include "support/case_lane.hpp"
#include "verify/bound_permute.hpp"
#include "verify/bound_route.hpp"

// Routing, permutes and un-permutes on guarded operands, see verify/case.hpp. Replays have other
// logits and indices than the capture.

namespace girih::testing {
namespace {

using verify::CaseReport;
using verify::Logits;
using verify::PermuteCase;
using verify::RouteCase;
using verify::StridedCase;

constexpr auto kFloats = std::to_array<DType>({DType::F32, DType::BF16, DType::F16});
constexpr auto kTypes = std::to_array<DType>({DType::F32, DType::BF16, DType::F16, DType::I32,
                                              DType::F8E4M3, DType::F8E5M2, DType::I8, DType::U8});

class RouteGrid : public CaseLaneTest<RouteCase, Kernels::NotOnMetal> {};

TEST_P(RouteGrid, EveryTypeKindAndContents) {
  std::uint64_t index = 0;
  for (const DType dtype : kFloats) {
    for (int kind = 0; kind < 4; ++kind) {
      for (int contents = 0; contents < 6; ++contents) {
        for (const std::int64_t k : {1, 2, 8}) {
          expect({.index = ++index,
                  .tokens = 37,
                  .experts = 33,
                  .k = k,
                  .dtype = dtype,
                  .kind = static_cast<RouterWeights>(kind),
                  .scale = index % 2 != 0 ? 1.0F : 2.5F,
                  .contents = static_cast<Logits>(contents)});
        }
      }
    }
  }
}

TEST_P(RouteGrid, RaggedExtents) {
  for (const std::int64_t tokens : {0, 1, 2, 63, 64, 65, 257}) {
    for (const std::int64_t experts : {1, 2, 8, 255, 256, 257, 513}) {
      for (const std::int64_t k : {std::int64_t{1}, std::min<std::int64_t>(experts, 6), experts}) {
        if (tokens * experts * k > 10'000'000) continue;
        expect({.tokens = tokens, .experts = experts, .k = k});
      }
    }
  }
}

TEST_P(RouteGrid, EveryLayout) {
  for (int bits = 0; bits < 16; ++bits) {
    const auto layout = [&](bool turned) {
      StridedCase x{.step = (bits & 4) != 0 ? 2 : 1, .pad = bits % 3, .offset = bits % 5};
      if (turned) std::swap(x.order[0], x.order[1]);
      return x;
    };
    RouteCase x{.tokens = 70,
                .experts = 300,
                .k = 5,
                .dtype = bits % 2 != 0 ? DType::F32 : DType::BF16,
                .logits = layout((bits & 1) != 0),
                .written = layout((bits & 2) != 0),
                .lists = layout(false)};
    x.logits.repeats_outermost = bits >= 8;
    expect(x);
  }
}

// Enough work for several threads and parts.
TEST_P(RouteGrid, ManyTokens) {
  for (const Logits contents : {Logits::Uniform, Logits::Ties, Logits::Sorted}) {
    expect({.tokens = 3000, .experts = 64, .k = 8, .dtype = DType::BF16, .contents = contents});
  }
}

GIRIH_FOR_ALL_LANES(RouteGrid);

class PermuteGrid : public CaseLaneTest<PermuteCase, Kernels::NotOnMetal> {};

TEST_P(PermuteGrid, EveryTypeAndRaggedWidth) {
  std::uint64_t index = 0;
  for (const DType dtype : kTypes) {
    for (const std::int64_t columns : {0, 1, 7, 255, 256, 257, 1000}) {
      for (const std::int64_t rows : {0, 1, 65}) {
        expect({.index = ++index,
                .op = Op::Permute,
                .x_rows = 19,
                .y_rows = rows,
                .columns = columns,
                .x_type = dtype,
                .y_type = dtype,
                .is_special = true});
      }
    }
  }
}

TEST_P(PermuteGrid, UnpermutesEveryPairOfTypes) {
  std::uint64_t index = 0;
  for (const DType from : kFloats) {
    for (const DType to : kFloats) {
      for (const std::int64_t k : {0, 1, 2, 8}) {
        for (const std::int64_t columns : {1, 255, 256, 600}) {
          for (const bool weighted : {true, false}) {
            expect({.index = ++index,
                    .op = Op::Unpermute,
                    .x_rows = 50,
                    .y_rows = 23,
                    .k = k,
                    .columns = columns,
                    .x_type = from,
                    .y_type = to,
                    .has_weights = weighted,
                    .is_special = index % 4 == 0});
          }
        }
      }
    }
  }
}

TEST_P(PermuteGrid, EveryLayout) {
  for (const Op op : {Op::Permute, Op::Unpermute}) {
    for (int bits = 0; bits < 16; ++bits) {
      const auto layout = [&](bool turned) {
        StridedCase x{.step = (bits & 8) != 0 ? 3 : 1, .pad = bits % 3, .offset = bits % 5};
        if (turned) std::swap(x.order[0], x.order[1]);
        return x;
      };
      expect({.op = op,
              .x_rows = 40,
              .y_rows = 31,
              .k = 3,
              .columns = 270,
              .x_type = DType::BF16,
              .y_type = DType::BF16,
              .x = layout((bits & 1) != 0),
              .y = layout((bits & 2) != 0),
              .indices = layout(op == Op::Unpermute && (bits & 4) != 0)});
    }
  }
}

TEST_P(PermuteGrid, ManyRows) {
  expect({.op = Op::Permute, .x_rows = 700, .y_rows = 1400, .columns = 512});
  expect({.op = Op::Unpermute, .x_rows = 1400, .y_rows = 700, .k = 2, .columns = 512});
}

GIRIH_FOR_ALL_LANES(PermuteGrid);

// 60 cases each of a fixed seed; `girih verify --op route` and so on run more, of any seed.
class RoutingFuzzQuick : public LaneTest {};

TEST_P(RoutingFuzzQuick, Passes) {
  constexpr std::uint64_t kSeed = 20261130;
  const auto expect = [&](Op op, std::uint64_t i, const auto& x) {
    const CaseReport report = verify::run_case(runtime_, x, mode());
    EXPECT_FALSE(report.failed()) << x.to_string() << "\n  on " << report.kernel << ": "
                                  << report.detail << "\n  again: girih verify --op " << name(op)
                                  << " --seed " << kSeed << " --case " << i;
    if (runtime_.backend() == Backend::Cpu) {
      EXPECT_NE(report.outcome, CaseReport::Outcome::Refused) << report.detail;
    }
  };
  for (std::uint64_t i = 0; i < 60; ++i) {
    expect(Op::Route, i, verify::make_route_case(kSeed, i));
    for (const Op op : {Op::Permute, Op::Unpermute}) {
      expect(op, i, verify::make_permute_case(op, kSeed, i));
    }
  }
}

GIRIH_FOR_ALL_LANES(RoutingFuzzQuick);

}  // namespace
}  // namespace girih::testing
