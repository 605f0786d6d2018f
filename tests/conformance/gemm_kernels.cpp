#include <array>
#include <gtest/gtest.h>
#include <map>

#include "support/backends.hpp"
#include "support/gemm.hpp"
#include "verify/coverage.hpp"
#include "verify/elementwise_case.hpp"

// Every row of the kernel table that this machine can run is run, whatever selection prefers.

namespace girih::testing {
namespace {

using verify::CaseReport;
using verify::Coverage;
using verify::GemmCase;
using verify::Mode;

std::vector<std::string> names_of(const std::vector<UsableKernel>& kernels) {
  std::vector<std::string> names;
  for (const UsableKernel& kernel : kernels) names.emplace_back(kernel.info.name);
  return names;
}

constexpr auto kOperands = std::to_array<DType>(
    {DType::F32, DType::BF16, DType::F16, DType::I8, DType::F8E4M3, DType::F8E5M2});

class KernelRows : public BackendTest {};

/// Cases of the fuzzer cut to what the row takes.
void run_gemm_row(const UsableKernel& kernel, Coverage& coverage) {
  Runtime runtime = open(kernel.backend, {.force_kernel = std::string(kernel.info.name)});
  constexpr std::uint64_t kCasesOfATypePair = 8;
  for (const DType operands : kOperands) {
    for (const DType output :
         {DType::F32, DType::BF16, DType::F16, DType::I32, DType::I8, DType::F8E4M3}) {
      if (!kernel.info.operands.has(operands) || !kernel.info.outputs.has(output)) continue;
      for (std::uint64_t i = 0; i < kCasesOfATypePair; ++i) {
        GemmCase x = verify::make_gemm_case(77, i, operands, output);
        x.path = Path::Auto;
        if (!kernel.info.gates) x.gate.reset();
        if (x.precision == Precision::Tf32) x.precision = Precision::Exact;
        if (x.a_scale == Granularity::PerRowBlock) x.a_scale = Granularity::PerRow;
        if (x.b_scale > Granularity::PerColumn) x.b_scale = Granularity::PerColumn;
        if (kernel.info.splits_f32) {
          x.precision = Precision::Fast;
          x.reproducibility = Reproducibility::PerShape;
          x.c.column_major = x.residual_layout.column_major = false;
          x.c.step = x.residual_layout.step = 1;
        }
        if (kernel.info.multiplies_tf32) x.precision = i % 2 ? Precision::Fast : Precision::Tf32;
        if (kernel.info.precision) x.precision = *kernel.info.precision;
        if (kernel.info.scales_blocks && i % 4 != 0) {
          // Deep stages decline an odd number of factors along K.
          x.k = (x.k + kernel.info.tile_k - 1) / kernel.info.tile_k * kernel.info.tile_k;
          x.a_scale = i % 4 == 3 ? Granularity::PerRow : Granularity::PerRowBlock;
          x.b_scale = i % 4 == 2 ? Granularity::PerColumnBlock : Granularity::PerBlock;
        }
        const bool is_eighth = operands == DType::F8E4M3 || operands == DType::F8E5M2;
        if (is_eighth && !kernel.info.precision) x.precision = Precision::Exact;
        const CaseReport report = verify::run_case(runtime, x, static_cast<Mode>(i % 3));
        EXPECT_EQ(report.outcome, CaseReport::Outcome::Passed)
            << x.to_string() << "\n  on " << kernel.info.name << ": " << report.detail;
        EXPECT_EQ(report.kernel, kernel.info.name);
        coverage.hit(report.kernel);
      }
    }
  }
}

TEST_P(KernelRows, EveryUsableGemmRowIsRun) {
  const std::vector<UsableKernel> kernels = usable_kernels(GetParam(), Op::Gemm);
  ASSERT_FALSE(kernels.empty());
  Coverage coverage;
  for (const UsableKernel& kernel : kernels) run_gemm_row(kernel, coverage);
  EXPECT_EQ(coverage.missing(names_of(kernels)), std::vector<std::string>{});
}

TEST_P(KernelRows, EveryUsableElementwiseRowIsRun) {
  for (const Op op : {Op::Copy, Op::Cast, Op::Fill}) {
    const std::vector<UsableKernel> kernels = usable_kernels(GetParam(), op);
    ASSERT_FALSE(kernels.empty()) << name(op);
    Coverage coverage;
    for (const UsableKernel& kernel : kernels) {
      Runtime runtime = open(GetParam(), {.force_kernel = std::string(kernel.info.name)});
      for (std::uint64_t i = 0; i < 60; ++i) {
        const auto x = verify::make_elementwise_case(op, 5, i);
        if (!kernel.info.operands.has(x.source_type)) continue;
        const CaseReport report = verify::run_case(runtime, x, static_cast<Mode>(i % 3));
        EXPECT_FALSE(report.failed()) << x.to_string() << ": " << report.detail;
        coverage.hit(report.kernel);
      }
    }
    EXPECT_EQ(coverage.missing(names_of(kernels)), std::vector<std::string>{});
  }
}

TEST_P(KernelRows, AForcedRowThatCannotRunIsAnError) {
  EXPECT_TRUE(
      refused(Runtime::open({.backend = GetParam(), .force_kernel = "cpu_gemm_f32_1x1_abacus"}),
              Code::GemmUnknownKernel, "abacus"));
  const std::string integer_row = [&] {
    for (const UsableKernel& kernel : usable_kernels(GetParam(), Op::Gemm)) {
      if (!kernel.info.operands.has(DType::F32)) return std::string(kernel.info.name);
    }
    return std::string();
  }();
  ASSERT_FALSE(integer_row.empty());
  Runtime runtime = open(GetParam(), {.force_kernel = integer_row});
  const Tensor x = must(runtime.tensor({4, 4}, DType::F32));
  const Tensor c = must(runtime.tensor({4, 4}, DType::F32));
  const std::uint64_t before = runtime.dispatch_count();
  EXPECT_TRUE(refused(gemm(runtime, {.a = x, .b = x, .c = c}), Code::GemmNoKernel, ""));
  EXPECT_EQ(runtime.dispatch_count(), before);
}

TEST_P(KernelRows, RowsOfOneReductionClassGiveEqualBits) {
  const std::vector<UsableKernel> kernels = usable_kernels(GetParam(), Op::Gemm);
  for (const DType operands : kOperands) {
    for (const std::int64_t k : {1, 33, 1000, 3001}) {
      std::map<Reduction, std::pair<std::string, std::vector<std::byte>>> first;
      for (const UsableKernel& kernel : kernels) {
        // Rows that split f32 decline to be invariant.
        if (!kernel.info.operands.has(operands) || kernel.info.splits_f32) continue;
        Runtime runtime = open(GetParam(), {.force_kernel = std::string(kernel.info.name)});
        const Tensor a = random_tensor(runtime, {37, k}, operands, 1);
        const Tensor b = random_tensor(runtime, {k, 51}, operands, 2);
        const std::vector<std::byte> bits = product(
            runtime, a, b, DType::F32, Reproducibility::RowInvariant, precision_of(kernel.info));
        const auto& [name, expected] =
            first.try_emplace(kernel.info.reduction, kernel.info.name, bits).first->second;
        EXPECT_EQ(bits, expected) << kernel.info.name << " and " << name << ", K " << k;
      }
    }
  }
}

GIRIH_FOR_ALL_BACKENDS(KernelRows);

}  // namespace
}  // namespace girih::testing
