#include <functional>
#include <gtest/gtest.h>
#include <limits>

#include "support/backends.hpp"
#include "support/gemm.hpp"
#include "verify/guarded.hpp"

// Products that must be refused: with the right code, an error that names the operand, nothing
// encoded, nothing written, and a runtime that works afterwards.

namespace girih::testing {
namespace {

using verify::GuardedTensor;
using verify::Poison;

/// What a hostile descriptor is made of: C = A [4, 3] . B [3, 5], and neighbours in one bank.
struct Parts {
  explicit Parts(Runtime& own, Runtime& other)
      : runtime(own), foreign(must(other.tensor({4, 3}, DType::F32))) {}

  Tensor make(const Shape& shape, DType dtype = DType::F32) {
    return must(runtime.tensor(shape, dtype));
  }

  Runtime& runtime;
  Tensor foreign;
  GuardedTensor c = must(GuardedTensor::make(runtime, DType::F32, {4, 5}, {5, 1}, 0));
  /// C's own allocation seen from its first element on.
  Tensor c_memory(const Shape& shape, const Strides& strides, std::int64_t offset = 0) {
    return must(c.tensor().view(shape, strides, c.tensor().offset() + offset));
  }
};

struct Hostile {
  const char* name;
  Code code;
  const char* word;  ///< that the message must contain
  std::function<void(GemmDesc&, Parts&)> change;
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

const Hostile kTensors[] = {
    {"EmptyA", Code::InvalidTensor, "A", [](GemmDesc& d, Parts&) { d.a = Tensor(); }},
    {"EmptyB", Code::InvalidTensor, "B", [](GemmDesc& d, Parts&) { d.b = Tensor(); }},
    {"EmptyC", Code::InvalidTensor, "C", [](GemmDesc& d, Parts&) { d.c = Tensor(); }},
    {"EmptyBias", Code::InvalidTensor, "bias",
     [](GemmDesc& d, Parts&) { d.epilogue.bias = Tensor(); }},
    {"EmptyResidual", Code::InvalidTensor, "residual",
     [](GemmDesc& d, Parts&) { d.epilogue.residual = Tensor(); }},
    {"EmptyAlpha", Code::InvalidTensor, "alpha", [](GemmDesc& d, Parts&) { d.alpha = Tensor(); }},
    {"EmptyScale", Code::InvalidTensor, "a_scale",
     [](GemmDesc& d, Parts&) { d.a_scale = Scale{Tensor()}; }},
    {"EmptyCScale", Code::InvalidTensor, "c_scale",
     [](GemmDesc& d, Parts&) { d.c_scale = Scale{Tensor()}; }},
    {"ForeignA", Code::ForeignTensor, "A", [](GemmDesc& d, Parts& p) { d.a = p.foreign; }},
    {"ForeignB", Code::ForeignTensor, "B", [](GemmDesc& d, Parts& p) { d.b = p.foreign; }},
    {"ForeignC", Code::ForeignTensor, "C", [](GemmDesc& d, Parts& p) { d.c = p.foreign; }},
    {"ForeignBias", Code::ForeignTensor, "bias",
     [](GemmDesc& d, Parts& p) { d.epilogue.bias = p.foreign; }},
    {"ForeignResidual", Code::ForeignTensor, "residual",
     [](GemmDesc& d, Parts& p) { d.epilogue.residual = p.foreign; }},
    {"ForeignScale", Code::ForeignTensor, "b_scale",
     [](GemmDesc& d, Parts& p) { d.b_scale = Scale{p.foreign}; }},
    {"ForeignBeta", Code::ForeignTensor, "beta", [](GemmDesc& d, Parts& p) { d.beta = p.foreign; }},
};

const Hostile kShapes[] = {
    {"RankOfA", Code::GemmShapeMismatch, "A", [](GemmDesc& d, Parts& p) { d.a = p.make({12}); }},
    {"RankOfB", Code::GemmShapeMismatch, "B", [](GemmDesc& d, Parts& p) { d.b = p.make({}); }},
    {"RankOfC", Code::GemmShapeMismatch, "C",
     [](GemmDesc& d, Parts& p) {
       d.c = p.make({1, 1, 4, 5});
     }},
    {"DepthOfB", Code::GemmShapeMismatch, "B",
     [](GemmDesc& d, Parts& p) {
       d.b = p.make({4, 5});
     }},
    {"TransposedB", Code::GemmShapeMismatch, "B",
     [](GemmDesc& d, Parts& p) {
       d.b = p.make({5, 3});
     }},
    {"RowsOfC", Code::GemmShapeMismatch, "C",
     [](GemmDesc& d, Parts& p) {
       d.c = p.make({3, 5});
     }},
    {"ColumnsOfC", Code::GemmShapeMismatch, "C",
     [](GemmDesc& d, Parts& p) {
       d.c = p.make({4, 4});
     }},
    {"BatchOfAAlone", Code::GemmShapeMismatch, "A",
     [](GemmDesc& d, Parts& p) {
       d.a = p.make({2, 4, 3});
     }},
    {"BatchesThatDiffer", Code::GemmShapeMismatch, "B",
     [](GemmDesc& d, Parts& p) {
       d.b = p.make({2, 3, 5});
       d.c = p.make({3, 4, 5});
     }},
    {"DepthOfAnEmptyProduct", Code::GemmShapeMismatch, "B",
     [](GemmDesc& d, Parts& p) {
       d.a = p.make({0, 3});
       d.b = p.make({4, 5});
       d.c = p.make({0, 5});
     }},
    {"ShortBias", Code::GemmShapeMismatch, "bias",
     [](GemmDesc& d, Parts& p) { d.epilogue.bias = p.make({4}); }},
    {"BiasOfRank2", Code::GemmShapeMismatch, "bias",
     [](GemmDesc& d, Parts& p) {
       d.epilogue.bias = p.make({1, 5});
     }},
    {"BiasOfAnotherBatch", Code::GemmShapeMismatch, "bias",
     [](GemmDesc& d, Parts& p) {
       d.c = p.make({2, 4, 5});
       d.epilogue.bias = p.make({3, 5});
     }},
    {"ResidualOfAnotherShape", Code::GemmShapeMismatch, "residual",
     [](GemmDesc& d, Parts& p) {
       d.epilogue.residual = p.make({5, 4});
     }},
    {"ShortRowScale", Code::GemmShapeMismatch, "a_scale",
     [](GemmDesc& d, Parts& p) {
       d.a_scale = Scale{p.make({3}), Granularity::PerRow};
     }},
    {"ColumnScaleOfRank2", Code::GemmShapeMismatch, "b_scale",
     [](GemmDesc& d, Parts& p) {
       d.b_scale = Scale{p.make({1, 5}), Granularity::PerColumn};
     }},
    {"RowBlockScaleForMoreOfK", Code::GemmShapeMismatch, "a_scale",
     [](GemmDesc& d, Parts& p) {
       d.a = p.make({4, 3}, DType::F8E4M3);
       d.b = p.make({3, 5}, DType::F8E4M3);
       d.a_scale = Scale{p.make({4, 2}), Granularity::PerRowBlock};
     }},
    {"BlockScaleOfRank1", Code::GemmShapeMismatch, "b_scale",
     [](GemmDesc& d, Parts& p) {
       d.a = p.make({4, 3}, DType::F8E5M2);
       d.b = p.make({3, 5}, DType::F8E5M2);
       d.b_scale = Scale{p.make({1}), Granularity::PerBlock};
     }},
    {"TwoFactorsForATensor", Code::GemmShapeMismatch, "a_scale",
     [](GemmDesc& d, Parts& p) { d.a_scale = Scale{p.make({2})}; }},
};

const Hostile kTypesAndTerms[] = {
    {"an activation that does not exist", Code::InvalidOption, "activation has no value 77",
     [](GemmDesc& desc, Parts&) { desc.epilogue.activation = static_cast<Activation>(77); }},
    {"a precision that does not exist", Code::InvalidOption, "precision has no value 9",
     [](GemmDesc& desc, Parts&) { desc.precision = static_cast<Precision>(9); }},
    {"a path that does not exist", Code::InvalidOption, "path has no value 3",
     [](GemmDesc& desc, Parts&) { desc.path = static_cast<Path>(3); }},
    {"a reproducibility that does not exist", Code::InvalidOption, "reproducibility",
     [](GemmDesc& desc, Parts&) { desc.reproducibility = static_cast<Reproducibility>(255); }},
    {"MixedOperands", Code::GemmTypeMismatch, "B",
     [](GemmDesc& d, Parts& p) {
       d.b = p.make({3, 5}, DType::BF16);
     }},
    {"IntegerOutputOfFloats", Code::GemmTypeMismatch, "C",
     [](GemmDesc& d, Parts& p) {
       d.c = p.make({4, 5}, DType::I32);
     }},
    {"ByteOutput", Code::GemmTypeMismatch, "C",
     [](GemmDesc& d, Parts& p) {
       d.c = p.make({4, 5}, DType::U8);
     }},
    {"DoubleOperands", Code::GemmNoKernel, "f64",
     [](GemmDesc& d, Parts& p) {
       d.a = p.make({4, 3}, DType::F64);
       d.b = p.make({3, 5}, DType::F64);
     }},
    {"UnsignedOperands", Code::GemmNoKernel, "u8",
     [](GemmDesc& d, Parts& p) {
       d.a = p.make({4, 3}, DType::U8);
       d.b = p.make({3, 5}, DType::U8);
     }},
    {"NibbleOperands", Code::GemmNoKernel, "i4",
     [](GemmDesc& d, Parts& p) {
       d.a = p.make({4, 3}, DType::I4);
       d.b = p.make({3, 5}, DType::I4);
     }},
    {"IntegerBias", Code::GemmTypeMismatch, "bias",
     [](GemmDesc& d, Parts& p) { d.epilogue.bias = p.make({5}, DType::I32); }},
    {"IntegerResidual", Code::GemmTypeMismatch, "residual",
     [](GemmDesc& d, Parts& p) {
       d.epilogue.residual = p.make({4, 5}, DType::I8);
     }},
    {"HalfScale", Code::GemmTypeMismatch, "a_scale",
     [](GemmDesc& d, Parts& p) { d.a_scale = Scale{p.make({1}, DType::F16)}; }},
    {"HalfAlpha", Code::GemmTypeMismatch, "alpha",
     [](GemmDesc& d, Parts& p) { d.alpha = p.make({1}, DType::BF16); }},
    {"TwoBetas", Code::GemmTypeMismatch, "beta",
     [](GemmDesc& d, Parts& p) { d.beta = p.make({2}); }},
    {"NoBeta", Code::GemmTypeMismatch, "beta", [](GemmDesc& d, Parts& p) { d.beta = p.make({0}); }},
    {"NanAlpha", Code::GemmScalarNotFinite, "alpha", [](GemmDesc& d, Parts&) { d.alpha = kNan; }},
    {"InfiniteAlpha", Code::GemmScalarNotFinite, "alpha",
     [](GemmDesc& d, Parts&) { d.alpha = -kInfinity; }},
    {"NanBeta", Code::GemmScalarNotFinite, "beta", [](GemmDesc& d, Parts&) { d.beta = kNan; }},
    {"InfiniteBeta", Code::GemmScalarNotFinite, "beta",
     [](GemmDesc& d, Parts&) { d.beta = kInfinity; }},
    {"ColumnScaleOnA", Code::GemmEpilogueConflict, "a_scale",
     [](GemmDesc& d, Parts& p) {
       d.a_scale = Scale{p.make({5}), Granularity::PerColumn};
     }},
    {"RowScaleOnB", Code::GemmEpilogueConflict, "b_scale",
     [](GemmDesc& d, Parts& p) {
       d.b_scale = Scale{p.make({4}), Granularity::PerRow};
     }},
    {"CScaleOfAFloatC", Code::GemmEpilogueConflict, "c_scale is for",
     [](GemmDesc& d, Parts& p) { d.c_scale = Scale{p.make({1})}; }},
    {"RowCScale", Code::GemmEpilogueConflict, "c_scale must be PerTensor",
     [](GemmDesc& d, Parts& p) {
       d.c = p.make({4, 5}, DType::I8);
       d.c_scale = Scale{p.make({4}), Granularity::PerRow};
     }},
    {"TwoCScales", Code::GemmShapeMismatch, "c_scale",
     [](GemmDesc& d, Parts& p) {
       d.c = p.make({4, 5}, DType::F8E5M2);
       d.c_scale = Scale{p.make({2})};
     }},
    {"HalfCScale", Code::GemmTypeMismatch, "c_scale",
     [](GemmDesc& d, Parts& p) {
       d.c = p.make({4, 5}, DType::F8E4M3);
       d.c_scale = Scale{p.make({1}, DType::F16)};
     }},
    {"BetaOfAnEighth", Code::GemmEpilogueConflict, "beta is not 0, must be 0",
     [](GemmDesc& d, Parts& p) {
       d.c = p.make({4, 5}, DType::I8);
       d.beta = 1.0F;
     }},
    {"DeviceBetaOfAnEighth", Code::GemmEpilogueConflict, "beta is a device scalar, must be 0",
     [](GemmDesc& d, Parts& p) {
       d.c = p.make({4, 5}, DType::F8E4M3);
       d.beta = p.make({1});
     }},
    {"BlockScaleOfWideTypes", Code::GemmEpilogueConflict, "b_scale: blocks of f32",
     [](GemmDesc& d, Parts& p) {
       d.b_scale = Scale{p.make({1, 5}), Granularity::PerColumnBlock};
     }},
    {"ActivationOfIntegers", Code::GemmEpilogueConflict, "activation",
     [](GemmDesc& d, Parts& p) {
       d.a = p.make({4, 3}, DType::I8);
       d.b = p.make({3, 5}, DType::I8);
       d.c = p.make({4, 5}, DType::I32);
       d.epilogue.activation = Activation::Relu;
     }},
    {"IntegerSumsThatCouldWrap", Code::GemmAccumulatorRange, "131072",
     [](GemmDesc& d, Parts& p) {
       const Tensor one = p.make({1}, DType::I8);
       d.a = must(one.view({4, 131072}, {0, 0}, 0));
       d.b = must(one.view({131072, 5}, {0, 0}, 0));
       d.c = p.make({4, 5}, DType::I32);
     }},
};

/// C = gate(A [4, 3] . B [3, 10]).
void gate_with(GemmDesc& desc, Parts& parts, Gate gate) {
  desc.b = parts.make({3, 10});
  desc.epilogue.gate = gate;
}

const Hostile kGates[] = {
    {"AnOddNumberOfColumns", Code::GemmShapeMismatch, "B has 5 columns",
     [](GemmDesc& d, Parts&) { d.epilogue.gate = Gate{}; }},
    {"COfTheWholeProduct", Code::GemmShapeMismatch, "the gated product of A and B is 4 by 5",
     [](GemmDesc& d, Parts& p) {
       gate_with(d, p, {});
       d.c = p.make({4, 10});
     }},
    {"BiasOfOneHalf", Code::GemmShapeMismatch, "bias has 5 elements a row, 2N is 10",
     [](GemmDesc& d, Parts& p) {
       gate_with(d, p, {});
       d.epilogue.bias = p.make({5});
     }},
    {"ColumnScaleOfOneHalf", Code::GemmShapeMismatch, "b_scale",
     [](GemmDesc& d, Parts& p) {
       gate_with(d, p, {});
       d.b_scale = Scale{p.make({5}), Granularity::PerColumn};
     }},
    {"ResidualOfTheWholeProduct", Code::GemmShapeMismatch, "residual",
     [](GemmDesc& d, Parts& p) {
       gate_with(d, p, {});
       d.epilogue.residual = p.make({4, 10});
     }},
    {"BetaBesideAGate", Code::GemmEpilogueConflict, "beta",
     [](GemmDesc& d, Parts& p) {
       gate_with(d, p, {});
       d.beta = 1.0F;
     }},
    {"DeviceBetaBesideAGate", Code::GemmEpilogueConflict, "beta is a device scalar",
     [](GemmDesc& d, Parts& p) {
       gate_with(d, p, {});
       d.beta = p.make({1});
     }},
    {"ActivationBesideAGate", Code::GemmEpilogueConflict, "activation relu beside a gate",
     [](GemmDesc& d, Parts& p) {
       gate_with(d, p, {});
       d.epilogue.activation = Activation::Relu;
     }},
    {"GateOfIntegers", Code::GemmEpilogueConflict, "gate",
     [](GemmDesc& d, Parts& p) {
       d.a = p.make({4, 3}, DType::I8);
       d.b = p.make({3, 10}, DType::I8);
       d.c = p.make({4, 5}, DType::I32);
       d.epilogue.gate = Gate{};
     }},
    {"AlphaOfGelu", Code::GemmEpilogueConflict, "gelu_tanh takes 1",
     [](GemmDesc& d, Parts& p) {
       gate_with(d, p, {.activation = Activation::GeluTanh, .alpha = 2});
     }},
    {"NanAlphaOfTheGate", Code::GemmScalarNotFinite, "alpha of the gate",
     [](GemmDesc& d, Parts& p) { gate_with(d, p, {.alpha = kNan}); }},
    {"ZeroAlphaOfTheGate", Code::InvalidOption, "alpha of the gate",
     [](GemmDesc& d, Parts& p) { gate_with(d, p, {.alpha = 0}); }},
    {"InfiniteOffset", Code::GemmScalarNotFinite, "offset of the gate",
     [](GemmDesc& d, Parts& p) { gate_with(d, p, {.up_offset = kInfinity}); }},
    {"NanLimit", Code::InvalidOption, "limit of the gate",
     [](GemmDesc& d, Parts& p) { gate_with(d, p, {.limit = kNan}); }},
    {"NegativeLimit", Code::InvalidOption, "limit of the gate is -7",
     [](GemmDesc& d, Parts& p) { gate_with(d, p, {.limit = -7}); }},
    {"AnOrderThatDoesNotExist", Code::InvalidOption, "order of the gate has no value 9",
     [](GemmDesc& d, Parts& p) { gate_with(d, p, {.order = static_cast<GateOrder>(9)}); }},
    {"AGateActivationThatDoesNotExist", Code::InvalidOption, "activation of the gate",
     [](GemmDesc& d, Parts& p) { gate_with(d, p, {.activation = static_cast<Activation>(77)}); }},
    {"CTouchesTheSecondHalfOfB", Code::GemmAliasing, "B",
     [](GemmDesc& d, Parts& p) {
       gate_with(d, p, {});
       const Tensor bank = p.make({44});
       d.b = must(bank.view({3, 10}, {10, 1}, 0));
       d.c = must(bank.view({4, 5}, {5, 1}, 24));
     }},
};

const Hostile kAliases[] = {
    {"CIsA", Code::GemmAliasing, "A",
     [](GemmDesc& d, Parts& p) {
       d.a = p.c_memory({4, 3}, {5, 1});
     }},
    {"CTouchesB", Code::GemmAliasing, "B",
     [](GemmDesc& d, Parts& p) {
       d.b = p.c_memory({3, 5}, {5, 1}, 19);
     }},
    {"CTouchesATransposed", Code::GemmAliasing, "A",
     [](GemmDesc& d, Parts& p) {
       d.a = p.c_memory({4, 3}, {1, 4}, 10);
     }},
    {"CHoldsTheBias", Code::GemmAliasing, "bias",
     [](GemmDesc& d, Parts& p) { d.epilogue.bias = p.c_memory({5}, {1}, 5); }},
    {"CHoldsAlpha", Code::GemmAliasing, "alpha",
     [](GemmDesc& d, Parts& p) { d.alpha = p.c_memory({1}, {1}, 7); }},
    {"CHoldsBeta", Code::GemmAliasing, "beta",
     [](GemmDesc& d, Parts& p) { d.beta = p.c_memory({1}, {1}, 0); }},
    {"CHoldsAScale", Code::GemmAliasing, "a_scale",
     [](GemmDesc& d, Parts& p) {
       d.a_scale = Scale{p.c_memory({4}, {1}), Granularity::PerRow};
     }},
    {"ResidualHalfOverC", Code::GemmAliasing, "residual",
     [](GemmDesc& d, Parts& p) {
       d.epilogue.residual = p.c_memory({4, 5}, {5, 1}, 1);
     }},
    {"ResidualTransposedOverC", Code::GemmAliasing, "residual",
     [](GemmDesc& d, Parts& p) {
       d.epilogue.residual = p.c_memory({4, 5}, {1, 4});
     }},
    {"COfRepeatedRows", Code::GemmAliasing, "C",
     [](GemmDesc& d, Parts& p) {
       d.c = p.c_memory({4, 5}, {0, 1});
     }},
    {"COfOverlappingRows", Code::GemmAliasing, "C",
     [](GemmDesc& d, Parts& p) {
       d.c = p.c_memory({4, 5}, {4, 1});
     }},
    {"COfRepeatedBatches", Code::GemmAliasing, "C",
     [](GemmDesc& d, Parts& p) { d.c = must(p.c.tensor().repeated(2)); }},
};

class AdversarialGemm : public BackendTest {
 protected:
  void expect_refused(const Hostile& hostile) {
    Parts parts(runtime_, other_);
    parts.c.poison(Poison::Huge);
    must(parts.c.upload(runtime_));
    GemmDesc desc{.a = parts.make({4, 3}), .b = parts.make({3, 5}), .c = parts.c.tensor()};
    hostile.change(desc, parts);
    const std::uint64_t before = runtime_.dispatch_count();
    EXPECT_TRUE(refused(gemm(runtime_, desc), hostile.code, hostile.word)) << hostile.name;
    EXPECT_TRUE(refused(plan(runtime_, desc), hostile.code, hostile.word)) << hostile.name;
    const Result<Graph> graph = capture(runtime_, [&] { return gemm(runtime_, desc); });
    EXPECT_TRUE(refused(graph, hostile.code, hostile.word)) << hostile.name;
    EXPECT_EQ(runtime_.dispatch_count(), before) << hostile.name;
    must(parts.c.observe(runtime_));
    EXPECT_EQ(parts.c.change(), "") << hostile.name;
    expect_passes(runtime_, {.m = 4, .n = 5, .k = 3}, verify::Mode::Eager);
    EXPECT_TRUE(succeeded(runtime_.health()));
  }

  Runtime other_ = open(GetParam());
};

TEST_P(AdversarialGemm, TensorsOfNothingAndOfOthers) {
  for (const Hostile& hostile : kTensors) expect_refused(hostile);
}
TEST_P(AdversarialGemm, ShapesThatDoNotFit) {
  for (const Hostile& hostile : kShapes) expect_refused(hostile);
}
TEST_P(AdversarialGemm, TypesAndTermsThatDoNotFit) {
  for (const Hostile& hostile : kTypesAndTerms) expect_refused(hostile);
}
TEST_P(AdversarialGemm, GatesThatDoNotFit) {
  for (const Hostile& hostile : kGates) expect_refused(hostile);
}
TEST_P(AdversarialGemm, OutputsThatOverlapWhatIsRead) {
  for (const Hostile& hostile : kAliases) expect_refused(hostile);
}

TEST_P(AdversarialGemm, NeighboursInOneBankAreNoOverlap) {
  // Column slices of one buffer: A, B and C side by side.
  const Tensor bank = random_tensor(runtime_, {8, 24}, DType::F32, 1);
  const Tensor a = must(bank.slice(1, 0, 8)), b = must(bank.slice(1, 8, 16));
  const Tensor c = must(bank.slice(1, 16, 24));
  const std::vector<std::byte> want = product(runtime_, a, b, DType::F32);
  must(gemm(runtime_, {.a = a, .b = b, .c = c}));
  EXPECT_EQ(bytes_of(runtime_, c), want);
  must(gemm(runtime_, {.a = a, .b = a, .c = c}));  // inputs may alias each other
}

TEST_P(AdversarialGemm, Tf32IsUnsupportedWithoutAUnitThatRoundsSo) {
  if (runtime_.backend() != Backend::Cpu) GTEST_SKIP() << "the device has one";
  const Tensor a = must(runtime_.tensor({4, 4}, DType::F32));
  const Tensor c = must(runtime_.tensor({4, 4}, DType::F32));
  const Status tf32 = gemm(runtime_, {.a = a, .b = a, .c = c, .precision = Precision::Tf32});
  ASSERT_FALSE(tf32);
  EXPECT_EQ(tf32.error().kind(), ErrorKind::Unsupported);
  EXPECT_TRUE(refused(tf32, Code::GemmNoKernel, "fast"));
  // Refused at every extent, so that a program that works on nothing works on something.
  const Tensor none = must(runtime_.tensor({0, 4}, DType::F32));
  const GemmDesc empty{.a = none, .b = a, .c = none, .precision = Precision::Tf32};
  EXPECT_TRUE(refused(gemm(runtime_, empty), Code::GemmNoKernel, "fast"));
  EXPECT_TRUE(refused(plan(runtime_, empty), Code::GemmNoKernel, "fast"));
}

TEST_P(AdversarialGemm, WhatABackendLacksIsUnsupportedAndSaysSo) {
  if (runtime_.backend() == Backend::Cuda) GTEST_SKIP() << "it has rows for every type";
  const Tensor c = must(runtime_.tensor({4, 4}, DType::F32));
  for (const DType dtype : {DType::F8E4M3, DType::F8E5M2}) {
    const Tensor x = must(runtime_.tensor({4, 4}, dtype));
    EXPECT_TRUE(refused(gemm(runtime_, {.a = x, .b = x, .c = c}), Code::GemmNoKernel, ""));
  }
  if (runtime_.backend() != Backend::Metal) return;
  for (const DType dtype : {DType::F8E4M3, DType::F8E5M2, DType::I8}) {
    const Tensor eighth = must(runtime_.tensor({4, 4}, dtype));
    EXPECT_TRUE(refused(
        gemm(runtime_, {.a = c, .b = must(runtime_.tensor({4, 4}, DType::F32)), .c = eighth}),
        Code::GemmNoKernel, std::string("not ") + std::string(name(dtype))));
  }
}

TEST_P(AdversarialGemm, HugeExtentsOverLittleMemoryAreNoOverflow) {
  const Tensor one = tensor_of(runtime_, {1}, DType::F32, std::vector<float>{1});
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  // No element of C: nothing to do, whatever K is.
  const Tensor wide = must(one.view({0, kHuge}, {0, 0}, 0));
  const Tensor tall = must(one.view({kHuge, 7}, {0, 0}, 0));
  const Tensor none = must(runtime_.tensor({0, 7}, DType::F32));
  EXPECT_TRUE(succeeded(gemm(runtime_, {.a = wide, .b = tall, .c = none})));
  EXPECT_TRUE(refused(one.view({kHuge, kHuge}, {0, 0}, 0), Code::SizeOverflow, "view"));
  EXPECT_TRUE(refused(must(one.view({1, 1}, {1, 1}, 0)).repeated(-1), Code::InvalidShape, "-1"));
}

GIRIH_FOR_ALL_BACKENDS(AdversarialGemm);

}  // namespace
}  // namespace girih::testing
