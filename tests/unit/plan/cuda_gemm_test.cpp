#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/device.hpp"
#include "core/checked.hpp"
#include "plan/cuda_gemm_layout.hpp"
#include "plan/cuda_gemm_tuned.hpp"
#include "plan/cuda_mma.hpp"
#include "plan/gemm.hpp"
#include "support/expect.hpp"

// Selection for GPUs, without one.

namespace girih {
namespace {

using cuda::Major;
using cuda::TileForm;
using testing::must;
using testing::refused;
using testing::succeeded;

struct Layout {
  bool a_transposed = false, b_transposed = false;
};

GemmSpec spec(std::int64_t m, std::int64_t n, std::int64_t k, DType output = DType::BF16,
              Layout layout = {}, DType operands = DType::BF16) {
  GemmSpec result{.a = {operands, {m, k}, {k, 1}, 0},
                  .b = {operands, {k, n}, {n, 1}, 0},
                  .c = {output, {m, n}, {n, 1}, 0}};
  if (layout.a_transposed) result.a.strides = {1, m};
  if (layout.b_transposed) result.b.strides = {1, k};
  return result;
}

SelectionContext context_on(std::string_view device, std::string_view forced = "") {
  return {.device = find_fixture(device),
          .kernels = cuda::kernel_table(),
          .threads = 1,
          .forced_kernel = forced};
}

bool equal(const GemmSelection& a, const GemmSelection& b) {
  return a.kernel == b.kernel && a.split_k == b.split_k && a.split_kind == b.split_kind &&
         a.cluster_rows == b.cluster_rows && a.cluster_columns == b.cluster_columns &&
         a.band == b.band && a.traversal == b.traversal && a.swaps_sides == b.swaps_sides &&
         a.workspace_bytes == b.workspace_bytes && a.predicted_seconds == b.predicted_seconds;
}

constexpr std::int64_t kExtents[] = {1, 2, 7, 8, 17, 64, 65, 129, 513, 1000, 4096, 33000};

TEST(CudaGemmGeometry, EveryTileFitsSharedMemoryAndTheCopyEngine) {
  int rows = 0;
  for (const KernelInfo& row : cuda::kernel_table()) {
    if (row.form == TileForm::None) continue;
    ++rows;
    const cuda::TileConfig tile = tile_of(row);
    EXPECT_EQ(tile.rows % 64, 0) << row.name;
    EXPECT_EQ(tile.cols % 8, 0) << row.name;
    EXPECT_LE(tile.cols, 256) << row.name;
    EXPECT_EQ(tile.depth * tile.bytes % cuda::kSwizzleBytes, 0) << row.name;
    if (tile.bytes == 1) {
      EXPECT_EQ(tile.cols % 16, 0) << row.name;
    }
    const std::vector<Major> majors =
        tile.bytes == 2 ? std::vector{Major::K, Major::MN} : std::vector{Major::K};
    for (const Major a : majors) {
      for (const Major b : majors) {
        EXPECT_LE(cuda::shared_bytes(tile, a, b), 227 * 1024) << row.name;
        EXPECT_GE(cuda::stage_count(tile, a, b), 3) << row.name;
        EXPECT_LE(2 * 8 * cuda::stage_count(tile, a, b) + 16, cuda::kBarrierBytes) << row.name;
      }
    }
    for (const Major major : majors) {
      for (const int extent : {tile.rows, tile.cols}) {
        for (const int share : {1, 2}) {
          const cuda::Box box = cuda::operand_box(major, extent, tile.depth, share, tile.bytes);
          const int bytes = box.inner * tile.bytes;
          EXPECT_TRUE(box.outer >= 1 && box.outer <= 256) << row.name;
          EXPECT_TRUE(bytes == 128 || (major == Major::MN && (bytes == 64 || bytes == 32)))
              << row.name;
          EXPECT_EQ(box.outer * bytes % 128, 0) << row.name;
        }
      }
    }
  }
  EXPECT_GE(rows, 10);
}

TEST(CudaGemmSelect, IsDeterministicAndLegalOverAGridOfShapes) {
  for (const std::int64_t m : kExtents) {
    for (const std::int64_t n : kExtents) {
      for (const std::int64_t k : {1, 16, 63, 512, 5000, 40000}) {
        const Layout layout{.a_transposed = (m + k) % 2 == 1, .b_transposed = (n + k) % 3 == 0};
        const GemmProblem x = must(check(spec(m, n, k, DType::BF16, layout)));
        const GemmSelection first = must(select(x, context_on("h200")));
        ASSERT_TRUE(equal(first, must(select(x, context_on("h200")))));
        ASSERT_EQ(first.kernel->path, Path::Matrix);
        if (first.kernel->skinny) {  // see cuda_skinny_test.cpp
          ASSERT_LE(std::min(m, n), first.kernel->tile_m);
          continue;
        }
        const cuda::TileConfig tile = tile_of(*first.kernel);
        ASSERT_LE(first.cluster_rows * first.cluster_columns, 2);
        ASSERT_GE(first.split_k, 1);
        ASSERT_EQ(first.split_k == 1, first.split_kind == SplitKind::None);
        ASSERT_LE(first.split_k, std::max<std::int64_t>(1, ceil_div(k, tile.depth) / 4));
        if (first.split_kind == SplitKind::Cluster) {
          ASSERT_TRUE(cuda::cluster_split_fits(tile, first.split_k));
          ASSERT_EQ(first.cluster_rows * first.cluster_columns, 1);
        }
        ASSERT_GT(first.predicted_seconds, 0);
        ASSERT_GE(first.band, 1);
        ASSERT_LE(first.workspace_bytes, kCudaWorkspaceLimit);
      }
    }
  }
}

TEST(CudaGemmSelect, EveryWgmmaRowIsTheBestOfSomeShapeOrMayBeForced) {
  const GemmProblem x = must(check(spec(300, 200, 1000)));
  for (const KernelInfo& row : cuda::kernel_table()) {
    if (row.op != Op::Gemm || !row.operands.has(DType::BF16)) continue;
    EXPECT_EQ(must(select(x, context_on("h200", row.name))).kernel->name, row.name);
  }
}

constexpr const char* kOthers[] = {"a100", "a40", "l40s", "b200", "b300", "rtx-pro-6000", "gb10"};

TEST(CudaGemmSelect, OtherArchitecturesTakeRowsThatNeedNothingOfHoppers) {
  for (const char* const device : kOthers) {
    ASSERT_NE(find_fixture(device), nullptr) << device;
    for (const DType operands : {DType::BF16, DType::F16, DType::F8E4M3, DType::I8, DType::F32}) {
      for (const std::int64_t extent : {1, 17, 1000, 8192}) {
        const GemmProblem x = must(check(spec(extent, extent, extent, DType::F32, {}, operands)));
        const GemmSelection chosen = must(select(x, context_on(device)));
        EXPECT_FALSE(chosen.kernel->needs.has(Feature::Sm90a)) << device << chosen.kernel->name;
        EXPECT_GT(chosen.predicted_seconds, 0);
        if (extent < 1000) continue;
        EXPECT_EQ(chosen.kernel->mma, operands != DType::F32) << device << chosen.kernel->name;
        EXPECT_TRUE(chosen.workspace_bytes == 0 || !chosen.kernel->mma);
      }
    }
  }
}

TEST(CudaGemmSelect, LargeTilesAreForManyElements) {
  const auto tile_on = [](const char* device, std::int64_t extent) {
    return must(select(must(check(spec(extent, extent, 512))), context_on(device))).kernel->tile_m;
  };
  for (const char* const device : kOthers) {
    EXPECT_EQ(tile_on(device, 8192), 128) << device;
    EXPECT_EQ(tile_on(device, 256), 64) << device;
  }
}

TEST(CudaGemmSelect, RowsForAnyMatrixUnitYieldToWgmma) {
  for (const std::int64_t extent : {1, 16, 300, 4096}) {
    const GemmProblem x = must(check(spec(extent, extent, extent)));
    const Plan plan = must(explain(x, context_on("h200")));
    EXPECT_EQ(plan.kernel.find("_mma"), std::string::npos) << plan.kernel;
    int yielding = 0;
    for (const auto& [row, reason] : plan.rejected) {
      if (reason.find("yields to wgmma") != std::string::npos) ++yielding;
    }
    EXPECT_EQ(yielding, 2);
  }
  // What wgmma's rows all decline is theirs, unless bits may not depend on the shape.
  GemmSpec vast = spec(16, 16, 16, DType::BF16, {}, DType::F8E4M3);
  for (Geometry* matrix : {&vast.a, &vast.b, &vast.c}) {
    matrix->shape = {std::int64_t{4'000'000'000}, matrix->shape[0], matrix->shape[1]};
    matrix->strides = {256, matrix->strides[0], matrix->strides[1]};
  }
  EXPECT_EQ(must(select(must(check(vast)), context_on("h200"))).kernel->name,
            "cuda_gemm_f8_64x64_mma");
  vast.reproducibility = Reproducibility::RowInvariant;
  EXPECT_TRUE(refused(select(must(check(vast)), context_on("h200")), Code::GemmNoKernel, "2^31"));
  const GemmProblem x = must(check(spec(300, 200, 1000)));
  const Plan forced = must(explain(x, context_on("h200", "cuda_gemm_16bit_64x64_mma")));
  EXPECT_EQ(forced.kernel, "cuda_gemm_16bit_64x64_mma");
  EXPECT_EQ(forced.reduction, "mma_f32");
}

TEST(CudaGemmSelect, ADevicesInvariantSumsDoNotDependOnRows) {
  for (const DeviceInfo& device : device_fixtures()) {
    if (device.backend != Backend::Cuda) continue;
    for (const DType operands : {DType::BF16, DType::F8E5M2, DType::I8, DType::F32}) {
      std::set<Reduction> sums;
      for (const std::int64_t m : {1, 2, 16, 17, 100, 1000, 100000}) {
        GemmSpec x = spec(m, 4096, 4096, DType::F32, {}, operands);
        x.reproducibility = Reproducibility::RowInvariant;
        sums.insert(must(select(must(check(x)), context_on(device.name))).kernel->reduction);
      }
      EXPECT_EQ(sums.size(), 1U) << device.name << " " << name(operands);
    }
  }
}

GemmSelection select_for(GemmSpec asked, Precision precision = Precision::Exact) {
  asked.precision = precision;
  return must(select(must(check(asked)), context_on("h200")));
}

TEST(CudaGemmSelect, EveryTypeHasMatrixRowsOfItsOwnForEachPrecision) {
  for (const std::int64_t m : kExtents) {
    if (m <= 16) continue;  // rows for few rows may be faster
    for (const std::int64_t k : {1, 63, 512, 40000}) {
      const auto reduction = [&](DType operands, Precision precision) {
        GemmSpec asked = spec(m, 264, k, DType::F32, {}, operands);
        asked.reproducibility =
            Reproducibility::RowInvariant;  // else few rows take a row of theirs
        const GemmSelection chosen = select_for(asked, precision);
        EXPECT_TRUE(chosen.kernel->operands.has(operands));
        return chosen.kernel->path == Path::Matrix ? chosen.kernel->reduction : Reduction::None;
      };
      for (const DType type : {DType::F8E4M3, DType::F8E5M2}) {
        ASSERT_EQ(reduction(type, Precision::Exact), Reduction::WgmmaF8);
        ASSERT_EQ(reduction(type, Precision::Tf32), Reduction::WgmmaF8);
        ASSERT_EQ(reduction(type, Precision::Fast), Reduction::WgmmaF8Fast);
      }
      for (const Precision precision : {Precision::Exact, Precision::Fast}) {
        ASSERT_EQ(reduction(DType::I8, precision), Reduction::ExactI32);
      }
      ASSERT_EQ(reduction(DType::F32, Precision::Tf32), Reduction::WgmmaTf32);
    }
  }
}

TEST(CudaGemmSelect, EightBitFloatsAndTf32HaveNoPortableRow) {
  GemmSpec asked = spec(64, 64, 64, DType::F32, {}, DType::F8E4M3);
  asked.path = Path::Portable;
  EXPECT_TRUE(
      refused(select(must(check(asked)), context_on("h200")), Code::GemmNoKernel, "path portable"));
  asked = spec(64, 64, 64, DType::F32, {}, DType::F32);
  asked.path = Path::Portable;
  asked.precision = Precision::Tf32;
  EXPECT_TRUE(refused(select(must(check(asked)), context_on("h200")), Code::GemmNoKernel, "tf32"));
  const SelectionContext forced = context_on("h200", "cuda_gemm_f8fast_128x128x128_wgmmapingpong");
  EXPECT_TRUE(refused(select(must(check(spec(64, 64, 64, DType::F32, {}, DType::F8E5M2))), forced),
                      Code::GemmNoKernel, "precision fast"));
}

TEST(CudaGemmSelect, PlansSayHowEightBitFloatsAreSummed) {
  GemmSpec asked = spec(512, 512, 4096, DType::BF16, {.b_transposed = true}, DType::F8E4M3);
  const auto text = [&] {
    return must(explain(must(check(asked)), context_on("h200"))).to_string();
  };
  EXPECT_NE(text().find("sums of 128 of K are added in f32"), std::string::npos) << text();
  EXPECT_EQ(text().find("transposed first"), std::string::npos) << text();
  asked.precision = Precision::Fast;
  EXPECT_NE(text().find("some 14 bits"), std::string::npos) << text();
  asked.b.strides = {512, 1};
  EXPECT_NE(text().find("B is transposed first: the unit takes f8e4m3 with K contiguous alone"),
            std::string::npos)
      << text();
}

TEST(CudaGemmLayout, OtherTypesThan16BitOnesArePackedWithKContiguous) {
  for (const DType type : {DType::F32, DType::I8, DType::F8E4M3}) {
    const std::int64_t bytes = bit_width(type) / 8;
    for (const bool transposed : {false, true}) {
      for (const std::int64_t k : {1, 5, 16, 130}) {
        GemmSpec asked = spec(48, 32, k, DType::F32, {}, type);
        asked.a.strides = transposed ? Strides{1, 48} : Strides{k, 1};
        const CudaOperand a = cuda_operand_a(must(check(asked)));
        EXPECT_EQ(a.major, Major::K);
        EXPECT_EQ(a.ld * bytes % 16, 0);
        EXPECT_GE(a.ld, k);
        EXPECT_EQ(a.packed, transposed ? true : k * bytes % 16 != 0) << k;
      }
    }
  }
}

TEST(CudaGemmSelect, ExactSumsAreSplitEvenWhereRowsAreInvariant) {
  for (const DType type : {DType::I8, DType::F8E4M3}) {
    GemmSpec asked = spec(64, 64, 30000, DType::F32, {}, type);
    EXPECT_GT(select_for(asked).split_k, 1) << name(type);
    asked.reproducibility = Reproducibility::RowInvariant;
    EXPECT_EQ(select_for(asked).split_k > 1, type == DType::I8) << name(type);
  }
}

TEST(CudaGemmSelect, FactorsOfBlocksTakeRowsThatHaveThem) {
  GemmSpec asked = spec(512, 640, 1000, DType::BF16, {.b_transposed = true}, DType::F8E4M3);
  asked.precision = Precision::Fast;
  asked.b_scale = Geometry{DType::F32, {8, 5}, {5, 1}, 0};
  asked.b_granularity = Granularity::PerBlock;
  const GemmProblem x = must(check(asked));
  EXPECT_EQ(x.precision, Precision::Exact);
  const GemmSelection chosen = must(select(x, context_on("h200")));
  EXPECT_TRUE(chosen.kernel->scales_blocks);
  EXPECT_FALSE(chosen.swaps_sides);
  EXPECT_TRUE(refused(select(x, context_on("h200", "cuda_gemm_f8_128x128x128_wgmma")),
                      Code::GemmNoKernel, "takes no factors of blocks"));
  // A stage does not reach beyond the factors.
  for (const std::int64_t k : {1, 128, 129, 256, 257, 640, 1000}) {
    GemmSpec deep = spec(17, 32, k, DType::F32, {.b_transposed = true}, DType::F8E4M3);
    deep.a_scale = Geometry{DType::F32, {17, ceil_div(k, 128)}, {ceil_div(k, 128), 1}, 0};
    deep.a_granularity = Granularity::PerRowBlock;
    const KernelInfo& row = *must(select(must(check(deep)), context_on("h200"))).kernel;
    EXPECT_EQ(ceil_div(k, row.tile_k) * row.tile_k / 128, ceil_div(k, 128)) << row.name;
  }
  // A piece of C begins where a block of columns does.
  asked = spec(30000, 30000, 9000, DType::F32, {}, DType::F8E4M3);
  asked.b_scale = Geometry{DType::F32, {71, 235}, {235, 1}, 0};
  asked.b_granularity = Granularity::PerBlock;
  const CudaGemmPieces pieces = cuda_gemm_pieces(must(check(asked)), 1);
  EXPECT_LT(pieces.n, 30000);
  EXPECT_EQ(pieces.n % 128, 0);
}

TEST(CudaMma, OperandsAreCopiedWherePiecesOf16BytesAreAligned) {
  const auto a_of = [](Layout layout, DType type, std::int64_t m, std::int64_t k,
                       std::int64_t offset = 0) {
    GemmSpec x = spec(m, 64, k, DType::F32, layout, type);
    x.a.offset = offset;
    return cuda_mma_a(must(check(x)));
  };
  EXPECT_TRUE(a_of({}, DType::BF16, 30, 64).copied);
  EXPECT_EQ(a_of({}, DType::BF16, 30, 64).major, Major::K);
  EXPECT_TRUE(a_of({.a_transposed = true}, DType::F16, 64, 30).copied);
  EXPECT_EQ(a_of({.a_transposed = true}, DType::F16, 64, 30).major, Major::MN);
  EXPECT_FALSE(a_of({}, DType::BF16, 30, 63).copied);
  EXPECT_TRUE(a_of({}, DType::BF16, 1, 63).copied);
  EXPECT_FALSE(a_of({}, DType::BF16, 30, 64, 4).copied);
  EXPECT_TRUE(a_of({}, DType::I8, 30, 64).copied);
  EXPECT_FALSE(a_of({}, DType::I8, 30, 72).copied);
  EXPECT_FALSE(a_of({.a_transposed = true}, DType::I8, 64, 30).copied);
  EXPECT_FALSE(a_of({}, DType::F8E4M3, 30, 64).copied);
}

GemmSpec gated(std::int64_t m, std::int64_t n, std::int64_t k, DType operands = DType::BF16) {
  GemmSpec result = spec(m, 2 * n, k, DType::BF16, {}, operands);
  result.c = {DType::BF16, {m, n}, {n, 1}, 0};
  result.gate = Gate{};
  return result;
}

TEST(CudaGemmSelect, AGateTakesTheRowOfItsProductAndRoomForTheSums) {
  for (const DType operands : {DType::F32, DType::BF16, DType::F16, DType::I8}) {
    const GemmProblem x = must(check(gated(512, 700, 640, operands)));
    const GemmSelection choice = must(select(x, context_on("h200")));
    GemmSpec plain = gated(512, 700, 640, operands);
    plain.gate.reset();
    plain.c = {DType::F32, {512, 1400}, {1400, 1}, 0};
    const GemmSelection product = must(select(must(check(plain)), context_on("h200")));
    EXPECT_EQ(choice.kernel, product.kernel);
    EXPECT_EQ(choice.split_k, product.split_k);
    EXPECT_EQ(choice.workspace_bytes, product.workspace_bytes + 512 * 1400 * 4);
    EXPECT_GT(choice.predicted_seconds, product.predicted_seconds);
    const std::string text = must(explain(x, context_on("h200"))).to_string();
    EXPECT_NE(text.find("to a second kernel, the gate's"), std::string::npos) << text;
  }
  const Plan large = must(explain(must(check(gated(65536, 14332, 4096))), context_on("h200")));
  EXPECT_LE(large.workspace_bytes, std::uint64_t{kCudaWorkspaceLimit});
  EXPECT_NE(large.to_string().find("in pieces of"), std::string::npos) << large.to_string();
}

TEST(CudaGemmSelect, AGateJoinsInTheEpilogueWhereATileHoldsBothHalves) {
  const auto joins = [](const GemmSpec& asked) {
    const GemmProblem x = must(check(asked));
    const GemmSelection choice = must(select(x, context_on("h200")));
    EXPECT_EQ(choice.joins_halves, choice.workspace_bytes == 0);
    const std::string text = must(explain(x, context_on("h200"))).to_string();
    EXPECT_EQ(choice.joins_halves, text.find("the gate is in the kernel's epilogue") != text.npos);
    return choice.joins_halves;
  };
  const GemmSpec concatenated = gated(4096, 14336, 4096);  // B is row-major
  EXPECT_TRUE(joins(concatenated));
  GemmSpec x = concatenated;
  x.gate->order = GateOrder::Interleaved;
  EXPECT_FALSE(joins(x)) << "g and u alternate in memory";
  x.b.strides = {1, 4096};
  EXPECT_TRUE(joins(x));
  x = concatenated;
  x.residual = x.c;
  EXPECT_FALSE(joins(x));
  x = concatenated;
  x.c.dtype = DType::F32;
  EXPECT_FALSE(joins(x));
  x = concatenated;
  x.a.offset = 1;
  EXPECT_FALSE(joins(x)) << "A is packed";
  EXPECT_FALSE(joins(gated(4096, 14332, 4096))) << "rows of C are no multiple of 16 bytes";
}

TEST(CudaGemmSelect, AnEighthOutputTakesTheRowOfItsProductAndRoomForTheSums) {
  for (const DeviceInfo& device : device_fixtures()) {
    if (device.backend != Backend::Cuda) continue;
    for (const DType operands : {DType::F32, DType::BF16, DType::F16, DType::I8, DType::F8E4M3}) {
      for (const DType output : {DType::I8, DType::F8E4M3, DType::F8E5M2}) {
        GemmSpec asked = spec(512, 1400, 640, output, {.b_transposed = true}, operands);
        asked.activation = Activation::Silu;
        asked.c_scale = Geometry{DType::F32, {1}, {1}, 0};
        const GemmProblem x = must(check(asked));
        const GemmSelection choice = must(select(x, context_on(device.name)));
        const GemmSpec plain = spec(512, 1400, 640, DType::F32, {.b_transposed = true}, operands);
        const GemmSelection product = must(select(must(check(plain)), context_on(device.name)));
        EXPECT_EQ(choice.kernel, product.kernel);
        EXPECT_EQ(choice.split_k, product.split_k);
        EXPECT_EQ(choice.workspace_bytes, product.workspace_bytes + 512 * 1400 * 4);
        EXPECT_GT(choice.predicted_seconds, product.predicted_seconds);
        const std::string text = must(explain(x, context_on(device.name))).to_string();
        EXPECT_NE(text.find("to a second kernel, which rounds"), std::string::npos) << text;
        EXPECT_NE(text.find("C is rounded, times a factor, to"), std::string::npos) << text;
      }
    }
  }
  GemmSpec both = gated(512, 704, 640);
  both.c.dtype = DType::F8E4M3;
  EXPECT_FALSE(must(select(must(check(both)), context_on("h200"))).joins_halves);
  const GemmSpec large = spec(65536, 14336, 4096, DType::I8);
  const Plan plan = must(explain(must(check(large)), context_on("h200")));
  EXPECT_LE(plan.workspace_bytes, std::uint64_t{kCudaWorkspaceLimit});
  EXPECT_NE(plan.to_string().find("in pieces of"), std::string::npos) << plan.to_string();
}

TEST(CudaGemmSelect, RowInvariantNeverSplitsAndKeepsOneClass) {
  for (const std::int64_t n : {8, 328, 4096}) {
    for (const std::int64_t k : {64, 2560, 32768}) {
      std::set<Reduction> classes;
      for (const std::int64_t m : {1, 3, 64, 128, 1000, 2048, 30000}) {
        GemmSpec asked = spec(m, n, k);
        asked.reproducibility = Reproducibility::RowInvariant;
        const GemmSelection chosen = must(select(must(check(asked)), context_on("h200")));
        EXPECT_EQ(chosen.split_k, 1) << m << "x" << n << "x" << k;
        classes.insert(chosen.kernel->reduction);
      }
      EXPECT_EQ(classes, std::set<Reduction>{Reduction::WgmmaF32});
    }
  }
}

TEST(CudaGemmSelect, SplitsKWhereTilesAreFew) {
  const GemmSelection chosen = must(select(must(check(spec(64, 64, 30000))), context_on("h200")));
  EXPECT_GT(chosen.split_k, 1);
}

TEST(CudaGemmSelect, MeasuredChoicesAreTaken) {
  const GemmSpec square = spec(4096, 4096, 4096);
  const GemmProblem problem = must(check(square));
  const GemmSelection chosen = must(select(problem, context_on("h200")));
  EXPECT_TRUE(chosen.is_tuned);
  const CudaTunedRow* const row = find_tuned(problem, *chosen.kernel, *context_on("h200").device);
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(chosen.kernel->name.ends_with(row->kernel));
  EXPECT_EQ(chosen.cluster_rows, row->cluster_rows);
  EXPECT_EQ(chosen.cluster_columns, row->cluster_columns);
  EXPECT_EQ(chosen.band, row->band);
  EXPECT_EQ(chosen.swaps_sides, row->swaps_sides);
  GemmSpec f32 = square;
  f32.c.dtype = DType::F32;
  EXPECT_FALSE(must(select(must(check(f32)), context_on("h200"))).is_tuned);
  const GemmSelection forced =
      must(select(must(check(square)), context_on("h200", "cuda_gemm_16bit_64x16x256_wgmma")));
  EXPECT_EQ(forced.kernel->name, "cuda_gemm_16bit_64x16x256_wgmma");
}

TEST(CudaGemmSelect, LayoutsThatTensorCopiesCannotReadArePackedAndSaid) {
  const auto notes = [](const GemmSpec& asked) {
    std::string text;
    for (const std::string& note : must(explain(must(check(asked)), context_on("h200"))).notes) {
      text += note + "; ";
    }
    return text;
  };
  EXPECT_EQ(notes(spec(96, 88, 80)).find("packed"), std::string::npos);
  GemmSpec odd = spec(96, 88, 80);
  odd.a.strides = {81, 1};
  EXPECT_NE(notes(odd).find("A is packed"), std::string::npos);
  odd = spec(96, 88, 80);
  odd.b.offset = 1;
  EXPECT_NE(notes(odd).find("B is packed"), std::string::npos);
  odd = spec(96, 88, 80);
  odd.a.strides = {160, 2};
  EXPECT_NE(notes(odd).find("A is packed"), std::string::npos);
  odd = spec(96, 88, 80);
  odd.c.strides = {1, 96};
  EXPECT_NE(notes(odd).find("C is computed row-major"), std::string::npos);
  const GemmProblem x = must(check(odd));
  EXPECT_GE(must(select(x, context_on("h200"))).workspace_bytes, 96 * 88 * 2);
}

TEST(CudaGemmSelect, AlignmentChangesNoTile) {
  GemmSpec moved = spec(500, 300, 2000);
  moved.a.strides = {2001, 1};
  moved.b.offset = 3;
  moved.c.strides = {307, 1};
  const GemmSelection a = must(select(must(check(spec(500, 300, 2000))), context_on("h200")));
  const GemmSelection b = must(select(must(check(moved)), context_on("h200")));
  EXPECT_EQ(a.kernel, b.kernel);
  EXPECT_EQ(a.split_k, b.split_k);
}

TEST(CudaGemmLayout, PackedOperandsSatisfyTheCopyEngine) {
  for (const std::int64_t m : {1, 7, 64, 129}) {
    for (const std::int64_t k : {1, 5, 8, 130}) {
      for (const std::int64_t pad : {0, 1, 8}) {
        for (const bool transposed : {false, true}) {
          GemmSpec asked = spec(m, 40, k);
          asked.a.strides = transposed ? Strides{1, m + pad} : Strides{k + pad, 1};
          const CudaOperand a = cuda_operand_a(must(check(asked)));
          const std::int64_t inner = a.major == Major::K ? k : m;
          EXPECT_EQ(a.ld * 2 % 16, 0);
          EXPECT_GE(a.ld, inner);
        }
      }
    }
  }
}

TEST(CudaGemmSelect, ExtentsBeyond31BitsLeaveTheMatrixRows) {
  GemmSpec tall = spec(std::int64_t{1} << 32, 17, 2);
  EXPECT_EQ(must(select(must(check(tall)), context_on("h200"))).kernel->path, Path::Portable);
  tall.reproducibility = Reproducibility::RowInvariant;
  EXPECT_TRUE(refused(select(must(check(tall)), context_on("h200")), Code::GemmNoKernel, "2^31"));
  tall.a.dtype = tall.b.dtype = DType::F32;
  EXPECT_TRUE(succeeded(select(must(check(tall)), context_on("h200"))));
}

}  // namespace
}  // namespace girih
