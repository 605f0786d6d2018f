#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>

#include "support/case_lane.hpp"
#include "support/gemm.hpp"

// Products whose columns a gate joins in pairs. See gemm.cpp for how a case is run.

namespace girih::testing {
namespace {

using verify::Contents;
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
                                                     {DType::I8, DType::F32},
                                                     {DType::I8, DType::F16}});
constexpr auto kOrders = std::to_array({GateOrder::Concatenated, GateOrder::Interleaved});
constexpr auto kActivations =
    std::to_array({Activation::None, Activation::Relu, Activation::GeluTanh, Activation::Silu});
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class GemmGate : public CaseLaneTest<GemmCase> {};

TEST_P(GemmGate, EveryActivationInBothOrders) {
  std::uint64_t i = 0;
  for (const Activation activation : kActivations) {
    for (const GateOrder order : kOrders) {
      for (const auto& [operands, output] : kTypes) {
        expect({.index = i++,
                .m = 37,
                .n = 45,
                .k = 64,
                .operands = operands,
                .output = output,
                .gate = Gate{.activation = activation, .order = order}});
      }
    }
  }
}

TEST_P(GemmGate, AlphaLimitAndOffset) {
  for (const GateOrder order : kOrders) {
    for (const float alpha : {1.0F, 1.702F, 0.25F}) {
      for (const float limit : {0.125F, 2.0F, kInfinity}) {
        for (const float offset : {0.0F, 1.0F, -0.5F}) {
          expect(
              {.m = 19,
               .n = 37,
               .k = 33,
               .alpha = 1.5F,
               .gate = Gate{.order = order, .alpha = alpha, .limit = limit, .up_offset = offset}});
        }
      }
    }
  }
}

TEST_P(GemmGate, ShapesAroundTileEdgesInAllLayouts) {
  constexpr auto kExtents =
      std::to_array<std::int64_t>({1, 2, 3, 7, 8, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129});
  std::uint64_t i = 0;
  for (const std::int64_t m : {1, 2, 13, 17, 64, 65, 130}) {
    for (const std::int64_t n : kExtents) {
      const auto [operands, output] = kTypes[i % kTypes.size()];
      expect({.index = i,
              .m = m,
              .n = n,
              .k = kExtents[i * 5 % kExtents.size()],
              .operands = operands,
              .output = output,
              .a = {.column_major = (i & 1) != 0},
              .b = {.column_major = (i & 2) != 0},
              .c = {.column_major = (i & 4) != 0},
              .gate = Gate{.order = kOrders[i / 2 % 2]}});
      ++i;
    }
  }
}

TEST_P(GemmGate, SumsThatTakeSeveralStepsAndBlocks) {
  struct Extents {
    std::int64_t m, n, k;
  };
  std::vector<Extents> shapes = {{17, 33, 2049}, {3, 5000, 5}, {130, 70, 700}, {1, 4097, 33}};
  // On the cpu, sums that wait for a step of a whole block; minutes where kernels are emulated.
  if (runtime_.backend() == Backend::Cpu) shapes.push_back({20, 4096, 600});
  for (const auto& [m, n, k] : shapes) {
    for (const GateOrder order : kOrders) {
      for (const DType operands : {DType::F32, DType::BF16, DType::I8}) {
        expect({.m = m,
                .n = n,
                .k = k,
                .operands = operands,
                .gate = Gate{.activation = Activation::GeluTanh, .order = order}});
      }
    }
  }
}

TEST_P(GemmGate, LeadingDimensionsAndOffsets) {
  std::uint64_t i = 0;
  for (const std::int64_t pad : {0, 1, 8}) {
    for (const std::int64_t offset : {0, 1, 4}) {
      for (const GateOrder order : kOrders) {
        const MatrixCase place{.column_major = i % 3 == 0, .pad = pad, .offset = offset};
        GemmCase x{.index = i++, .m = 18, .n = 35, .k = 31, .operands = DType::BF16};
        x.a = x.b = x.c = place;
        if (i % 4 == 0) x.a.step = x.b.step = x.c.step = 2;
        x.gate = Gate{.order = order};
        expect(x);
      }
    }
  }
}

TEST_P(GemmGate, TermsOfBothHalves) {
  std::uint64_t i = 0;
  for (const GateOrder order : kOrders) {
    for (const DType bias : {DType::F32, DType::BF16, DType::F16}) {
      for (const ResidualCase residual :
           {ResidualCase::None, ResidualCase::Separate, ResidualCase::SameAsC}) {
        for (const auto b_scale : {Granularity::PerTensor, Granularity::PerColumn}) {
          const auto [operands, output] = kTypes[i % kTypes.size()];
          expect({.index = i,
                  .m = 37,
                  .n = 45,
                  .k = 64,
                  .operands = operands,
                  .output = output,
                  .c = {.column_major = i % 3 == 0},
                  .alpha = 0.75F,
                  .alpha_on_device = i % 2 == 0,
                  .bias = bias,
                  .bias_offset = static_cast<std::int64_t>(i % 4),
                  .gate = Gate{.order = order, .limit = 3},
                  .residual = residual,
                  .residual_type = residual == ResidualCase::SameAsC ? output : bias,
                  .residual_layout = {.column_major = i % 2 == 0, .pad = 1},
                  .a_scale = Granularity::PerRow,
                  .b_scale = b_scale});
          ++i;
        }
      }
    }
  }
}

TEST_P(GemmGate, BatchesAndSharedOperands) {
  for (const Sharing b : {Sharing::Own, Sharing::Rank2, Sharing::Repeated}) {
    for (const GateOrder order : kOrders) {
      for (const std::int64_t batch : {1, 3, 40}) {
        expect({.m = 33,
                .n = 18,
                .k = 40,
                .batch = batch,
                .operands = DType::BF16,
                .b = {.column_major = true, .batch_gap = 16, .sharing = b},
                .c = {.batch_gap = 3},
                .bias = DType::F16,
                .bias_per_batch = true,
                .gate = Gate{.order = order},
                .residual = ResidualCase::Separate});
      }
    }
  }
}

TEST_P(GemmGate, EmptyExtentsAndProductsThatAreNotRead) {
  for (const GateOrder order : kOrders) {
    const Gate gate{.order = order, .up_offset = 1};
    for (const auto& [m, n] : {std::pair{0, 5}, {5, 0}, {0, 0}}) {
      expect({.m = m, .n = n, .k = 3, .gate = gate});
    }
    expect({.m = 4, .n = 5, .k = 6, .batch = 0, .gate = gate});
    expect({.m = 33, .n = 17, .k = 0, .bias = DType::F32, .gate = gate});
    expect({.m = 33, .n = 17, .k = 0, .gate = gate, .residual = ResidualCase::Separate});
    expect({.m = 33, .n = 17, .k = 65, .alpha = 0, .bias = DType::BF16, .gate = gate});
  }
}

TEST_P(GemmGate, EveryKindOfContents) {
  for (const Activation activation : kActivations) {
    for (const Contents contents : {Contents::Wide, Contents::Cancelling, Contents::Special}) {
      for (const auto& [operands, output] : kTypes) {
        expect({.m = 35,
                .n = 50,
                .k = 130,
                .operands = operands,
                .output = output,
                .gate = Gate{.activation = activation,
                             .order = kOrders[contents == Contents::Wide ? 0 : 1]},
                .contents = contents});
      }
    }
  }
}

TEST_P(GemmGate, PathsAndPrecisions) {
  for (const Path path : {Path::Auto, Path::Portable}) {
    for (const Precision precision : {Precision::Exact, Precision::Fast}) {
      for (const auto& [operands, output] : kTypes) {
        expect({.m = 45,
                .n = 67,
                .k = 89,
                .operands = operands,
                .output = output,
                .gate = Gate{},
                .precision = precision,
                .path = path,
                .reproducibility = Reproducibility::RowInvariant});
      }
    }
  }
}

GIRIH_FOR_ALL_LANES(GemmGate);

class GemmGateValues : public BackendTest {
 protected:
  /// The gate of one row: `g` and `u` times one.
  std::vector<float> gated(const std::vector<float>& g, const std::vector<float>& u, Gate gate) {
    const std::size_t n = g.size();
    std::vector<float> columns(2 * n);
    for (std::size_t j = 0; j < n; ++j) {
      const bool alternate = gate.order == GateOrder::Interleaved;
      columns[alternate ? 2 * j : j] = g[j];
      columns[alternate ? 2 * j + 1 : n + j] = u[j];
    }
    const auto width = static_cast<std::int64_t>(n);
    const Tensor a = tensor_of(runtime_, {1, 1}, DType::F32, std::vector<float>{1});
    const Tensor b = tensor_of(runtime_, {1, 2 * width}, DType::F32, columns);
    const Tensor c = must(runtime_.tensor({1, width}, DType::F32));
    must(gemm(runtime_, {.a = a, .b = b, .c = c, .epilogue = {.gate = gate}}));
    return floats_of(runtime_, c);
  }
};

TEST_P(GemmGateValues, AreThoseOfTheDefinition) {
  for (const GateOrder order : kOrders) {
    EXPECT_EQ(
        gated({2, -3, 0.5F}, {10, 100, -1000}, {.activation = Activation::Relu, .order = order}),
        (std::vector<float>{20, 0, -500}));
    EXPECT_EQ(
        gated({2, -3, 0.5F}, {10, 100, -1000}, {.activation = Activation::None, .order = order}),
        (std::vector<float>{20, -300, -500}));
    // g at most 1, u within 1 of 0, and one added to u.
    EXPECT_EQ(gated({2, -3, 0.5F, 4}, {10, 0.5F, -1000, 0.25F},
                    {.activation = Activation::None, .order = order, .limit = 1, .up_offset = 1}),
              (std::vector<float>{2, -4.5F, 0, 1.25F}));
    const std::vector<float> silu = gated({1, -2}, {3, 5}, {.order = order, .alpha = 2});
    EXPECT_NEAR(silu[0], 3 / (1 + std::exp(-2.0)), 1e-6);
    EXPECT_NEAR(silu[1], -10 / (1 + std::exp(4.0)), 1e-6);
  }
}

TEST_P(GemmGateValues, NanInEitherHalfStaysInItsColumn) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Activation activation : kActivations) {
    for (const GateOrder order : kOrders) {
      for (const float limit : {1.0F, kInfinity}) {
        std::vector<float> g(67, 0.5F), u(67, 0.25F);
        g[3] = kNan;
        u[40] = kNan;
        g[66] = u[66] = kNan;
        const std::vector<float> c =
            gated(g, u, {.activation = activation, .order = order, .limit = limit});
        for (std::size_t j = 0; j < c.size(); ++j) {
          EXPECT_EQ(std::isnan(c[j]), j == 3 || j == 40 || j == 66) << j;
        }
      }
    }
  }
}

TEST_P(GemmGateValues, InfinitiesAreLimitedOrGiveTheirProducts) {
  for (const GateOrder order : kOrders) {
    const std::vector<float> open =
        gated({kInfinity, -kInfinity, 1, 1}, {2, 3, kInfinity, -kInfinity}, {.order = order});
    EXPECT_EQ(open[0], kInfinity);
    EXPECT_EQ(open[1], 0);
    EXPECT_EQ(open[2], kInfinity);
    EXPECT_EQ(open[3], -kInfinity);
    const std::vector<float> limited =
        gated({kInfinity, 1, 1}, {2, kInfinity, -kInfinity},
              {.activation = Activation::Relu, .order = order, .limit = 7});
    EXPECT_EQ(limited, (std::vector<float>{14, 7, -7}));
  }
}

TEST_P(GemmGateValues, BothOrdersGiveEqualBits) {
  for (const auto& [operands, output] : kTypes) {
    const std::int64_t n = 51;
    const Tensor a = random_tensor(runtime_, {37, 70}, operands, 1);
    const Tensor b = random_tensor(runtime_, {70, 2 * n}, operands, 2);
    const Tensor alternate = must(runtime_.tensor({70, 2 * n}, operands));
    for (std::int64_t half = 0; half < 2; ++half) {
      const Strides every_other{2 * n, 2};
      must(copy(runtime_, {.source = must(b.slice(1, half * n, (half + 1) * n)),
                           .destination = must(alternate.view({70, n}, every_other, half))}));
    }
    const auto bits = [&](const Tensor& columns, GateOrder order) {
      const Tensor c = must(runtime_.tensor({37, n}, output));
      must(gemm(runtime_,
                {.a = a, .b = columns, .c = c, .epilogue = {.gate = Gate{.order = order}}}));
      return bytes_of(runtime_, c);
    };
    EXPECT_EQ(bits(b, GateOrder::Concatenated), bits(alternate, GateOrder::Interleaved));
  }
}

TEST_P(GemmGateValues, ARowDoesNotDependOnTheOthers) {
  for (const DType dtype : {DType::F32, DType::BF16}) {
    const Tensor a = random_tensor(runtime_, {130, 600}, dtype, 1);
    const Tensor b = random_tensor(runtime_, {600, 90}, dtype, 2);
    const auto rows = [&](std::int64_t count) {
      const Tensor c = must(runtime_.tensor({count, 45}, DType::F32));
      must(gemm(runtime_, {.a = must(a.slice(0, 0, count)),
                           .b = b,
                           .c = c,
                           .epilogue = {.gate = Gate{}},
                           .reproducibility = Reproducibility::RowInvariant}));
      std::vector<float> values = floats_of(runtime_, c);
      values.resize(45);
      return values;
    };
    EXPECT_EQ(rows(1), rows(17));
    EXPECT_EQ(rows(1), rows(130));
  }
}

TEST_P(GemmGateValues, EveryRowOfTheTableHasTheGateItStates) {
  std::map<std::pair<Reduction, DType>, std::vector<std::byte>> first;
  for (const UsableKernel& kernel : usable_kernels(GetParam(), Op::Gemm)) {
    ASSERT_TRUE(kernel.info.gates) << kernel.info.name;
    Runtime runtime = open(GetParam(), {.force_kernel = std::string(kernel.info.name)});
    const Precision precision = precision_of(kernel.info);
    for (const auto& [operands, output] : kTypes) {
      if (!kernel.info.operands.has(operands) || !kernel.info.outputs.has(output)) continue;
      for (const GateOrder order : kOrders) {
        const verify::CaseReport report = verify::run_case(runtime,
                                                           {.m = 67,
                                                            .n = 75,
                                                            .k = 300,
                                                            .operands = operands,
                                                            .output = output,
                                                            .bias = DType::F32,
                                                            .gate = Gate{.order = order},
                                                            .b_scale = Granularity::PerColumn,
                                                            .precision = precision},
                                                           verify::Mode::Captured);
        EXPECT_EQ(report.outcome, verify::CaseReport::Outcome::Passed) << report.detail;
        EXPECT_EQ(report.kernel, kernel.info.name);
      }
      if (output != DType::F32) continue;
      const Tensor c = must(runtime.tensor({37, 51}, DType::F32));
      must(gemm(runtime,
                {.a = random_tensor(runtime, {37, 500}, operands, 1),
                 .b = random_tensor(runtime, {500, 102}, operands, 2),
                 .c = c,
                 .epilogue = {.gate = Gate{.alpha = 1.702F, .limit = 7, .up_offset = 1}},
                 .precision = precision,
                 // Rows that split f32 decline to be invariant, and split no K.
                 .reproducibility = kernel.info.splits_f32 ? Reproducibility::PerShape
                                                           : Reproducibility::RowInvariant}));
      const std::vector<std::byte> bits = bytes_of(runtime, c);
      EXPECT_EQ(first.try_emplace({kernel.info.reduction, operands}, bits).first->second, bits)
          << kernel.info.name;
    }
  }
}

TEST_P(GemmGateValues, ThePlanCountsBothHalves) {
  const Tensor a = must(runtime_.tensor({16, 32}, DType::F32));
  const Tensor b = must(runtime_.tensor({32, 40}, DType::F32));
  const Tensor c = must(runtime_.tensor({16, 20}, DType::F32));
  const Plan got = must(plan(runtime_, {.a = a, .b = b, .c = c, .epilogue = {.gate = Gate{}}}));
  EXPECT_EQ(got.flops, 2.0 * 16 * 40 * 32);
  EXPECT_EQ(got.bytes, 4.0 * (16 * 32 + 32 * 40 + 16 * 20));
  EXPECT_NE(got.to_string().find("joins 40 columns into 20"), std::string::npos) << got.to_string();
}

GIRIH_FOR_ALL_BACKENDS(GemmGateValues);

}  // namespace
}  // namespace girih::testing
