#include "plan/cuda_skinny.hpp"

#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "backends/cuda/device.hpp"
#include "core/checked.hpp"
#include "support/expect.hpp"

// Products with few rows on GPUs, without one.

namespace girih {
namespace {

using cuda::SkinnyForm;
using testing::must;

GemmSpec spec(std::int64_t m, std::int64_t n, std::int64_t k, bool along_k = true,
              DType operands = DType::BF16) {
  GemmSpec result{.a = {operands, {m, k}, {k, 1}, 0},
                  .b = {operands, {k, n}, {n, 1}, 0},
                  .c = {DType::F32, {m, n}, {n, 1}, 0}};
  if (along_k) result.b.strides = {1, k};
  return result;
}
GemmProblem problem(const GemmSpec& spec) {
  return must(check(spec));
}
CudaSkinnyLaunch launch_of(const GemmSpec& spec) {
  return cuda_skinny_launch(problem(spec), 132, true);
}
SelectionContext context(std::string_view forced = "") {
  return {.device = find_fixture("h200"),
          .kernels = cuda::kernel_table(),
          .threads = 1,
          .forced_kernel = forced};
}
GemmSelection chosen(const GemmSpec& spec) {
  return must(select(problem(spec), context()));
}

constexpr SkinnyForm kForms[] = {SkinnyForm::AlongK, SkinnyForm::AlongColumns,
                                 SkinnyForm::Gathered};
constexpr DType kTypes[] = {DType::F32, DType::BF16,   DType::F16,
                            DType::I8,  DType::F8E4M3, DType::F8E5M2};

TEST(CudaSkinnyGeometry, StepsAlongColumnsTakeEveryKOnce) {
  for (const int bytes : {1, 2, 4}) {
    const int unit = cuda::skinny_unit(bytes), steps = unit / 32;
    std::multiset<int> taken;
    for (int step = 0; step < steps; ++step) {
      for (int t = 0; t < 4; ++t) {
        for (int i = 0; i < 8; ++i) {
          taken.insert(cuda::skinny_step_depth(bytes, step) + cuda::skinny_row(bytes, t, i));
        }
      }
    }
    ASSERT_EQ(taken.size(), static_cast<std::size_t>(unit));
    for (int k = 0; k < unit; ++k) EXPECT_EQ(taken.count(k), 1U) << bytes << " bytes, K " << k;
    EXPECT_EQ(cuda::skinny_step_depth(bytes, steps), unit);
    // Each lane has the K that its pieces have where K is contiguous.
    const int piece = cuda::skinny_piece(bytes);
    for (int t = 0; t < 4; ++t) {
      for (int i = 0; i < 8; ++i) EXPECT_EQ(cuda::skinny_row(bytes, t, i) / piece % 4, t);
    }
  }
}

TEST(CudaSkinnyGeometry, BlocksFitOnEveryDevice) {
  for (const int bytes : {1, 2, 4}) {
    for (const SkinnyForm form : kForms) {
      for (const std::int64_t m : {1, 4, 5, 8, 9, 16}) {
        const int rows = cuda::skinny_rows(bytes, form, m);
        EXPECT_GE(rows, m);
        // Of 99 KiB, the least that a device since 8.0 has.
        EXPECT_LE(cuda::skinny_shared_bytes(bytes, form, rows), 96 << 10);
        const int pitch = cuda::skinny_pitch(cuda::skinny_columns(bytes, form));
        EXPECT_GE(cuda::skinny_warp_bytes(bytes, form, rows), rows * pitch * 4);
        EXPECT_EQ(cuda::skinny_warp_bytes(bytes, form, rows) % 16, 0);
        // Registers of a multiprocessor: at least 128 a thread.
        EXPECT_LE(cuda::skinny_least_blocks(bytes, rows) * cuda::kSkinnyWarps * 32 * 128, 65536);
      }
    }
  }
}

TEST(CudaSkinnyLaunch, EveryColumnAndSliceHasOneWarp) {
  for (const DType type : kTypes) {
    for (const bool along_k : {false, true}) {
      for (const std::int64_t m : {1, 5, 16}) {
        for (const std::int64_t n : {1, 32, 1000, 14336, 128256}) {
          for (const std::int64_t k : {1, 160, 4096, 14336, 100000}) {
            const CudaSkinnyLaunch x = launch_of(spec(m, n, k, along_k, type));
            const bool swapped = n < m;
            ASSERT_EQ(x.swapped, swapped);
            const std::int64_t columns = swapped ? m : n;
            const int width = cuda::skinny_columns(x.bytes, x.form) * x.groups;
            EXPECT_GE(x.tiles * width, columns);
            EXPECT_LT((x.tiles - 1) * width, columns);
            EXPECT_EQ(x.groups * x.slices, cuda::kSkinnyWarps);
            EXPECT_TRUE(x.cluster == 1 || x.cluster == 2 || x.cluster == 4 || x.cluster == 8);
            const std::int64_t depth = ceil_div(k, std::int64_t{cuda::skinny_unit(x.bytes)});
            EXPECT_TRUE(x.slices == 1 || depth >= 2 * x.slices * x.cluster);
          }
        }
      }
    }
  }
}

TEST(CudaSkinnyLaunch, ReadsInPiecesWhatLiesInPieces) {
  EXPECT_EQ(launch_of(spec(3, 96, 128)).form, SkinnyForm::AlongK);
  EXPECT_EQ(launch_of(spec(3, 96, 128, false)).form, SkinnyForm::AlongColumns);
  EXPECT_EQ(launch_of(spec(3, 96, 129)).form, SkinnyForm::Gathered) << "K in no whole pieces";
  EXPECT_EQ(launch_of(spec(3, 16, 128)).form, SkinnyForm::Gathered) << "no whole tile";
  EXPECT_EQ(launch_of(spec(3, 97, 128, false)).form, SkinnyForm::Gathered);
  GemmSpec x = spec(3, 96, 128);
  x.b.offset = 1;
  EXPECT_EQ(launch_of(x).form, SkinnyForm::Gathered) << "W begins inside a piece";
  x = spec(3, 96, 128);
  x.a.strides = {132, 1};
  EXPECT_EQ(launch_of(x).form, SkinnyForm::Gathered) << "so do rows of X";
  x = spec(1, 96, 128);
  x.a.strides = {131, 1};
  EXPECT_EQ(launch_of(x).form, SkinnyForm::AlongK) << "one row has no distance to the next";
  x = spec(3, 96, 128);
  x.a.strides = {1, 3};
  EXPECT_EQ(launch_of(x).form, SkinnyForm::Gathered) << "X along its rows";
  // A is the long side: it is W, along K.
  x = spec(96, 3, 128);
  EXPECT_TRUE(launch_of(x).swapped);
  EXPECT_EQ(launch_of(x).form, SkinnyForm::AlongK);
}

// Rows far enough apart for whole pieces of which the last one would be read beyond K.
TEST(CudaSkinnyLaunch, ReadsNothingBeyondK) {
  for (const bool along_k : {false, true}) {
    const auto form = [&](std::int64_t k) {
      GemmSpec x = spec(3, 96, k, along_k);
      x.a.strides = {136, 1};
      if (along_k) x.b.strides = {1, 136};
      return launch_of(x).form;
    };
    EXPECT_EQ(form(128), along_k ? SkinnyForm::AlongK : SkinnyForm::AlongColumns);
    EXPECT_EQ(form(132), SkinnyForm::Gathered);
  }
}

TEST(CudaSkinnyLaunch, ClustersAreOfDevicesThatHaveThem) {
  int clusters = 0;
  for (const DType type : kTypes) {
    for (const bool along_k : {false, true}) {
      for (const std::int64_t n : {64, 512, 4096}) {
        const GemmProblem asked = problem(spec(1, n, 65536, along_k, type));
        clusters += cuda_skinny_launch(asked, 132, true).cluster > 1 ? 1 : 0;
        EXPECT_EQ(cuda_skinny_launch(asked, 132, false).cluster, 1);
      }
    }
  }
  EXPECT_GT(clusters, 0);
}

TEST(CudaSkinnyLaunch, SlicesOfInvariantRowsDependOnNeitherMNorLayout) {
  std::set<int> slices;
  for (const bool along_k : {false, true}) {
    for (const std::int64_t m : {1, 7, 16, 17, 300}) {
      GemmSpec x = spec(m, 1000, 4100, along_k);
      x.reproducibility = Reproducibility::RowInvariant;
      const CudaSkinnyLaunch launch = launch_of(x);
      slices.insert(launch.slices * launch.cluster);
    }
  }
  EXPECT_EQ(slices.size(), 1U);
}

TEST(CudaSkinnySelect, TakesFewRowsOrColumns) {
  for (const std::int64_t m : {1, 2, 8, 16}) {
    for (const bool along_k : {false, true}) {
      EXPECT_TRUE(chosen(spec(m, 14336, 4096, along_k, DType::F32)).kernel->skinny) << m;
      EXPECT_TRUE(chosen(spec(14336, m, 4096, true, DType::F32)).kernel->skinny) << m;
    }
    // Where another row would transpose W first.
    for (const DType type : {DType::I8, DType::F8E4M3, DType::F8E5M2}) {
      EXPECT_TRUE(chosen(spec(m, 14336, 4096, false, type)).kernel->skinny) << m;
    }
  }
  for (const DType type : {DType::F32, DType::I8, DType::F8E4M3}) {
    EXPECT_FALSE(chosen(spec(17, 14336, 4096, true, type)).kernel->skinny);
    EXPECT_FALSE(chosen(spec(14336, 17, 4096, true, type)).kernel->skinny);
  }
  EXPECT_EQ(chosen(spec(1, 14336, 4096, true, DType::F32)).workspace_bytes, 0);
}

TEST(CudaSkinnySelect, LeavesSixteenBitsToRowsMeasuredFaster) {
  EXPECT_TRUE(chosen(spec(1, 14336, 4096)).kernel->skinny);
  EXPECT_FALSE(chosen(spec(16, 14336, 4096)).kernel->skinny);
  EXPECT_TRUE(chosen(spec(1, 14336, 4096, false)).kernel->skinny);
  EXPECT_TRUE(chosen(spec(8, 14336, 4096, false)).kernel->skinny);
  EXPECT_TRUE(chosen(spec(1, 4096, 14336, false)).kernel->skinny);
  EXPECT_FALSE(chosen(spec(1, 4096, 4096, false)).kernel->skinny);
  const GemmSpec x = spec(16, 14336, 4096);
  EXPECT_TRUE(must(select(problem(x), context("cuda_gemm_16bit_16x32_skinny"))).kernel->skinny);
}

TEST(CudaSkinnyLaunch, OneBlockAMultiprocessorReadsAtOnce) {
  const auto form = [](std::int64_t m, std::int64_t n, std::int64_t k, bool along_k, DType type) {
    const CudaSkinnyLaunch x = launch_of(spec(m, n, k, along_k, type));
    return std::vector<int>{x.groups, x.slices, x.cluster};
  };
  // The fastest of those that were measured, or within 4 % of it.
  EXPECT_EQ(form(1, 14336, 4096, true, DType::BF16), (std::vector<int>{4, 1, 1}));
  EXPECT_EQ(form(1, 4096, 14336, true, DType::BF16), (std::vector<int>{1, 4, 1}));
  EXPECT_EQ(form(1, 1024, 4096, true, DType::BF16), (std::vector<int>{1, 4, 2}));
  EXPECT_EQ(form(1, 28672, 8192, true, DType::BF16), (std::vector<int>{1, 4, 1}));
  EXPECT_EQ(form(16, 14336, 4096, true, DType::F32), (std::vector<int>{2, 2, 1}));
  EXPECT_EQ(form(16, 4096, 14336, true, DType::F32), (std::vector<int>{1, 4, 2}));
  EXPECT_EQ(form(1, 14336, 4096, false, DType::BF16), (std::vector<int>{2, 2, 1}));
  EXPECT_EQ(form(1, 4096, 14336, false, DType::BF16), (std::vector<int>{1, 4, 2}));
  EXPECT_EQ(form(1, 14336, 4096, false, DType::I8), (std::vector<int>{1, 4, 1}));
  EXPECT_EQ(form(1, 4096, 14336, false, DType::I8), (std::vector<int>{1, 4, 4}));
  EXPECT_EQ(form(1, 1024, 4096, false, DType::BF16), (std::vector<int>{1, 4, 4}));
}

TEST(CudaSkinnySelect, LeavesInvariantRowsToTheClassThatTakesAnyM) {
  for (const DType type : {DType::F32, DType::BF16}) {
    GemmSpec x = spec(1, 14336, 4096, true, type);
    x.reproducibility = Reproducibility::RowInvariant;
    EXPECT_FALSE(chosen(x).kernel->skinny);
    const auto forced =
        type == DType::F32 ? "cuda_gemm_f32_16x32_skinny" : "cuda_gemm_16bit_16x32_skinny";
    EXPECT_TRUE(must(select(problem(x), context(forced))).kernel->skinny);
  }
  GemmSpec exact = spec(1, 14336, 4096, false, DType::I8);
  exact.reproducibility = Reproducibility::RowInvariant;
  EXPECT_TRUE(chosen(exact).kernel->skinny);
}

}  // namespace
}  // namespace girih
