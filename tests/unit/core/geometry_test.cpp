#include "core/geometry.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "support/expect.hpp"
#include "verify/host_view.hpp"
#include "verify/random.hpp"

namespace girih {
namespace {

using testing::refused;
using testing::succeeded;
using verify::element_offsets;

Geometry view(DType dtype, Shape shape, Strides strides, std::int64_t offset = 0) {
  return {dtype, shape, strides, offset};
}

/// Bytes that the elements of a view occupy, for whole-byte types.
std::set<std::int64_t> bytes_of(const Geometry& geometry) {
  std::set<std::int64_t> bytes;
  const int width = bit_width(geometry.dtype) / 8;
  for (const std::int64_t offset : element_offsets(geometry)) {
    for (int i = 0; i < width; ++i) bytes.insert(offset * width + i);
  }
  return bytes;
}

bool truly_overlaps_itself(const Geometry& geometry) {
  const std::vector<std::int64_t> offsets = element_offsets(geometry);
  return std::set<std::int64_t>(offsets.begin(), offsets.end()).size() != offsets.size();
}

bool truly_overlap(const Geometry& a, const Geometry& b) {
  const std::set<std::int64_t> x = bytes_of(a);
  const std::set<std::int64_t> y = bytes_of(b);
  return std::any_of(x.begin(), x.end(), [&](std::int64_t byte) { return y.count(byte) != 0; });
}

Geometry random_view(verify::Random& random) {
  Geometry geometry;
  const auto rank = static_cast<std::size_t>(random.integer(0, 3));
  std::array<std::int64_t, kMaxRank> extents{};
  for (std::size_t d = 0; d < rank; ++d) {
    extents[d] = random.integer(random.one_in(12) ? 0 : 1, 4);
    geometry.strides[d] = random.integer(0, 12);
  }
  geometry.shape = Shape::of(std::span(extents).first(rank));
  geometry.offset = random.integer(0, 12);
  geometry.dtype = random.one_in(2) ? DType::F32 : DType::BF16;
  return geometry;
}

TEST(GeometryTest, OverlapWithItselfNeverMissesAndIsExactForNestedStrides) {
  verify::Random random(11);
  int overlapping = 0;
  for (int i = 0; i < 30'000; ++i) {
    const Geometry geometry = random_view(random);
    const bool truth = truly_overlaps_itself(geometry);
    overlapping += truth ? 1 : 0;
    if (truth) {
      EXPECT_TRUE(overlaps_itself(geometry));
    }
  }
  EXPECT_GT(overlapping, 1000);
  for (std::int64_t rows = 1; rows <= 4; ++rows) {
    for (std::int64_t columns = 1; columns <= 4; ++columns) {
      for (std::int64_t pitch = columns; pitch <= 9; ++pitch) {
        EXPECT_FALSE(overlaps_itself(view(DType::F32, {rows, columns}, {pitch, 1})));
        EXPECT_FALSE(overlaps_itself(view(DType::F32, {columns, rows}, {1, pitch})));
      }
    }
  }
}

TEST(GeometryTest, OverlapOfTwoViewsNeverMisses) {
  verify::Random random(12);
  int overlapping = 0, apart = 0;
  for (int i = 0; i < 60'000; ++i) {
    const Geometry a = random_view(random), b = random_view(random);
    const bool truth = truly_overlap(a, b);
    (truth ? overlapping : apart)++;
    if (truth) {
      EXPECT_TRUE(may_overlap(a, b));
    }
    EXPECT_EQ(may_overlap(a, b), may_overlap(b, a));
  }
  EXPECT_GT(overlapping, 1000);
  EXPECT_GT(apart, 1000);
}

TEST(GeometryTest, OverlapOfRowBandsIsExact) {
  // All pairs of column slices, of any rows, of one 4 x 6 matrix.
  constexpr std::int64_t kPitch = 6;
  std::vector<Geometry> bands;
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t rows = 1; row + rows <= 3; ++rows) {
      for (std::int64_t column = 0; column < kPitch; ++column) {
        for (std::int64_t columns = 1; column + columns <= kPitch; ++columns) {
          bands.push_back(view(DType::F32, {rows, columns}, {kPitch, 1}, row * kPitch + column));
        }
      }
    }
  }
  for (const Geometry& a : bands) {
    for (const Geometry& b : bands) {
      EXPECT_EQ(may_overlap(a, b), truly_overlap(a, b))
          << a.shape[0] << "x" << a.shape[1] << "@" << a.offset << " and " << b.shape[0] << "x"
          << b.shape[1] << "@" << b.offset;
    }
  }
}

TEST(GeometryTest, CheckViewAcceptsExactlyWhatFits) {
  verify::Random random(13);
  int accepted = 0, rejected = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Geometry geometry = random_view(random);
    const std::vector<std::int64_t> offsets = element_offsets(geometry);
    const std::int64_t width = bit_width(geometry.dtype) / 8;
    const std::int64_t end =
        offsets.empty() ? geometry.offset : *std::max_element(offsets.begin(), offsets.end()) + 1;
    const std::int64_t capacity = random.integer(0, 60) * width;
    const bool fits = end * width <= capacity;
    (fits ? accepted : rejected)++;
    EXPECT_EQ(check_view(geometry, capacity, "x").has_value(), fits);
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(rejected, 1000);
}

TEST(GeometryTest, CheckViewRefusesWhatOverflowsOrIsNegative) {
  constexpr std::int64_t kHuge = INT64_MAX;
  EXPECT_TRUE(
      refused(check_view(view(DType::F32, {2, 2}, {-1, 1}), 64, "x"), Code::InvalidShape, "x"));
  EXPECT_TRUE(
      refused(check_view(view(DType::F32, {2}, {1}, -1), 64, "x"), Code::InvalidShape, "x"));
  EXPECT_TRUE(refused(check_view(view(DType::F32, {-2}, {1}), 64, "x"), Code::InvalidShape, "-2"));
  EXPECT_TRUE(
      refused(check_view(view(DType::F32, {kHuge, 4}, {0, 0}), 64, "x"), Code::SizeOverflow, "x"));
  EXPECT_TRUE(
      refused(check_view(view(DType::F32, {3}, {kHuge}), 64, "x"), Code::SizeOverflow, "x"));
  EXPECT_TRUE(
      refused(check_view(view(DType::F32, {2}, {1}, kHuge), 64, "x"), Code::SizeOverflow, "x"));
  EXPECT_TRUE(
      refused(check_view(view(DType::F32, {2}, {kHuge - 2}, 1), 64, "x"), Code::SizeOverflow, "x"));
  EXPECT_TRUE(
      refused(check_view(view(DType::I4, {2}, {1}, 1), 64, "x"), Code::InvalidShape, "even"));
  EXPECT_TRUE(succeeded(check_view(view(DType::F32, {kHuge, 0}, {kHuge, kHuge}), 64, "x")));
}

TEST(GeometryTest, SizesAreCheckedProducts) {
  EXPECT_EQ(testing::must(checked_size({3, 4, 5}, "x")), 60);
  EXPECT_EQ(testing::must(checked_size({}, "x")), 1);
  EXPECT_EQ(testing::must(checked_size({INT64_MAX, INT64_MAX, 0}, "x")), 0);
  EXPECT_TRUE(refused(checked_size({std::int64_t{1} << 32, std::int64_t{1} << 31}, "x"),
                      Code::SizeOverflow, "x"));
  EXPECT_TRUE(refused(checked_size({UINT64_MAX}, "x"), Code::InvalidShape, "x"));
  EXPECT_EQ(testing::must(checked_bytes(3, DType::I4, "x")), 2);
  EXPECT_EQ(testing::must(checked_bytes(3, DType::BF16, "x")), 6);
  EXPECT_TRUE(refused(checked_bytes(INT64_MAX, DType::F32, "x"), Code::SizeOverflow, "x"));
}

TEST(GeometryTest, ContiguityIsThatOfTheElements) {
  verify::Random random(14);
  int contiguous = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Geometry geometry = random_view(random);
    const std::vector<std::int64_t> offsets = element_offsets(geometry);
    bool truth = true;
    for (std::size_t e = 0; e < offsets.size(); ++e) {
      truth = truth && offsets[e] == geometry.offset + static_cast<std::int64_t>(e);
    }
    contiguous += truth ? 1 : 0;
    EXPECT_EQ(is_contiguous(geometry), truth);
  }
  EXPECT_GT(contiguous, 500);
  const Shape shape{2, 3, 4};
  EXPECT_TRUE(is_contiguous(view(DType::F32, shape, contiguous_strides(shape))));
}

TEST(GeometryTest, ByteRangeIsThatOfTheElements) {
  verify::Random random(15);
  for (int i = 0; i < 5'000; ++i) {
    const Geometry geometry = random_view(random);
    const std::set<std::int64_t> bytes = bytes_of(geometry);
    const ByteRange range = byte_range(geometry);
    if (bytes.empty()) {
      EXPECT_EQ(range.begin, range.end);
    } else {
      EXPECT_EQ(range.begin, *bytes.begin());
      EXPECT_EQ(range.end, *bytes.rbegin() + 1);
    }
  }
}

TEST(GeometryTest, SameViewMeansSameElementsInOrder) {
  const Geometry a = view(DType::F32, {1, 3}, {7, 1}, 2);
  EXPECT_TRUE(same_view(a, view(DType::F32, {1, 3}, {9, 1}, 2)));  // one row: its stride is idle
  EXPECT_FALSE(same_view(a, view(DType::F32, {1, 3}, {7, 2}, 2)));
  EXPECT_FALSE(same_view(a, view(DType::F32, {3, 1}, {1, 7}, 2)));
  EXPECT_FALSE(same_view(a, view(DType::I32, {1, 3}, {7, 1}, 2)));
  EXPECT_FALSE(same_view(a, view(DType::F32, {1, 3}, {7, 1}, 3)));
}

}  // namespace
}  // namespace girih
