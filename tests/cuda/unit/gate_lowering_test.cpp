#include <gtest/gtest.h>
#include <optional>

#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "backends/cuda/tensor_maps.hpp"
#include "core/checked.hpp"
#include "cuda/unit/encoded_map.hpp"
#include "cuda/unit/lowering.hpp"

// What a gated product hands to the kernel that has the gate in its epilogue.

namespace girih::testing {
namespace {

using cuda::GemmParams;
using cuda::StoreMode;

constexpr std::int64_t kM = 1000, kN = 1416, kK = 520;

/// The one product that is launched.
class Product final : public cuda::LaunchSink {
 public:
  Status add(const cuda::Launch& launch) noexcept override {
    ++launches;
    if (launch.function == cuda::gemm_finish_kernel() || is_copy(launch.function)) return {};
    params = *static_cast<const GemmParams*>(launch.params);
    grid = launch.grid.x;
    return {};
  }
  int launches = 0;
  unsigned grid = 0;
  std::optional<GemmParams> params;
};

GemmSpec gated(GateOrder order, bool k_major_b) {
  GemmSpec result{.a = {DType::BF16, {kM, kK}, {kK, 1}, 0},
                  .b = {DType::BF16, {kK, 2 * kN}, {2 * kN, 1}, 0},
                  .c = {DType::BF16, {kM, kN}, {kN, 1}, 0},
                  .gate = Gate{.activation = Activation::Silu, .order = order, .limit = 7}};
  if (k_major_b) result.b.strides = {1, kK};
  return result;
}

Lowered<Product> lower(const GemmSpec& spec) {
  cuda::TensorMaps maps(encode);
  return lower_for_h200<Product>(spec, &maps);
}

TEST(CudaGateLowering, BIsReadAsTwoMatricesOfHalfATileEach) {
  for (const auto& [order, k_major] : {std::pair{GateOrder::Concatenated, false},
                                       {GateOrder::Concatenated, true},
                                       {GateOrder::Interleaved, true}}) {
    const Lowered<Product> lowered = lower(gated(order, k_major));
    ASSERT_TRUE(lowered.selection.joins_halves);
    ASSERT_EQ(lowered.record.launches, 1);
    const GemmParams& p = *lowered.record.params;
    const KernelInfo& row = *lowered.selection.kernel;
    EXPECT_EQ(p.store, StoreMode::GatedBoxes);
    EXPECT_EQ(p.rows, kM);
    EXPECT_EQ(p.cols, 2 * kN);
    const bool alternate = order == GateOrder::Interleaved;
    EXPECT_EQ(p.gate_half, alternate ? 1 : kN);
    EXPECT_EQ(p.gate_step, alternate ? 2 : 1);
    EXPECT_EQ(p.gate.limit, 7);
    EXPECT_EQ(p.gate.activation, static_cast<std::uint8_t>(Activation::Silu));

    // Address, extents, strides in bytes, box.
    const auto b = contents(p.b);
    EXPECT_EQ(b[0], reinterpret_cast<cuuint64_t>(address(2)));
    const auto is = [&](std::size_t i, std::int64_t value) {
      EXPECT_EQ(b[i], static_cast<cuuint64_t>(value)) << i;
    };
    is(1, k_major ? kK : kN);
    is(2, k_major ? kN : kK);
    is(3, 2);
    is(4, 2 * (alternate ? 2 * kK : k_major ? kK : 2 * kN));
    is(5, 2 * (alternate ? kK : k_major ? kN * kK : kN));
    is(6, 64);
    is(7, k_major ? row.tile_n / 2 : row.tile_k);
    const auto c = contents(p.out);
    EXPECT_EQ(c[0], reinterpret_cast<cuuint64_t>(address(3)));
    EXPECT_EQ(c[1], static_cast<cuuint64_t>(kN));
    EXPECT_EQ(c[2], static_cast<cuuint64_t>(kM));

    // As few blocks as make the turns that 132 would.
    const std::int64_t tiles = ceil_div(kM, row.tile_m) * ceil_div(2 * kN, row.tile_n);
    const std::int64_t turns = ceil_div(tiles, 132);
    EXPECT_EQ(lowered.record.grid, static_cast<unsigned>(ceil_div(tiles, turns)));
  }
}

TEST(CudaGateLowering, WhatBoxesCannotWriteOrReadTakesTwoKernels) {
  const auto joins = [](const GemmSpec& spec) { return lower(spec).selection.joins_halves; };
  const GemmSpec good = gated(GateOrder::Concatenated, true);
  ASSERT_TRUE(joins(good));
  GemmSpec x = good;
  x.c.offset = 4;
  EXPECT_FALSE(joins(x)) << "C begins inside 16 bytes";
  x = good;
  x.c.strides = {kN + 4, 1};
  EXPECT_FALSE(joins(x)) << "so do rows of C";
  x = good;
  x.c = {DType::BF16, {kM, kN - 4}, {kN, 1}, 0};
  x.b.shape = {kK, 2 * kN - 8};
  EXPECT_FALSE(joins(x)) << "the last box of a row would write 8 bytes behind it";
  x = good;
  x.a_scale = Geometry{DType::F32, {1}, {1}, 0};
  EXPECT_FALSE(joins(x));
  x = good;
  x.b_scale = Geometry{DType::F32, {1}, {1}, 0};
  EXPECT_FALSE(joins(x));
  x = good;
  x.a = {DType::BF16, {3, kM, kK}, {kM * kK, kK, 1}, 0};
  x.b = {DType::BF16, {3, kK, 2 * kN}, {2 * kN * kK, 1, kK}, 0};
  x.c = {DType::BF16, {3, kM, kN}, {kM * kN, kN, 1}, 0};
  EXPECT_FALSE(joins(x)) << "a B for each product";
  x.b.strides = {0, 1, kK};
  EXPECT_TRUE(joins(x));
}

}  // namespace
}  // namespace girih::testing
