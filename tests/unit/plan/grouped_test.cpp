#include "plan/grouped.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "plan/cuda_grouped.hpp"
#include "runtime/registry.hpp"
#include "support/expect.hpp"

namespace girih {
namespace {

using testing::must;
using testing::refused;

Geometry dense(const Shape& shape, DType dtype) {
  return {dtype, shape, contiguous_strides(shape), 0};
}

GroupedGemmSpec by_rows(std::int64_t groups, std::int64_t rows, std::int64_t n, std::int64_t k) {
  return {.product = {.a = dense({rows, k}, DType::BF16),
                      .b = dense({groups, k, n}, DType::BF16),
                      .c = dense({rows, n}, DType::BF16)},
          .offsets = dense({groups + 1}, DType::I32)};
}
GroupedGemmSpec by_depth(std::int64_t groups, std::int64_t m, std::int64_t n, std::int64_t rows) {
  return {.product = {.a = dense({m, rows}, DType::BF16),
                      .b = dense({rows, n}, DType::BF16),
                      .c = dense({groups, m, n}, DType::F32)},
          .offsets = dense({groups + 1}, DType::I32)};
}

SelectionContext context_of(const DeviceInfo& device, int threads) {
  return {.device = &device,
          .kernels = kernels_of(device.backend),
          .threads = threads,
          .forced_kernel = ""};
}

TEST(GroupedSelectTest, DevicesWithoutKernelsRefuse) {
  int refusals = 0;
  for (const DeviceInfo& device : device_fixtures()) {
    const auto choice = select(must(check(by_rows(8, 512, 64, 64))), context_of(device, 1));
    const bool has_rows = device.backend != Backend::Metal;
    if (has_rows) {
      EXPECT_TRUE(testing::succeeded(choice)) << device.name;
      continue;
    }
    EXPECT_TRUE(refused(choice, Code::GemmNoKernel, "grouped_gemm"));
    ++refusals;
  }
  EXPECT_GT(refusals, 1);
}

SelectionContext on_h200() {
  return context_of(*find_fixture("h200"), 1);
}

TEST(GroupedSelectTest, MatrixRowsTakeWhatTensorCopiesCanRead) {
  const auto kernel_of = [](const GroupedGemmSpec& spec) {
    return must(select(must(check(spec)), on_h200())).kernel->name;
  };
  EXPECT_EQ(kernel_of(by_rows(8, 4096, 4096, 2048)), "cuda_grouped_gemm_16bit_128x256x64_wgmma");
  EXPECT_EQ(kernel_of(by_rows(128, 8192, 4096, 2048)), "cuda_grouped_gemm_16bit_64x256x64_wgmma");
  EXPECT_EQ(kernel_of(by_rows(512, 20480, 2048, 4096)), "cuda_grouped_gemm_16bit_64x256x64_wgmma");
  EXPECT_EQ(kernel_of(by_depth(8, 4096, 2048, 4096)), "cuda_grouped_gemm_16bit_128x256x64_wgmma");
  GroupedGemmSpec scaled = by_depth(8, 4096, 2048, 4096);
  scaled.product.a_scale = dense({8, 4096}, DType::F32);
  scaled.product.a_granularity = Granularity::PerRow;
  EXPECT_EQ(kernel_of(scaled), "cuda_grouped_gemm_16bit_128x256x64_wgmma");
  // K or N of no multiple of 16 bytes, no product at all, columns that lie apart.
  EXPECT_EQ(kernel_of(by_rows(8, 4096, 4096, 2044)), "cuda_grouped_gemm_f32_64x64_simt");
  EXPECT_EQ(kernel_of(by_depth(8, 4096, 2044, 4096)), "cuda_grouped_gemm_f32_64x64_simt");
  GroupedGemmSpec unread = by_rows(8, 4096, 4096, 2048);
  unread.product.alpha.value = 0;
  EXPECT_EQ(kernel_of(unread), "cuda_grouped_gemm_f32_64x64_simt");
  GroupedGemmSpec turned = by_rows(8, 4096, 4096, 2048);
  turned.product.c.strides = {1, 4096};
  EXPECT_EQ(kernel_of(turned), "cuda_grouped_gemm_f32_64x64_simt");
  turned.product.path = Path::Matrix;
  EXPECT_TRUE(refused(select(must(check(turned)), on_h200()), Code::GemmNoKernel, "layouts"));
}

// A sum over a contiguous depth begins where a tensor copy can, at zeros of other groups' rows.
TEST(GroupedSelectTest, MatrixRowsKeepRowsInvariantWhereGroupsBeginAtTheirOwnDepth) {
  const auto path_of = [](const GroupedGemmSpec& spec) {
    return must(select(must(check(spec)), on_h200())).kernel->path;
  };
  GroupedGemmSpec x = by_depth(8, 4096, 2048, 4096);
  EXPECT_EQ(path_of(x), Path::Matrix);
  x.product.reproducibility = Reproducibility::RowInvariant;
  EXPECT_EQ(path_of(x), Path::Portable) << "A is contiguous along the depth";
  x.product.a.strides = {1, 4096};
  EXPECT_EQ(path_of(x), Path::Matrix);
  x.product.b.strides = {1, 4096};
  EXPECT_EQ(path_of(x), Path::Portable) << "so is B";
}

TEST(GroupedSelectTest, BothHalvesOfAGateBeginWhereTensorCopiesCan) {
  const auto path_of = [](std::int64_t columns, bool along_k) {
    GroupedGemmSpec spec = by_rows(8, 4096, 2 * columns, 2048);
    spec.product.c.shape = {4096, columns};
    spec.product.gate = Gate{.order = GateOrder::Concatenated};
    if (along_k) spec.product.b.strides = {2 * columns * 2048, 1, 2048};
    return must(select(must(check(spec)), on_h200())).kernel->path;
  };
  EXPECT_EQ(path_of(1024, false), Path::Matrix);
  EXPECT_EQ(path_of(1020, false), Path::Portable) << "rows of 4080 bytes, halves of 2040";
  EXPECT_EQ(path_of(1020, true), Path::Matrix);
}

TEST(GroupedSelectTest, TheTableHoldsWhateverTheOffsets) {
  for (const std::int64_t groups : {1, 8, 512, 100'000}) {
    for (const std::int64_t rows : {1, 63, 64, 65, 4096, 1'000'000}) {
      const GroupedGemmProblem problem = must(check(by_rows(groups, rows, 64, 64)));
      const CudaGroupedTable table = cuda_grouped_table(problem, 64);
      // The most units: each group but one has a single row, and that one has the rest.
      const std::int64_t short_groups = std::min(groups, rows) - 1;
      const std::int64_t units = short_groups + (rows - short_groups + 63) / 64;
      EXPECT_GE(table.most_units, units) << groups << " " << rows;
      EXPECT_GE(table.firsts_at - table.units_at, units * 16);
      EXPECT_GE(table.bytes - table.firsts_at, 4 * (groups + 1));
    }
  }
}

// Where K is not contiguous a group begins at the multiple of eight rows before it.
TEST(GroupedSelectTest, TheTableHoldsGroupsThatBeginEarly) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto groups = static_cast<std::int64_t>(random() % 40) + 1;
    std::vector<std::int64_t> offsets = {static_cast<std::int64_t>(random() % 9)};
    const std::uint64_t longest = std::array{2, 10, 66, 130}[random() % 4];
    for (std::int64_t g = 0; g < groups; ++g) {
      offsets.push_back(offsets.back() + static_cast<std::int64_t>(random() % longest));
    }
    const std::int64_t rows = std::max<std::int64_t>(offsets.back(), 1);
    std::int64_t units = 0;
    for (std::size_t g = 0; g + 1 < offsets.size(); ++g) {
      const std::int64_t begin = offsets[g] / 8 * 8, end = offsets[g + 1];
      if (end > offsets[g]) units += (end - begin + 63) / 64;
    }
    ASSERT_LE(units, cuda_grouped_table(must(check(by_rows(groups, rows, 64, 64))), 64).most_units);
  }
}

TEST(GroupedSelectTest, RefusesMoreGroupsThanCount) {
  const GroupedGemmProblem problem = must(check(by_rows(std::int64_t{1} << 62, 65536, 0, 65536)));
  EXPECT_TRUE(refused(select(problem, on_h200()), Code::GemmNoKernel, "2^31"));
  // As many groups do, but not with every tile of their columns.
  const auto choice = [](std::int64_t n) {
    return select(must(check(by_rows(2'000'000'000, 4096, n, 64))), on_h200());
  };
  EXPECT_TRUE(testing::succeeded(choice(8)));
  EXPECT_TRUE(refused(choice(1024), Code::GemmNoKernel, "2^31"));
}

TEST(GroupedSelectTest, WorkspaceIsBoundedForAllSizesAndThreads) {
  for (const DeviceInfo& device : device_fixtures()) {
    if (device.backend != Backend::Cpu) continue;
    for (const int threads : {1, 2, 16, 64, 256}) {
      for (const std::int64_t groups : {1, 8, 512}) {
        for (const std::int64_t rows : {1, 4096, 1'000'000}) {
          for (const std::int64_t width : {16, 2048, 14336}) {
            for (const GroupedGemmSpec& spec :
                 {by_rows(groups, rows, width, 4096), by_depth(groups, width, 4096, rows)}) {
              const GroupedGemmSelection choice =
                  must(select(must(check(spec)), context_of(device, threads)));
              EXPECT_LE(choice.workspace_bytes, std::int64_t{64} << 20)
                  << device.name << " " << threads << " " << groups << " " << rows << " " << width;
              EXPECT_GE(choice.workspace_bytes, choice.together.workspace_bytes);
              EXPECT_GE(choice.workspace_bytes,
                        choice.alone.workspace_bytes * choice.concurrent_groups);
              EXPECT_LE(choice.concurrent_groups, choice.threads);
              EXPECT_LE(choice.threads, threads);
            }
          }
        }
      }
    }
  }
}

TEST(GroupedSelectTest, ExplainsWhatItChose) {
  const auto device = std::find_if(device_fixtures().begin(), device_fixtures().end(),
                                   [](const DeviceInfo& x) { return x.backend == Backend::Cpu; });
  ASSERT_NE(device, device_fixtures().end());
  const GroupedGemmProblem problem = must(check(by_rows(128, 8192, 2048, 4096)));
  const Plan plan = must(explain(problem, context_of(*device, 2)));
  EXPECT_EQ(plan.flops, 2.0 * 8192 * 2048 * 4096);
  EXPECT_GT(plan.predicted_seconds, 0);
  EXPECT_NE(plan.to_string().find("128 groups share the rows"), std::string::npos);
  EXPECT_NE(plan.to_string().find("one a thread"), std::string::npos);
  EXPECT_EQ(plan.rejected.size() + 1,
            static_cast<std::size_t>(
                std::count_if(kernels_of(Backend::Cpu).begin(), kernels_of(Backend::Cpu).end(),
                              [](const KernelInfo& row) { return row.serves(Op::GroupedGemm); })));
}

TEST(GroupedSelectTest, AForcedRowBindsGroupsToo) {
  for (const DeviceInfo& device : device_fixtures()) {
    if (device.backend != Backend::Cpu) continue;
    SelectionContext context = context_of(device, 2);
    const GroupedGemmProblem problem = must(check(by_rows(4, 100, 20, 30)));
    context.forced_kernel = "cpu_gemm_f32_4x4_scalar";
    EXPECT_EQ(must(select(problem, context)).kernel->name, context.forced_kernel);
    context.forced_kernel = "cpu_gemm_i8_4x4_scalar";
    EXPECT_TRUE(refused(select(problem, context), Code::GemmNoKernel, "i8"));
    context.forced_kernel = "cpu_copy_any_32x32_scalar";
    EXPECT_TRUE(refused(select(problem, context), Code::GemmUnknownKernel, "no row of"));
  }
}

TEST(GroupedSelectTest, ATooSmallWorkspaceIsRefused) {
  const auto device = std::find_if(device_fixtures().begin(), device_fixtures().end(),
                                   [](const DeviceInfo& x) { return x.backend == Backend::Cpu; });
  ASSERT_NE(device, device_fixtures().end());
  GroupedGemmSpec spec = by_rows(4, 100, 200, 300);
  const std::int64_t needed =
      must(select(must(check(spec)), context_of(*device, 2))).workspace_bytes;
  spec.product.workspace_bytes = needed;
  EXPECT_TRUE(testing::succeeded(select(must(check(spec)), context_of(*device, 2))));
  spec.product.workspace_bytes = needed - 1;
  EXPECT_TRUE(refused(select(must(check(spec)), context_of(*device, 2)), Code::WorkspaceTooSmall,
                      "workspace"));
}

}  // namespace
}  // namespace girih
