#include "backends/cuda/kernels/mma_geometry.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "core/small_float.hpp"

// Where a warp finds its operands in shared memory, against what the instructions ask for.

namespace girih::testing {
namespace {

using cuda::Major;
using cuda::MmaTile;

constexpr int kDepth = 64;  // elements of 2 bytes in a row

/// Number of the element (at, k), by its place in a stage.
std::vector<int> stage_of(const MmaTile& tile, Major major) {
  std::vector<int> stage(static_cast<std::size_t>(tile.extent * kDepth), -1);
  for (int at = 0; at < tile.extent; ++at) {
    for (int k = 0; k < kDepth; ++k) {
      const int bytes = major == Major::K ? cuda::mma_piece_offset(at, k / 8) + k % 8 * 2
                                          : cuda::mma_panel_offset(k, at / 8 * 8) + at % 8 * 2;
      int& place = stage.at(static_cast<std::size_t>(bytes / 2));
      EXPECT_EQ(place, -1) << "two elements in one place";
      place = at * kDepth + k;
    }
  }
  return stage;
}

/// One of the four 8 x 8 matrices of an ldmatrix.x4 by a warp whose rows begin at `first`.
struct Fetch {
  Major major;
  bool is_a;
  int first, tile, step, matrix;

  [[nodiscard]] int row(int i) const {
    return mma_address(major, cuda::mma_lane(major, is_a, first, matrix * 8 + i), tile, step);
  }
  /// What half `half` of lane's register holds.
  [[nodiscard]] int element(const std::vector<int>& stage, int lane, int half) const {
    const int along = lane % 4 * 2 + half;
    const int bytes = major == Major::K ? row(lane / 4) + along * 2 : row(along) + lane / 4 * 2;
    return stage.at(static_cast<std::size_t>(bytes / 2));
  }
  /// What the product instruction takes it for.
  [[nodiscard]] int expected(int lane, int half) const {
    const int upper = is_a ? matrix % 2 : matrix / 2, deeper = is_a ? matrix / 2 : matrix % 2;
    const int at = first + tile * 16 + upper * 8 + lane / 4;
    return at * kDepth + step * 16 + deeper * 8 + lane % 4 * 2 + half;
  }
  [[nodiscard]] unsigned banks() const {
    unsigned met = 0;
    for (int i = 0; i < 8; ++i) met |= 1U << (row(i) / 16 % 8);
    return met;
  }
};

void check_fetch(const Fetch& fetch, const std::vector<int>& stage) {
  ASSERT_EQ(fetch.banks(), 0xFFU) << "two rows of eight share banks";
  for (int lane = 0; lane < 32; ++lane) {
    for (int half = 0; half < 2; ++half) {
      ASSERT_EQ(fetch.element(stage, lane, half), fetch.expected(lane, half))
          << "first " << fetch.first << " tile " << fetch.tile << " step " << fetch.step
          << " matrix " << fetch.matrix << " lane " << lane;
    }
  }
}

TEST(CudaMmaGeometry, EveryLaneFindsItsElements) {
  for (const MmaTile& tile : cuda::kMmaTiles) {
    for (const Major major : {Major::K, Major::MN}) {
      const std::vector<int> stage = stage_of(tile, major);
      for (const bool is_a : {true, false}) {
        const int rows = tile.extent / (is_a ? tile.warps_m : tile.warps_n);
        for (int first = 0; first < tile.extent; first += rows) {
          for (int i = 0; i < rows / 16 * 4 * 4; ++i) {
            check_fetch({major, is_a, first, i / 16, i / 4 % 4, i % 4}, stage);
          }
        }
      }
    }
  }
}

TEST(CudaMmaGeometry, TilesFitTheSmallestSharedMemory) {
  for (const MmaTile& tile : cuda::kMmaTiles) {
    EXPECT_LE(cuda::mma_shared_bytes(tile), 99 * 1024);  // of 8.6, 8.9 and 12.0
    EXPECT_EQ(tile.extent * 8 % cuda::mma_threads(tile), 0);
    EXPECT_EQ(cuda::mma_threads(tile) / (tile.extent / 8) % 8, 0) << "a thread's pieces turn alike";
  }
}

TEST(CudaMmaGeometry, HalfAWarpWritesItsSumsIntoDifferentBanks) {
  for (const MmaTile& tile : cuda::kMmaTiles) {
    unsigned met = 0;
    for (int lane = 0; lane < 16; ++lane) {
      met |= 3U << ((lane / 4 * cuda::mma_sum_stride(tile) + lane % 4 * 2) % 32);
    }
    EXPECT_EQ(met, ~0U);
  }
}

TEST(CudaMmaGeometry, EightBitFloatsBecomeTheSameNumbers) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    const auto x = static_cast<std::uint8_t>(bits);
    const float e4m3 = widen<kF8E4M3>(x), e5m2 = widen<kF8E5M2>(x);
    if (e4m3 == e4m3) {
      EXPECT_EQ(cuda::f16_of_f8e4m3(x), narrow<kF16>(e4m3)) << bits;
    } else {
      EXPECT_GT(cuda::f16_of_f8e4m3(x) & 0x7FFF, 0x7C00) << bits;
    }
    if (e5m2 == e5m2) {
      EXPECT_EQ(cuda::f16_of_f8e5m2(x), narrow<kF16>(e5m2)) << bits;
    } else {
      EXPECT_GT(cuda::f16_of_f8e5m2(x) & 0x7FFF, 0x7C00) << bits;
    }
  }
}

}  // namespace
}  // namespace girih::testing
