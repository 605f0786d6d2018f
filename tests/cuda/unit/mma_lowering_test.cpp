#include <gtest/gtest.h>
#include <vector>

#include "backends/cuda/kernels/mma_kernels.hpp"
#include "cuda/unit/lowering.hpp"

// What a product is launched as on a device without wgmma.

namespace girih::testing {
namespace {

using cuda::Major;
using cuda::MmaEntry;
using cuda::MmaParams;

bool is_mma(const void* function) {
  for (const int tile : {0, 1}) {
    for (const bool gathers : {false, true}) {
      for (const Major a : {Major::K, Major::MN}) {
        for (const Major b : {Major::K, Major::MN}) {
          if (function == cuda::gemm_mma_bf16(tile, a, b, gathers) ||
              function == cuda::gemm_mma_f16(tile, a, b, gathers)) {
            return true;
          }
        }
      }
      if (function == cuda::gemm_mma_i8(tile, gathers) ||
          function == cuda::gemm_mma_tf32(tile, gathers)) {
        return true;
      }
    }
  }
  return false;
}

/// Launches, and the parameters of the last one of an mma kernel.
class Record final : public cuda::LaunchSink {
 public:
  Status add(const cuda::Launch& launch) noexcept override {
    launches.push_back(launch);
    if (is_mma(launch.function)) {
      params = *static_cast<const MmaParams*>(launch.params);
    }
    return {};
  }
  std::vector<cuda::Launch> launches;
  MmaParams params;
};

GemmSpec spec(DType operands, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.a = {operands, {m, k}, {k, 1}, 0},
          .b = {operands, {k, n}, {n, 1}, 0},
          .c = {DType::F32, {m, n}, {n, 1}, 0}};
}

Record lower_for(const char* device, const GemmSpec& spec) {
  const DeviceInfo& info = *find_fixture(device);
  const GemmProblem problem = must(check(spec));
  const GemmSelection selection = must(select(
      problem,
      {.device = &info, .kernels = cuda::kernel_table(), .threads = 1, .forced_kernel = ""}));
  const GemmCall call{
      problem, {.a = address(1), .b = address(2), .c = address(3)}, selection, address(4)};
  Record record;
  must(cuda::lower(call,
                   {.multiprocessors = info.multiprocessors,
                    .has_clusters = info.features.has(Feature::Sm90a),
                    .maps = nullptr},
                   record));
  return record;
}

TEST(CudaMmaLowering, OperandsGoInAsTheyLie) {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      GemmSpec x = spec(DType::BF16, 4096, 2048, 512);
      if (a_transposed) x.a.strides = {1, 4096};
      if (b_transposed) x.b.strides = {1, 512};
      const Record record = lower_for("a100", x);
      ASSERT_EQ(record.launches.size(), 1U);
      EXPECT_EQ(record.launches[0].function,
                cuda::gemm_mma_bf16(1, a_transposed ? Major::MN : Major::K,
                                    b_transposed ? Major::K : Major::MN, false));
      EXPECT_EQ(record.params.a, MmaEntry::Copied);
      EXPECT_EQ(record.params.b, MmaEntry::Copied);
      EXPECT_TRUE(record.params.has_rows);
    }
  }
}

TEST(CudaMmaLowering, OthersElementByElement) {
  GemmSpec x = spec(DType::F16, 4096, 2047, 512);
  Record record = lower_for("l40s", x);
  EXPECT_EQ(record.params.a, MmaEntry::Copied);
  EXPECT_EQ(record.params.b, MmaEntry::Gathered);
  EXPECT_EQ(record.launches[0].function, cuda::gemm_mma_f16(1, Major::K, Major::K, true));
  x = spec(DType::F8E4M3, 4096, 2048, 512);
  x.c.strides = {1, 4096};
  record = lower_for("b200", x);
  EXPECT_EQ(record.params.a, MmaEntry::Gathered);
  EXPECT_EQ(record.params.terms.a.type, cuda::Element::F8E4M3);
  EXPECT_EQ(record.launches[0].function, cuda::gemm_mma_f16(1, Major::K, Major::K, true));
  EXPECT_FALSE(record.params.has_rows);
}

TEST(CudaMmaLowering, SumsOfIntegersAreNotWrittenAsRowsOfFloats) {
  GemmSpec x = spec(DType::I8, 4096, 2048, 512);
  x.b.strides = {1, 512};
  EXPECT_TRUE(lower_for("a100", x).params.has_rows);
  x.c.dtype = DType::I32;
  const Record record = lower_for("a100", x);
  EXPECT_EQ(record.params.terms.c.type, cuda::Element::I32);
  EXPECT_FALSE(record.params.has_rows);
}

TEST(CudaMmaLowering, EveryLaunchFitsAnyDeviceSince80) {
  for (const char* const device : {"a100", "a40", "l40s", "b200", "rtx-pro-6000", "gb10"}) {
    for (const DType operands : {DType::F32, DType::BF16, DType::F16, DType::F8E5M2, DType::I8}) {
      for (const std::int64_t extent : {1, 50, 3000}) {
        GemmSpec x = spec(operands, extent, 2 * extent, 999);
        x.c = {DType::F32, {extent, extent}, {extent, 1}, 0};
        x.gate = Gate{};
        for (const cuda::Launch& launch : lower_for(device, x).launches) {
          EXPECT_EQ(launch.cluster.x * launch.cluster.y * launch.cluster.z, 1U);
          EXPECT_LE(launch.shared, 99U << 10);
          EXPECT_GE(launch.grid.x, 1U);
        }
      }
    }
  }
}

}  // namespace
}  // namespace girih::testing
