#include "plan/metal_gemm.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>

#include "backends/metal/device.hpp"
#include "plan/gemm.hpp"
#include "support/expect.hpp"

// Selection for Apple GPUs, without one.

namespace girih {
namespace {

using testing::must;
using testing::refused;
using testing::succeeded;

GemmSpec spec(std::int64_t m, std::int64_t n, std::int64_t k, DType operands = DType::BF16,
              DType output = DType::F32) {
  return {.a = {operands, {m, k}, {k, 1}, 0},
          .b = {operands, {k, n}, {n, 1}, 0},
          .c = {output, {m, n}, {n, 1}, 0}};
}

SelectionContext context_on(std::string_view device) {
  return {.device = find_fixture(device),
          .kernels = metal::kernel_table(),
          .threads = 1,
          .forced_kernel = {}};
}

std::string kernel_for(const GemmSpec& what, std::string_view device = "m5pro") {
  const Result<GemmSelection> choice = select(must(check(what)), context_on(device));
  return choice ? std::string(choice->kernel->name) : choice.error().message;
}

TEST(MetalSelection, TheMatrixUnitServesWhatItMultipliesExactly) {
  EXPECT_EQ(kernel_for(spec(4096, 4096, 4096)), "metal_gemm_16bit_128x64_tensorops");
  EXPECT_EQ(kernel_for(spec(64, 64, 4096, DType::F16)), "metal_gemm_16bit_64x64_tensorops");
  EXPECT_EQ(kernel_for(spec(512, 512, 512, DType::I8, DType::I32)),
            "metal_gemm_i8_64x64_tensorops");
  EXPECT_EQ(kernel_for(spec(4096, 4096, 4096, DType::F32)), "metal_gemm_f32_64x64_simdgroup");
}

TEST(MetalSelection, OlderGpusHaveARowForEachType) {
  for (const char* device : {"m4max", "m1"}) {
    EXPECT_EQ(kernel_for(spec(512, 512, 512), device), "metal_gemm_16bit_64x64_simdgroup");
    EXPECT_EQ(kernel_for(spec(512, 512, 512, DType::F32), device),
              "metal_gemm_f32_64x64_simdgroup");
    EXPECT_EQ(kernel_for(spec(512, 512, 512, DType::I8, DType::I32), device),
              "metal_gemm_i8_64x64_simt");
  }
}

TEST(MetalSelection, APlanTellsWhy) {
  const Plan plan =
      must(explain(must(check(spec(512, 512, 512, DType::F32))), context_on("m5pro")));
  const std::string text = plan.to_string();
  EXPECT_NE(text.find("f32 stays off the matrix unit"), std::string::npos) << text;
  EXPECT_NE(text.find("rejected: metal_gemm_16bit_128x64_tensorops: "), std::string::npos) << text;
  GemmSpec odd = spec(512, 512, 511);
  const Plan packed = must(explain(must(check(odd)), context_on("m5pro")));
  EXPECT_NE(packed.to_string().find("A is packed first"), std::string::npos);
  EXPECT_EQ(packed.to_string().find("B is packed first"), std::string::npos);
  EXPECT_GT(packed.workspace_bytes, 0U);
}

TEST(MetalSelection, TheMatrixUnitServesF32ThatMayBeRounded) {
  GemmSpec what = spec(64, 64, 64, DType::F32);
  for (const Precision precision : {Precision::Tf32, Precision::Fast}) {
    what.precision = precision;
    EXPECT_EQ(kernel_for(what), "metal_gemm_f32_64x64_tensorops");
  }
  EXPECT_EQ(kernel_for(what, "m4max"), "metal_gemm_f32_64x64_simdgroup");
  what.path = Path::Portable;
  EXPECT_EQ(kernel_for(what), "metal_gemm_f32_64x64_simdgroup");
  what.path = Path::Auto;
  what.precision = Precision::Tf32;
  EXPECT_TRUE(
      refused(select(must(check(what)), context_on("m4max")), Code::GemmNoKernel, "tensorops"));
}

TEST(MetalSelection, ExactF32IsNeverRounded) {
  for (const KernelInfo& row : metal::kernel_table()) {
    if (row.op == Op::Gemm && row.operands.has(DType::F32)) {
      EXPECT_EQ(row.multiplies_tf32, row.path == Path::Matrix) << row.name;
    }
  }
  SelectionContext context = context_on("m5pro");
  context.forced_kernel = "metal_gemm_f32_64x64_tensorops";
  EXPECT_TRUE(refused(select(must(check(spec(64, 64, 64, DType::F32))), context),
                      Code::GemmNoKernel, "precision exact asked"));
}

TEST(MetalSelection, SplitOperandsTakeThreeTimesTheDepth) {
  GemmSpec what = spec(64, 80, 100, DType::F32);
  what.precision = Precision::Fast;
  const GemmSelection split = must(select(must(check(what)), context_on("m5pro")));
  EXPECT_EQ(metal_depth(must(check(what)), *split.kernel), 300);
  EXPECT_EQ(split.workspace_bytes, 64 * 320 * 4 + 300 * 128 * 4);
  what.precision = Precision::Tf32;
  const GemmSelection rounded = must(select(must(check(what)), context_on("m5pro")));
  EXPECT_EQ(rounded.workspace_bytes, 64 * 128 * 4 + 100 * 128 * 4);
  EXPECT_LT(rounded.predicted_seconds, split.predicted_seconds);
}

TEST(MetalSelection, LongSumsOfFewTilesAreSplitUnlessRowsAreInvariant) {
  GemmSpec what = spec(64, 64, 65536);
  const GemmSelection split = must(select(must(check(what)), context_on("m5pro")));
  EXPECT_GT(split.split_k, 1);
  EXPECT_EQ(split.split_kind, SplitKind::Workspace);
  EXPECT_GE(split.workspace_bytes, split.split_k * 64 * 64 * 4);
  what.reproducibility = Reproducibility::RowInvariant;
  EXPECT_EQ(must(select(must(check(what)), context_on("m5pro"))).split_k, 1);
}

TEST(MetalSelection, EverySliceOfASplitHasSomethingToAdd) {
  for (const std::int64_t k : {1024, 1025, 4095, 65537, 1000003}) {
    const GemmSelection choice = must(select(must(check(spec(8, 8, k))), context_on("m5pro")));
    if (choice.split_k == 1) continue;
    const std::int64_t slice = metal_slice(k, choice.split_k);
    EXPECT_LT(slice * (choice.split_k - 1), k) << k;
    EXPECT_GE(slice * choice.split_k, k) << k;
  }
}

TEST(MetalSelection, OperandsThatMatmul2dCannotReadArePacked) {
  const MatrixLayout rows{DType::BF16, 64, 1, 0, 64};
  EXPECT_FALSE(metal_operand(rows, MetalParts::None).packed);
  EXPECT_FALSE(metal_operand(rows, MetalParts::None).column_major);
  const MatrixLayout columns{DType::BF16, 1, 64, 4096, 16};
  EXPECT_FALSE(metal_operand(columns, MetalParts::None).packed);
  EXPECT_TRUE(metal_operand(columns, MetalParts::None).column_major);
  for (const MatrixLayout& odd :
       {MatrixLayout{DType::BF16, 63, 1, 0, 64}, MatrixLayout{DType::BF16, 64, 2, 0, 64},
        MatrixLayout{DType::BF16, 64, 1, 0, 8}, MatrixLayout{DType::BF16, 64, 1, 63, 64},
        MatrixLayout{DType::BF16, 0, 1, 0, 64}, MatrixLayout{DType::I8, 8, 1, 0, 64},
        MatrixLayout{DType::BF16, std::int64_t{1} << 24, 1, 0, 64}}) {
    EXPECT_TRUE(metal_operand(odd, MetalParts::None).packed)
        << odd.row_stride << " " << odd.column_stride;
  }
}

GemmProblem gated(std::int64_t m, std::int64_t n, std::int64_t k, GateOrder order,
                  bool b_transposed = false) {
  GemmSpec x = spec(m, 2 * n, k);
  if (b_transposed) x.b.strides = {1, k};
  x.c = {DType::F32, {m, n}, {n, 1}, 0};
  x.gate = Gate{.order = order};
  return must(check(x));
}

TEST(MetalSelection, TheHalvesOfAGateArePackedApartWhereMatmul2dCannotReadThem) {
  const GemmProblem plain = gated(64, 64, 128, GateOrder::Concatenated);
  const KernelInfo& row = *must(select(plain, context_on("m5pro"))).kernel;
  ASSERT_EQ(row.path, Path::Matrix);
  const MetalColumns halves = metal_columns(plain, row);
  EXPECT_EQ(halves.halves, 2);
  EXPECT_EQ(halves.count, 64);
  EXPECT_FALSE(halves.operand.packed);
  EXPECT_EQ(halves.operand_up, 64);
  EXPECT_EQ(metal_workspace(plain, row, 1).bytes(), 0);
  // Columns that lie together may be taken in turn.
  const MetalColumns columns = metal_columns(gated(64, 64, 128, GateOrder::Interleaved, true), row);
  EXPECT_FALSE(columns.operand.packed);
  EXPECT_EQ(columns.operand.column_stride, 256);
  EXPECT_EQ(columns.operand_up, 128);
  // Neighbours in a row may not; nor may the second half begin anywhere.
  for (const GemmProblem& x :
       {gated(64, 64, 128, GateOrder::Interleaved), gated(64, 60, 128, GateOrder::Concatenated)}) {
    const MetalColumns packed = metal_columns(x, row);
    EXPECT_TRUE(packed.operand.packed);
    EXPECT_EQ(packed.operand.row_stride, 64);
    EXPECT_EQ(packed.operand_up, 128 * 64);
    EXPECT_EQ(metal_workspace(x, row, 1).b_bytes, 2 * 128 * 64 * 2);
    const std::string text = must(explain(x, context_on("m5pro"))).to_string();
    EXPECT_NE(text.find("B is packed first"), std::string::npos) << text;
  }
}

TEST(MetalSelection, ExtentsBeyond32BitsAreRefused) {
  const auto of_rows = [](std::int64_t m) {
    return select(must(check(spec(m, 1, 1))), context_on("m5pro"));
  };
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1024;
  EXPECT_TRUE(refused(of_rows(kMost + 1), Code::GemmNoKernel, "count to 2^31 - 1024"));
  EXPECT_TRUE(succeeded(of_rows(kMost)));
}

}  // namespace
}  // namespace girih
