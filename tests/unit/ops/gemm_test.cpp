#include "ops/gemm.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

#include "support/expect.hpp"

namespace girih {
namespace {

using testing::must;
using testing::refused;
using testing::succeeded;

Geometry matrix(std::int64_t rows, std::int64_t columns, DType dtype = DType::F32) {
  return {dtype, {rows, columns}, {columns, 1}, 0};
}
Geometry batch_of(std::int64_t batch, std::int64_t rows, std::int64_t columns) {
  return {DType::F32, {batch, rows, columns}, {rows * columns, columns, 1}, 0};
}
Geometry vector(std::int64_t extent, DType dtype = DType::F32) {
  return {dtype, {extent}, {1}, 0};
}

GemmSpec spec(std::int64_t m, std::int64_t n, std::int64_t k, DType operands = DType::F32,
              DType output = DType::F32) {
  return {.a = matrix(m, k, operands), .b = matrix(k, n, operands), .c = matrix(m, n, output)};
}

TEST(GemmCheckTest, ReadsLayoutsOffTheStrides) {
  GemmSpec transposed = spec(3, 5, 7);
  transposed.a = {DType::F32, {3, 7}, {1, 4}, 0};
  const GemmProblem problem = must(check(transposed));
  EXPECT_EQ(problem.m, 3);
  EXPECT_EQ(problem.n, 5);
  EXPECT_EQ(problem.k, 7);
  EXPECT_EQ(problem.batch, 1);
  EXPECT_EQ(problem.a.row_stride, 1);
  EXPECT_EQ(problem.a.column_stride, 4);
  EXPECT_EQ(problem.b.row_stride, 5);
  EXPECT_TRUE(problem.has_identity_epilogue());
  EXPECT_EQ(problem.flops(), 2.0 * 3 * 5 * 7);
  EXPECT_EQ(problem.bytes(), 4.0 * (3 * 7 + 7 * 5 + 3 * 5));
}

TEST(GemmCheckTest, SharesARank2OperandAmongABatch) {
  GemmSpec batched{.a = batch_of(4, 2, 3), .b = matrix(3, 5), .c = batch_of(4, 2, 5)};
  const GemmProblem problem = must(check(batched));
  EXPECT_EQ(problem.batch, 4);
  EXPECT_EQ(problem.a.batch_stride, 6);
  EXPECT_EQ(problem.b.batch_stride, 0);
  EXPECT_EQ(problem.bytes(), 4.0 * (4 * 6 + 15 + 4 * 10));
  batched.c = matrix(2, 5);
  EXPECT_TRUE(refused(check(batched), Code::GemmShapeMismatch, "A"));
  batched.c = batch_of(3, 2, 5);
  EXPECT_TRUE(refused(check(batched), Code::GemmShapeMismatch, "4"));
}

TEST(GemmCheckTest, RefusesShapesThatDoNotFit) {
  GemmSpec wrong_k = spec(2, 3, 4);
  wrong_k.b = matrix(5, 3);
  EXPECT_TRUE(refused(check(wrong_k), Code::GemmShapeMismatch, "B"));
  GemmSpec wrong_c = spec(2, 3, 4);
  wrong_c.c = matrix(3, 2);
  EXPECT_TRUE(refused(check(wrong_c), Code::GemmShapeMismatch, "C"));
  for (const Shape& shape : {Shape{}, Shape{6}, Shape{1, 1, 2, 3}}) {
    GemmSpec wrong_rank = spec(2, 3, 4);
    wrong_rank.a.shape = shape;
    EXPECT_TRUE(refused(check(wrong_rank), Code::GemmShapeMismatch, "A"));
    wrong_rank = spec(2, 3, 4);
    wrong_rank.b.shape = shape;
    EXPECT_TRUE(refused(check(wrong_rank), Code::GemmShapeMismatch, "B"));
    wrong_rank = spec(2, 3, 4);
    wrong_rank.c.shape = shape;
    EXPECT_TRUE(refused(check(wrong_rank), Code::GemmShapeMismatch, "C"));
  }
}

TEST(GemmCheckTest, RefusesAnOutputThatOverlapsItself) {
  GemmSpec repeated = spec(4, 3, 2);
  repeated.c.strides = {0, 1};
  EXPECT_TRUE(refused(check(repeated), Code::GemmAliasing, "C"));
  repeated.c.strides = {2, 1};
  EXPECT_TRUE(refused(check(repeated), Code::GemmAliasing, "C"));
  repeated.c.strides = {1, 4};  // column-major
  EXPECT_TRUE(succeeded(check(repeated)));
  repeated.a.strides = {0, 0};  // inputs may
  EXPECT_TRUE(succeeded(check(repeated)));
}

TEST(GemmCheckTest, AcceptsExactlyTheTypesOfTheContract) {
  const DType outputs[] = {DType::F32,    DType::BF16,   DType::F16, DType::I32,
                           DType::F8E4M3, DType::F8E5M2, DType::I8};
  for (int x = 0; x < kDTypeCount; ++x) {
    for (int y = 0; y < kDTypeCount; ++y) {
      for (int z = 0; z < kDTypeCount; ++z) {
        const auto a = static_cast<DType>(x), b = static_cast<DType>(y), c = static_cast<DType>(z);
        GemmSpec typed = spec(2, 2, 2);
        typed.a.dtype = a;
        typed.b.dtype = b;
        typed.c.dtype = c;
        // 8-bit floats pass the check: selection refuses them where no kernel takes them.
        const bool operand = a == DType::F32 || a == DType::BF16 || a == DType::F16 ||
                             a == DType::I8 || a == DType::F8E4M3 || a == DType::F8E5M2;
        const bool output =
            std::find(std::begin(outputs), std::end(outputs), c) != std::end(outputs) &&
            (c != DType::I32 || a == DType::I8);
        EXPECT_EQ(check(typed).has_value(), operand && a == b && output)
            << name(a) << " " << name(b) << " " << name(c);
      }
    }
  }
}

TEST(GemmCheckTest, BoundsTheDepthOfIntegerSums) {
  EXPECT_TRUE(succeeded(check(spec(1, 1, 131071, DType::I8, DType::I32))));
  EXPECT_TRUE(refused(check(spec(1, 1, 131072, DType::I8, DType::I32)), Code::GemmAccumulatorRange,
                      "131072"));
  EXPECT_TRUE(refused(check(spec(1, 1, 131072, DType::I8, DType::F32)), Code::GemmAccumulatorRange,
                      "131072"));
  EXPECT_TRUE(succeeded(check(spec(1, 1, 131072, DType::BF16))));
}

TEST(GemmCheckTest, RefusesHostScalarsThatAreNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    GemmSpec scaled = spec(2, 2, 2);
    scaled.alpha.value = bad;
    EXPECT_TRUE(refused(check(scaled), Code::GemmScalarNotFinite, "alpha"));
    scaled.alpha.on_device = true;  // its value is not the host's business
    EXPECT_TRUE(succeeded(check(scaled)));
    scaled.beta.value = bad;
    EXPECT_TRUE(refused(check(scaled), Code::GemmScalarNotFinite, "beta"));
  }
}

TEST(GemmCheckTest, ChecksTheBias) {
  GemmSpec biased = spec(2, 3, 4);
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    biased.bias = vector(3, dtype);
    EXPECT_TRUE(succeeded(check(biased)));
  }
  biased.bias = vector(2);
  EXPECT_TRUE(refused(check(biased), Code::GemmShapeMismatch, "bias"));
  biased.bias = vector(3, DType::I32);
  EXPECT_TRUE(refused(check(biased), Code::GemmTypeMismatch, "bias"));
  biased.bias = matrix(1, 3);
  EXPECT_TRUE(refused(check(biased), Code::GemmShapeMismatch, "bias"));
  GemmSpec batched{.a = batch_of(4, 2, 3), .b = matrix(3, 5), .c = batch_of(4, 2, 5)};
  batched.bias = matrix(4, 5);
  EXPECT_EQ(must(check(batched)).bias->batch_stride, 5);
  batched.bias = matrix(3, 5);
  EXPECT_TRUE(refused(check(batched), Code::GemmShapeMismatch, "bias"));
}

TEST(GemmCheckTest, ChecksResidualAndScales) {
  GemmSpec full = spec(2, 3, 4);
  full.residual = matrix(2, 3, DType::BF16);
  full.a_scale = vector(2);
  full.a_granularity = Granularity::PerRow;
  full.b_scale = vector(3);
  full.b_granularity = Granularity::PerColumn;
  EXPECT_TRUE(succeeded(check(full)));

  GemmSpec wrong = full;
  wrong.residual = matrix(3, 2);
  EXPECT_TRUE(refused(check(wrong), Code::GemmShapeMismatch, "residual"));
  wrong.residual = matrix(2, 3, DType::I32);
  EXPECT_TRUE(refused(check(wrong), Code::GemmTypeMismatch, "residual"));
  wrong = full;
  wrong.a_scale = vector(3);
  EXPECT_TRUE(refused(check(wrong), Code::GemmShapeMismatch, "a_scale"));
  wrong = full;
  wrong.b_scale = vector(3, DType::BF16);
  EXPECT_TRUE(refused(check(wrong), Code::GemmTypeMismatch, "b_scale"));
  wrong = full;
  wrong.a_granularity = Granularity::PerColumn;
  EXPECT_TRUE(refused(check(wrong), Code::GemmEpilogueConflict, "a_scale"));
  wrong = full;
  wrong.b_granularity = Granularity::PerRow;
  EXPECT_TRUE(refused(check(wrong), Code::GemmEpilogueConflict, "b_scale"));
  wrong = full;
  wrong.a_granularity = Granularity::PerTensor;
  EXPECT_TRUE(refused(check(wrong), Code::GemmShapeMismatch, "a_scale"));
  wrong.a_scale = vector(1);
  EXPECT_TRUE(succeeded(check(wrong)));
  wrong.a_scale = Geometry{DType::F32, {}, {}, 0};
  EXPECT_TRUE(succeeded(check(wrong)));
}

TEST(GemmCheckTest, ChecksFactorsOfBlocks) {
  GemmSpec full = spec(200, 300, 400, DType::F8E4M3, DType::BF16);
  full.precision = Precision::Fast;
  EXPECT_EQ(must(check(full)).precision, Precision::Fast);
  full.a_scale = matrix(200, 4);
  full.a_granularity = Granularity::PerRowBlock;
  full.b_scale = matrix(4, 3);
  full.b_granularity = Granularity::PerBlock;
  const GemmProblem problem = must(check(full));
  EXPECT_EQ(problem.precision, Precision::Exact);
  EXPECT_TRUE(problem.has_block_scales());
  EXPECT_EQ(problem.a_scale->stride, 4);
  EXPECT_EQ(problem.a_scale->k_stride, 1);
  EXPECT_EQ(problem.a_scale->extent, 1);
  EXPECT_EQ(problem.b_scale->stride, 1);
  EXPECT_EQ(problem.b_scale->k_stride, 3);
  EXPECT_EQ(problem.b_scale->extent, 128);
  GemmSpec by_column = full;
  by_column.b_scale = matrix(4, 300);
  by_column.b_granularity = Granularity::PerColumnBlock;
  EXPECT_EQ(must(check(by_column)).b_scale->extent, 1);

  GemmSpec wrong = full;
  wrong.a_scale = matrix(200, 3);
  EXPECT_TRUE(refused(check(wrong), Code::GemmShapeMismatch, "[200, 4]"));
  wrong = full;
  wrong.b_scale = matrix(3, 3);
  EXPECT_TRUE(refused(check(wrong), Code::GemmShapeMismatch, "[4, 3]"));
  wrong = full;
  wrong.b_scale = vector(12);
  EXPECT_TRUE(refused(check(wrong), Code::GemmShapeMismatch, "rank 1"));
  wrong = full;
  wrong.a_granularity = Granularity::PerBlock;
  EXPECT_TRUE(refused(check(wrong), Code::GemmEpilogueConflict, "a_scale"));
  wrong = full;
  wrong.b_granularity = Granularity::PerRowBlock;
  EXPECT_TRUE(refused(check(wrong), Code::GemmEpilogueConflict, "b_scale"));
  wrong = full;
  wrong.a_scale->dtype = DType::BF16;
  EXPECT_TRUE(refused(check(wrong), Code::GemmTypeMismatch, "a_scale"));
  for (const DType type : {DType::I8, DType::BF16, DType::F32}) {
    wrong = full;
    wrong.a.dtype = wrong.b.dtype = type;
    EXPECT_TRUE(refused(check(wrong), Code::GemmEpilogueConflict, name(type).data()));
  }
}

TEST(GemmCheckTest, AnI32OutputTakesNoTermBesideAccumulation) {
  const GemmSpec plain = spec(2, 3, 4, DType::I8, DType::I32);
  GemmSpec accumulate = plain;
  accumulate.beta.value = 1;
  EXPECT_TRUE(succeeded(check(accumulate)));
  const auto refuses = [](GemmSpec changed, const char* word) {
    EXPECT_TRUE(refused(check(changed), Code::GemmEpilogueConflict, word));
  };
  GemmSpec x = plain;
  x.alpha.value = 2;
  refuses(x, "alpha");
  x = plain;
  x.beta.value = 0.5F;
  refuses(x, "beta");
  x = plain;
  x.bias = vector(3);
  refuses(x, "bias");
  x = plain;
  x.residual = matrix(2, 3);
  refuses(x, "residual");
  x = plain;
  x.a_scale = vector(1);
  refuses(x, "scale");
  x = plain;
  x.activation = Activation::Relu;
  refuses(x, "activation");
}

TEST(GemmCheckTest, AnEighthOutputHasAFactorAndIsNotRead) {
  for (const DType output : {DType::I8, DType::F8E4M3, DType::F8E5M2}) {
    const GemmSpec plain = spec(2, 3, 4, DType::BF16, output);
    EXPECT_FALSE(must(check(plain)).scales_c);
    GemmSpec x = plain;
    x.c_scale = vector(1);
    EXPECT_TRUE(must(check(x)).scales_c);
    EXPECT_FALSE(must(check(x)).has_identity_epilogue());
    EXPECT_EQ(must(check(x)).bytes(), 2.0 * (2 * 4 + 4 * 3) + 2 * 3);
    x.c_scale = Geometry{DType::F32, {}, {}, 0};
    EXPECT_TRUE(must(check(x)).scales_c);
    x.c_scale = vector(2);
    EXPECT_TRUE(refused(check(x), Code::GemmShapeMismatch, "c_scale"));
    x.c_scale = vector(3);
    for (const Granularity granularity : {Granularity::PerRow, Granularity::PerColumn,
                                          Granularity::PerRowBlock, Granularity::PerBlock}) {
      x.c_granularity = granularity;
      EXPECT_TRUE(refused(check(x), Code::GemmEpilogueConflict, "c_scale must be PerTensor"));
    }
    x = plain;
    x.c_scale = vector(1);
    x.c_scale->dtype = DType::BF16;
    EXPECT_TRUE(refused(check(x), Code::GemmTypeMismatch, "c_scale"));
    x = plain;
    x.beta.value = 1;
    EXPECT_TRUE(refused(check(x), Code::GemmEpilogueConflict, "beta is not 0"));
    x.beta = {.on_device = true};
    EXPECT_TRUE(refused(check(x), Code::GemmEpilogueConflict, "beta is a device scalar"));
    x = plain;
    x.residual = matrix(2, 3, output);
    EXPECT_TRUE(refused(check(x), Code::GemmTypeMismatch, "residual"));
    x.residual = matrix(2, 3);
    EXPECT_TRUE(succeeded(check(x)));
  }
  for (const DType output : {DType::F32, DType::BF16, DType::F16}) {
    GemmSpec x = spec(2, 3, 4, DType::F32, output);
    x.c_scale = vector(1);
    EXPECT_TRUE(refused(check(x), Code::GemmEpilogueConflict, "c_scale is for"));
  }
  GemmSpec integers = spec(2, 3, 4, DType::I8, DType::I32);
  integers.c_scale = vector(1);
  EXPECT_TRUE(refused(check(integers), Code::GemmEpilogueConflict, "c_scale is for"));
}

TEST(GemmCheckTest, AGateJoinsTwoColumnsIntoOne) {
  GemmSpec gated = spec(3, 10, 7);
  gated.c = matrix(3, 5, DType::BF16);
  gated.gate = Gate{};
  gated.bias = vector(10);
  gated.residual = matrix(3, 5);
  gated.b_scale = vector(10);
  gated.b_granularity = Granularity::PerColumn;
  const GemmProblem problem = must(check(gated));
  EXPECT_EQ(problem.n, 10);
  EXPECT_EQ(problem.c_columns(), 5);
  EXPECT_EQ(problem.gate, Gate{});
  EXPECT_FALSE(problem.has_identity_epilogue());
  EXPECT_EQ(problem.flops(), 2.0 * 3 * 10 * 7);
  EXPECT_EQ(problem.bytes(), 4.0 * (3 * 7 + 7 * 10 + 10) + (2.0 + 4.0) * 3 * 5);
  GemmSpec plain = spec(3, 10, 7);
  plain.gate = Gate{};
  EXPECT_TRUE(refused(check(plain), Code::GemmShapeMismatch, "3 by 5"));
  plain.c = matrix(3, 5);
  EXPECT_FALSE(must(check(plain)).has_identity_epilogue());
  plain.gate.reset();
  EXPECT_TRUE(refused(check(plain), Code::GemmShapeMismatch, "3 by 10"));
}

TEST(GemmProblemTest, SaysWhatIsRead) {
  EXPECT_FALSE(must(check(spec(2, 2, 2))).reads_c());
  EXPECT_FALSE(must(check(spec(2, 2, 2))).skips_product());
  EXPECT_TRUE(must(check(spec(2, 2, 0))).skips_product());
  EXPECT_TRUE(must(check(spec(0, 2, 2))).is_empty());
  EXPECT_TRUE(must(check(spec(2, 0, 2))).is_empty());
  EXPECT_FALSE(must(check(spec(2, 2, 0))).is_empty());
  GemmSpec scaled = spec(2, 2, 2);
  scaled.alpha.value = 0;
  scaled.beta.value = 1;
  EXPECT_TRUE(must(check(scaled)).skips_product());
  EXPECT_TRUE(must(check(scaled)).reads_c());
  scaled.alpha.on_device = true;  // the host cannot know that it is zero
  scaled.beta = {.on_device = true};
  EXPECT_FALSE(must(check(scaled)).skips_product());
  EXPECT_TRUE(must(check(scaled)).reads_c());
}

}  // namespace
}  // namespace girih
