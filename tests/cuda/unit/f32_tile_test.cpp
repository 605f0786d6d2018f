#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "backends/cuda/kernels/fast_f32_params.hpp"
#include "core/small_float.hpp"
#include "plan/cuda_f32_tile.hpp"
#include "verify/random.hpp"

// The arithmetic that the f32 kernels share with the host.

namespace girih::testing {
namespace {

using namespace cuda;

TEST(CudaF32Tile, EveryElementOfAStageIsCopiedOnce) {
  for (const F32Tile& tile : kF32Tiles) {
    const int threads = f32_threads(tile);
    for (const int extent : {tile.rows, tile.cols}) {
      for (const auto& [load, along_k] : {std::pair{F32Load::Wide, false},
                                          {F32Load::AlongK, false},
                                          {F32Load::Any, false},
                                          {F32Load::Any, true}}) {
        const bool wide = load == F32Load::Wide;
        std::vector<int> copied(static_cast<std::size_t>(extent * tile.depth));
        const int passes = f32_passes(extent, tile.depth, threads, load);
        for (int thread = 0; thread < threads; ++thread) {
          const F32Copy copy = f32_copy(extent, tile.depth, threads, load, along_k, thread);
          for (int pass = 0; pass < passes; ++pass) {
            for (int e = 0; e < (wide ? 4 : 1); ++e) {
              const int at = copy.first + pass * copy.extent_step + e;
              const int k = copy.first_k + pass * copy.k_step;
              ASSERT_LT(at, extent);
              ASSERT_LT(k, tile.depth);
              ++copied[static_cast<std::size_t>(k * extent + at)];
            }
          }
        }
        EXPECT_EQ(copied, std::vector<int>(copied.size(), 1)) << extent << ' ' << wide << along_k;
      }
    }
  }
}

TEST(CudaF32Tile, EveryPassIsMadeBeforeTheLastStep) {
  for (const int depth : {8, 16}) {
    for (const int passes : {1, 2, 4, 8, 16}) {
      EXPECT_EQ(f32_passes_before(0, depth, passes), 0);
      EXPECT_EQ(f32_passes_before(depth - 1, depth, passes), passes);
      for (int d = 0; d + 1 < depth; ++d) {
        EXPECT_LE(f32_passes_before(d, depth, passes), f32_passes_before(d + 1, depth, passes));
      }
    }
  }
}

TEST(CudaF32Tile, AWarpThatWritesNeighbouringKMeetsFewBanksTwice) {
  for (const F32Tile& tile : kF32Tiles) {
    std::set<int> banks;
    for (int thread = 0; thread < 32; ++thread) {
      const F32Copy copy =
          f32_copy(tile.rows, tile.depth, f32_threads(tile), F32Load::AlongK, false, thread);
      banks.insert((copy.first_k * f32_row(tile.rows) + copy.first) % 32);
    }
    EXPECT_GE(banks.size() * static_cast<std::size_t>(tile.depth), 32U * 8);
    EXPECT_EQ(f32_row(tile.rows) % 4, 0) << "16-byte loads";
  }
}

TEST(CudaF32Tile, EveryTileOfCIsVisitedOnce) {
  for (const auto& [rows, cols] : {std::pair{1U, 1U}, {8U, 3U}, {9U, 5U}, {31U, 17U}, {3U, 40U}}) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (std::uint32_t u = 0; u < rows * cols; ++u) {
      const F32Place place = f32_place(u, rows, cols);
      EXPECT_LT(place.row, rows);
      EXPECT_LT(place.col, cols);
      seen.insert({place.row, place.col});
    }
    EXPECT_EQ(seen.size(), rows * cols);
  }
}

TEST(CudaF32Tile, SlicesAreWholeStagesAndCoverK) {
  for (const std::int64_t k : {1, 7, 64, 100, 4097}) {
    for (const int slices : {1, 2, 3, 8}) {
      EXPECT_EQ(f32_slice_begin(k, 8, slices, 0), 0);
      EXPECT_EQ(f32_slice_begin(k, 8, slices, slices), k);
      for (int s = 0; s < slices; ++s) {
        const std::int64_t begin = f32_slice_begin(k, 8, slices, s);
        EXPECT_LE(begin, f32_slice_begin(k, 8, slices, s + 1));
        EXPECT_TRUE(begin % 8 == 0 || begin == k);
      }
    }
  }
}

TEST(CudaFastF32, TheSixLargestProductsOfPartsAreTakenSmallOnesFirst) {
  std::set<std::pair<int, int>> terms;
  int before = 4;
  for (int t = 0; t < kFastTerms; ++t) {
    const FastTerm term = fast_term(t);
    terms.insert({term.a, term.b});
    EXPECT_LE(term.a + term.b, 2);
    EXPECT_LE(term.a + term.b, before);
    before = term.a + term.b;
  }
  EXPECT_EQ(terms.size(), 6U);
}

float bf16(float x) {
  return widen<kBf16>(narrow<kBf16>(x));
}

TEST(CudaFastF32, ThreePartsAreTheWhole) {
  verify::Random random(9);
  for (int i = 0; i < 200'000; ++i) {
    const auto exponent = static_cast<int>(random.integer(-100, 126));
    const auto x = static_cast<float>(std::ldexp(1 + std::fabs(random.real()), exponent)) *
                   (i % 2 == 0 ? 1.0F : -1.0F);
    const float hi = bf16(x);
    ASSERT_TRUE(std::isfinite(hi));
    const float mid = bf16(x - hi), lo = bf16(x - hi - mid);
    ASSERT_EQ(x - hi - mid, lo);
    ASSERT_LE(std::fabs(mid), std::ldexp(std::fabs(x), -8));
    ASSERT_LE(std::fabs(lo), std::ldexp(std::fabs(x), -16));
    ASSERT_TRUE(lo == 0 || std::fabs(lo) >= 0x1p-126F);
  }
}

}  // namespace
}  // namespace girih::testing
