#include <cmath>

#include "cuda/device/gpu_test.hpp"
#include "verify/bound_gemm.hpp"

// Gates in the epilogue of a wgmma row, and in a kernel behind it.

namespace girih::testing {
namespace {

using verify::GemmCase;

constexpr auto kJoined = "the gate is in the kernel's epilogue";

class CudaGate : public BackendTest {};

/// Whether a row's tile of these operands has a gate's columns side by side.
bool joins(const KernelInfo& row, GateOrder order, bool k_major_b) {
  const bool holds_both = (row.tile_n == 128 || row.tile_n == 256) && row.consumers == 2 &&
                          row.form != cuda::TileForm::None &&
                          row.form != cuda::TileForm::ClusterSplit;
  return holds_both && (order == GateOrder::Concatenated || k_major_b);
}

TEST_P(CudaGate, EveryRowThatHoldsBothHalvesJoinsThem) {
  int joined = 0;
  for (const UsableKernel& kernel : usable_kernels(GetParam(), Op::Gemm)) {
    if (!kernel.info.operands.has(DType::BF16)) continue;
    Runtime runtime = open(GetParam(), {.force_kernel = std::string(kernel.info.name)});
    std::uint64_t i = 0, round = 0;
    for (const auto& [m, n, k] : {std::array{1, 8, 64}, {130, 200, 136}, {300, 136, 520}}) {
      for (const GateOrder order : {GateOrder::Concatenated, GateOrder::Interleaved}) {
        for (const bool k_major_b : {false, true}) {
          // Strides without a common factor: every pair of properties meets.
          const auto activation = static_cast<Activation>((i + round) % 4);
          const bool is_half = (i + i / 4) % 2 != 0;
          GemmCase x{.index = i,
                     .m = m,
                     .n = n,
                     .k = k,
                     .operands = is_half ? DType::F16 : DType::BF16,
                     .a = {.column_major = i % 3 == 0},
                     .b = {.column_major = k_major_b},
                     .alpha = 0.5F,
                     .gate = Gate{.activation = activation, .order = order, .limit = 4}};
          x.output = x.operands;
          if (i % 5 != 0) x.bias = i % 7 < 3 ? DType::F32 : x.operands;
          if (x.a.column_major) x.m = (x.m + 7) / 8 * 8;  // rows of 16 bytes
          expect_passes(runtime, x, static_cast<verify::Mode>(i % 3));
          const auto bound = must(verify::BoundGemm::make(runtime, x));
          const std::string plan = must(bound.plan(runtime)).to_string();
          const bool is_joined = plan.find(kJoined) != std::string::npos;
          EXPECT_EQ(is_joined, joins(kernel.info, order, k_major_b)) << x.to_string() << plan;
          joined += is_joined ? 1 : 0;
          ++i;
        }
        ++round;
      }
    }
  }
  EXPECT_GT(joined, 0);
}

TEST_P(CudaGate, ManyTilesOfABatchWithOneB) {
  for (const GateOrder order : {GateOrder::Concatenated, GateOrder::Interleaved}) {
    expect_passes(runtime_,
                  {.m = 1000,
                   .n = 2056,
                   .k = 264,
                   .batch = 3,
                   .operands = DType::BF16,
                   .output = DType::BF16,
                   .b = {.column_major = true, .sharing = verify::Sharing::Rank2},
                   .bias = DType::BF16,
                   .bias_per_batch = true,
                   .gate = Gate{.order = order}},
                  verify::Mode::Replayed);
  }
}

// Alpha is negative and a row of A is 0: neither sign of a zero, nor -0 of either half, tells the
// form. Factors of 1 take the gate out of the product's epilogue.
TEST_P(CudaGate, BothFormsGiveEqualBits) {
  constexpr std::int64_t kM = 500, kN = 1024, kK = 512;
  const Tensor a = random_tensor(runtime_, {kM, kK}, DType::BF16, 1);
  must(fill(runtime_, {.destination = must(a.slice(0, 7, 8)), .value = 0}));
  const Tensor b = random_tensor(runtime_, {2 * kN, kK}, DType::BF16, 2);
  const Tensor bias = random_tensor(runtime_, {2 * kN}, DType::F32, 3);
  const Tensor one = tensor_of(runtime_, {1}, DType::F32, std::vector<float>{1});
  for (const GateOrder order : {GateOrder::Concatenated, GateOrder::Interleaved}) {
    for (const bool has_bias : {false, true}) {
      const Tensor c = must(runtime_.tensor({kM, kN}, DType::BF16));
      GemmDesc desc{.a = a,
                    .b = b.transposed(),
                    .c = c,
                    .alpha = -1,
                    .epilogue = {.gate = Gate{.order = order, .up_offset = has_bias ? 1.0F : 0.0F}},
                    .reproducibility = Reproducibility::RowInvariant};
      if (has_bias) desc.epilogue.bias = bias;
      EXPECT_NE(must(plan(runtime_, desc)).to_string().find(kJoined), std::string::npos);
      must(gemm(runtime_, desc));
      const std::vector<std::byte> joined = bytes_of(runtime_, c);
      desc.a_scale = Scale{one, Granularity::PerTensor};
      EXPECT_EQ(must(plan(runtime_, desc)).to_string().find(kJoined), std::string::npos);
      must(gemm(runtime_, desc));
      EXPECT_EQ(joined, bytes_of(runtime_, c));
    }
  }
}

// Between these M the way in which tiles are stored changes.
TEST_P(CudaGate, TheSignOfAZeroDoesNotDependOnM) {
  constexpr std::int64_t kN = 333, kK = 512;
  const Tensor b = random_tensor(runtime_, {kK, kN}, DType::BF16, 2);
  for (const std::int64_t m : {1, 200, 512, 1000, 4096}) {
    const Tensor a = must(runtime_.tensor({m, kK}, DType::BF16));  // zeros
    const Tensor c = must(runtime_.tensor({m, kN}, DType::F32));
    must(gemm(
        runtime_,
        {.a = a, .b = b, .c = c, .alpha = -1, .reproducibility = Reproducibility::RowInvariant}));
    for (const float x : floats_of(runtime_, c)) ASSERT_FALSE(std::signbit(x)) << m;
  }
}

GIRIH_FOR_EVERY_GPU(CudaGate);

}  // namespace
}  // namespace girih::testing
