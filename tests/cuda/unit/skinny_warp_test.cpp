#include <cmath>
#include <gtest/gtest.h>
#include <initializer_list>
#include <thread>
#include <vector>

#include "backends/cuda/kernels/ptx.cuh"
#include "reference/element.hpp"
#include "verify/random.hpp"
// After what it stands on, because the host's warp redefines the qualifiers of device code.
#include "backends/cuda/kernels/skinny_warp.cuh"

// The lanes of a skinny product, compiled for the host: what each of them reads, brings together
// and multiplies. The barriers of 32 threads stand for the warp.

namespace girih::testing {
namespace {

using cuda::Element;
using cuda::SkinnyForm;

template <Element kType>
constexpr DType kDType = kType == Element::F32      ? DType::F32
                         : kType == Element::BF16   ? DType::BF16
                         : kType == Element::F16    ? DType::F16
                         : kType == Element::I8     ? DType::I8
                         : kType == Element::F8E4M3 ? DType::F8E4M3
                                                    : DType::F8E5M2;

/// A matrix of random elements in whole pieces, `pad` elements beyond a row.
struct Matrix {
  std::vector<uint4> pieces;
  std::int64_t ld;
  DType dtype;

  Matrix(DType type, std::int64_t rows, std::int64_t columns, std::int64_t pad, std::uint64_t seed)
      : ld(columns + pad), dtype(type) {
    pieces.resize(static_cast<std::size_t>(rows * ld * bit_width(type) / 128 + 1));
    verify::Random random(seed);
    for (std::int64_t i = 0; i < rows * ld; ++i) {
      store_element(
          reinterpret_cast<std::byte*>(pieces.data()), type, i,
          type == DType::I8 ? static_cast<double>(random.integer(-128, 127)) : random.real());
    }
  }
  [[nodiscard]] double at(std::int64_t row, std::int64_t column) const {
    return load_element(reinterpret_cast<const std::byte*>(pieces.data()), dtype,
                        row * ld + column);
  }
};

struct Extents {
  std::int64_t m, n, k;
  std::int64_t column = 0;   ///< the warp's first
  int first = 0, count = 1;  ///< units of K
  std::int64_t pad = 0;
};

template <Element kType, SkinnyForm kForm, int kRows>
void expect_sums(const Extents& x) {
  using Warp = cuda::SkinnyWarp<kType, kForm, kRows>;
  constexpr bool kByColumns = kForm == SkinnyForm::AlongColumns;
  const Matrix a(kDType<kType>, x.m, x.k, x.pad, 1);
  const Matrix w(kDType<kType>, kByColumns ? x.k : x.n, kByColumns ? x.n : x.k, x.pad, 2);
  cuda::SimtParams p;
  p.m = x.m, p.n = x.n, p.k = x.k;
  p.a = {a.pieces.data(), a.ld, 1, 0, kType};
  p.b = {w.pieces.data(), kByColumns ? w.ld : 1, kByColumns ? 1 : w.ld, 0, kType};
  constexpr int kPitch = cuda::skinny_pitch(Warp::kColumns);
  std::vector<typename Warp::Sum> sums(kRows * kPitch, 77);
  // NaN, in every type that has one.
  std::vector<uint4> ring(Warp::kStages * Warp::kStagePieces, uint4{~0U, ~0U, ~0U, ~0U});
  std::vector<std::thread> lanes;
  for (int lane = 0; lane < 32; ++lane) {
    lanes.emplace_back([&, lane] {
      cuda::HostWarp::lane = lane;
      Warp warp(p, 0, 0, x.column, ring.data());
      warp.run(x.first, x.count);
      warp.store(sums.data());
    });
  }
  for (std::thread& lane : lanes) lane.join();
  const int unit = cuda::skinny_unit(Warp::kBytes);
  for (std::int64_t i = 0; i < std::min<std::int64_t>(x.m, kRows); ++i) {
    for (std::int64_t j = 0; j < Warp::kColumns && x.column + j < x.n; ++j) {
      double sum = 0, magnitude = 0;
      const std::int64_t end = std::min<std::int64_t>(x.k, (x.first + x.count) * unit);
      for (std::int64_t k = x.first * unit; k < end; ++k) {
        const std::int64_t n = x.column + j;
        const double term = a.at(i, k) * (kByColumns ? w.at(k, n) : w.at(n, k));
        sum += term;
        magnitude += std::fabs(term);
      }
      ASSERT_NEAR(static_cast<double>(sums[static_cast<std::size_t>(i * kPitch + j)]), sum,
                  kType == Element::I8 ? 0 : magnitude * 0x1p-20)
          << "row " << i << ", column " << j << " of " << x.m << "x" << x.n << "x" << x.k;
    }
  }
}

template <Element kType>
void expect_all_forms(std::initializer_list<int> tails) {
  constexpr int kBytes = cuda::element_bytes(kType), kPiece = cuda::skinny_piece(kBytes);
  constexpr int kUnit = cuda::skinny_unit(kBytes), kWidth = 8 * kPiece;
  constexpr int kFewRows = kBytes == 4 ? 4 : 8;
  for (const int tail : tails) {
    const std::int64_t k = kUnit + tail * kPiece;
    const int units = tail == 0 ? 1 : 2;
    SCOPED_TRACE(k);
    expect_sums<kType, SkinnyForm::AlongK, 8>({5, 64, k, 0, 0, units});
    expect_sums<kType, SkinnyForm::AlongK, kFewRows>({3, 64, k, 32, 0, units});
    expect_sums<kType, SkinnyForm::AlongK, 16>({16, 45, k, 13, units - 1, 1, kPiece});
    expect_sums<kType, SkinnyForm::AlongColumns, 8>({5, kWidth + kPiece, k, kWidth, 0, units});
    expect_sums<kType, SkinnyForm::AlongColumns, kFewRows>({3, kWidth, k, 0, units - 1, 1});
    expect_sums<kType, SkinnyForm::AlongColumns, 16>({13, 2 * kWidth, k, 0, 0, units, kPiece});
    expect_sums<kType, SkinnyForm::Gathered, 16>({11, 37, k - 3, 0, 0, units, 1});
    expect_sums<kType, SkinnyForm::Gathered, 16>({16, 37, k - 1, 32, units - 1, 1, 1});
  }
}

TEST(CudaSkinnyWarp, SumsWhatItsLanesRead) {
  expect_all_forms<Element::F32>({0, 5});
  expect_all_forms<Element::BF16>({0, 5});
  expect_all_forms<Element::F16>({1});
  expect_all_forms<Element::I8>({5});
  expect_all_forms<Element::F8E4M3>({0, 5});
  expect_all_forms<Element::F8E5M2>({1});
}

TEST(CudaSkinnyWarp, StagesAreReadAfterTheyArriveAndBeforeTheyAreFilledAnew) {
  constexpr int kUnits = cuda::skinny_stages(SkinnyForm::AlongK) + 2;
  for (const bool are_late : {false, true}) {
    cuda::HostCopies::are_late = are_late;
    expect_sums<Element::BF16, SkinnyForm::AlongK, 8>({5, 32, 64 * kUnits, 0, 0, kUnits});
    expect_sums<Element::F8E4M3, SkinnyForm::AlongColumns, 8>({5, 128, 512, 0, 1, 3});
    expect_sums<Element::F32, SkinnyForm::AlongK, 8>({8, 32, 512, 0, 1, 6});
  }
}

}  // namespace
}  // namespace girih::testing
