#include <cmath>
#include <gtest/gtest.h>

#include "support/gemm.hpp"

// f32 operands on the matrix unit. The emulated one cuts them to 10 fraction bits, as an M5 does.

namespace girih::testing {
namespace {

using verify::CaseReport;
using verify::GemmCase;
using verify::Mode;

class MetalPrecision : public ::testing::TestWithParam<Precision> {
 protected:
  void expect(GemmCase x, Mode mode = Mode::Eager) {
    x.precision = GetParam();
    const CaseReport report = verify::run_case(runtime_, x, mode);
    EXPECT_EQ(report.outcome, CaseReport::Outcome::Passed) << x.to_string() << report.detail;
    EXPECT_EQ(report.kernel, "metal_gemm_f32_64x64_tensorops") << x.to_string();
  }
  Runtime runtime_ = must(Runtime::open({.backend = Backend::Metal}));
};

TEST_P(MetalPrecision, IsWithinItsBoundInEveryLayoutAndMode) {
  for (std::uint64_t i = 0; i < 8; ++i) {
    const GemmCase x{.index = i,
                     .m = 65,
                     .n = 70,
                     .k = 83,
                     .a = {.column_major = (i & 1) != 0},
                     .b = {.column_major = (i & 2) != 0, .offset = 1},
                     .c = {.column_major = (i & 4) != 0}};
    expect(x, static_cast<Mode>(i % 3));
  }
}

TEST_P(MetalPrecision, IsWithinItsBoundForEveryKindOfNumber) {
  for (const verify::Contents contents :
       {verify::Contents::Uniform, verify::Contents::Wide, verify::Contents::Cancelling,
        verify::Contents::Special, verify::Contents::Lowest}) {
    for (const std::int64_t k : {1, 7, 64, 300}) {
      expect({.m = 33, .n = 40, .k = k, .contents = contents});
    }
  }
}

TEST_P(MetalPrecision, BatchesSlicesAndTheEpilogue) {
  expect({.m = 20, .n = 24, .k = 50, .batch = 3, .beta = 0.5F, .bias = DType::F32});
  expect({.m = 20, .n = 24, .k = 50, .batch = 3, .b = {.sharing = verify::Sharing::Rank2}});
  expect({.m = 8, .n = 8, .k = 4096});  // slices of K
  expect({.m = 8, .n = 8, .k = 0, .beta = 1});
}

INSTANTIATE_TEST_SUITE_P(MatrixUnit, MetalPrecision,
                         ::testing::Values(Precision::Tf32, Precision::Fast),
                         [](const auto& test) { return std::string(name(test.param)); });

/// A product that was asked for in one precision, and computed in another.
CaseReport run_as(Precision asked, Precision computed) {
  Runtime runtime = must(Runtime::open({.backend = Backend::Metal}));
  const GemmCase x{.m = 40, .n = 40, .k = 64, .precision = asked};
  return verify::run_case(runtime, x, Mode::Eager, [&](Runtime& on, GemmDesc desc) {
    desc.precision = computed;
    return gemm(on, desc);
  });
}

TEST(MetalPrecisionBounds, TellTheModesApart) {
  EXPECT_TRUE(run_as(Precision::Exact, Precision::Tf32).failed());
  EXPECT_TRUE(run_as(Precision::Fast, Precision::Tf32).failed());
  EXPECT_FALSE(run_as(Precision::Tf32, Precision::Fast).failed());
  EXPECT_FALSE(run_as(Precision::Fast, Precision::Exact).failed());
}

TEST(MetalPrecisionBounds, AnInfinityMeetsNoZeroOfAPart) {
  Runtime runtime = must(Runtime::open({.backend = Backend::Metal}));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor a = tensor_of(runtime, {2, 2}, DType::F32,
                             std::vector<float>{kInfinity, 1.0F, std::nanf(""), 3.0F});
  const Tensor b = tensor_of(runtime, {2, 2}, DType::F32, std::vector<float>{1, 0.5F, 2, -1});
  for (const Precision precision : {Precision::Tf32, Precision::Fast}) {
    const Tensor c = must(runtime.tensor({2, 2}, DType::F32));
    must(gemm(runtime, {.a = a, .b = b, .c = c, .precision = precision}));
    const std::vector<float> got = floats_of(runtime, c);
    EXPECT_EQ(got[0], kInfinity);
    EXPECT_EQ(got[1], kInfinity);
    EXPECT_TRUE(std::isnan(got[2]) && std::isnan(got[3]));
  }
}

}  // namespace
}  // namespace girih::testing
