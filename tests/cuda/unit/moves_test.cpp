#include "backends/cuda/moves.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "backends/cuda/kernels/move_kernels.hpp"
#include "backends/cuda/kernels/walk_kernels.hpp"
#include "support/expect.hpp"
#include "verify/random.hpp"

// What is launched for copies and fills, carried out on the host by the arithmetic that the kernels
// share: every byte arrives once, and no access is wider than its address allows.

namespace girih::testing {
namespace {

using cuda::MoveDimension;
using cuda::MoveParams;
using cuda::TransposeParams;
using cuda::WalkParams;

enum class Way { Rows, Transpose, Walk };

class Host final : public cuda::LaunchSink {
 public:
  Status add(const cuda::Launch& launch) noexcept override {
    for (const int unit : {1, 2, 4, 8, 16}) {
      if (launch.function == cuda::copy_rows_kernel(unit)) rows(launch, unit, false);
      if (launch.function == cuda::fill_rows_kernel(unit)) rows(launch, unit, true);
    }
    for (const int bytes : {1, 2, 4, 8}) {
      for (const bool wide : {false, true}) {
        const bool same = bytes >= 4 && wide;  // one kernel
        if (!same && launch.function == cuda::transpose_kernel(bytes, wide)) {
          transpose(launch, bytes, wide && bytes < 4 ? 4 / bytes : 1);
        }
      }
    }
    if (launch.function == cuda::copy_kernel()) walk(launch);
    ++launches;
    return {};
  }

  int launches = 0, widest = 0;
  std::vector<Way> ways;
  std::vector<const void*> written;  ///< the address of each access

 private:
  void move(void* to, const void* from, int bytes) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(to) % static_cast<std::uintptr_t>(bytes), 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(from) % static_cast<std::uintptr_t>(bytes), 0U);
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    for (int i = 0; i < bytes; ++i) written.push_back(static_cast<char*>(to) + i);
  }

  void rows(const cuda::Launch& launch, int unit, bool fills) {
    ways.push_back(Way::Rows);
    widest = std::max(widest, unit);
    const auto& p = *static_cast<const MoveParams*>(launch.params);
    alignas(16) const std::uint64_t pattern[2] = {p.pattern, p.pattern};
    const auto step = [&](std::uint32_t row, std::int64_t source, std::int64_t destination,
                          int bytes) {
      const cuda::MoveOffsets at = cuda::offsets_of(p.outer, row);
      const void* from = fills ? static_cast<const void*>(pattern)
                               : static_cast<const char*>(p.source) + at.source + source;
      move(static_cast<char*>(p.destination) + at.destination + destination, from, bytes);
    };
    if (p.chunks != 0) {
      // Pieces of whole warps cover a row, and nothing is in a second one.
      const std::uint32_t chunk = static_cast<std::uint32_t>(cuda::move_chunk(unit));
      EXPECT_GE(p.row_chunks.value * chunk, p.row_units.value);
      EXPECT_LT((p.row_chunks.value - 1) * chunk, p.row_units.value);
      EXPECT_EQ(p.chunks / p.row_chunks.value * p.row_units.value, p.units);
    }
    for (std::uint32_t i = 0; i < p.units; ++i) {
      const std::uint32_t row = cuda::quotient(i, p.row_units);
      const std::int64_t inside = p.head_bytes + std::int64_t{i - row * p.row_units.value} * unit;
      step(row, inside, inside, unit);
    }
    for (std::uint32_t i = 0; i < p.tails; ++i) {
      const std::uint32_t row = cuda::quotient(i, p.row_tails);
      const std::uint32_t element = i - row * p.row_tails.value;
      step(row, cuda::tail_offset(p, element, p.source_tail, p.bytes),
           cuda::tail_offset(p, element, p.destination_tail, p.bytes), p.bytes);
    }
  }

  void transpose(const cuda::Launch& launch, int bytes, int width) {
    ways.push_back(Way::Transpose);
    widest = std::max(widest, bytes * width);
    const auto& p = *static_cast<const TransposeParams*>(launch.params);
    const int side = cuda::transpose_side(bytes);
    for (std::uint32_t unit = 0; unit < p.tiles; ++unit) {
      const std::uint32_t beside = cuda::quotient(unit, p.tiles_x),
                          row = cuda::quotient(beside, p.tiles_y);
      const std::int64_t x0 = std::int64_t{unit - beside * p.tiles_x.value} * side,
                         y0 = std::int64_t{beside - row * p.tiles_y.value} * side;
      const cuda::MoveOffsets at = cuda::offsets_of(p.outer, row);
      for (int step = 0; step < cuda::transpose_steps(side, width); ++step) {
        for (int lane = 0; lane < 32; ++lane) {
          const cuda::TransposePlace place = cuda::transpose_place(side, width, step, lane);
          for (int e = 0; e < width; ++e) {
            const std::int64_t x = x0 + place.x, y = y0 + place.y + e;
            if (x >= p.x || y >= p.y) continue;
            char* const to = static_cast<char*>(p.destination) + at.destination +
                             x * p.destination_row + y * bytes;
            if (e == 0 && y + width <= p.y) {
              EXPECT_EQ(
                  reinterpret_cast<std::uintptr_t>(to) % static_cast<std::uintptr_t>(bytes * width),
                  0U);
            }
            move(to, static_cast<const char*>(p.source) + at.source + y * p.source_row + x * bytes,
                 bytes);
          }
        }
      }
    }
  }

  void walk(const cuda::Launch& launch) {
    ways.push_back(Way::Walk);
    const auto& p = *static_cast<const WalkParams*>(launch.params);
    std::int64_t size = 1;
    for (const std::int64_t extent : p.extents) size *= extent;
    for (std::int64_t i = 0; i < size; ++i) {
      std::int64_t rest = i, source = 0, destination = 0;
      for (int d = WalkParams::kRank - 1; d >= 0; --d) {
        source += rest % p.extents[d] * p.source_strides[d];
        destination += rest % p.extents[d] * p.destination_strides[d];
        rest /= p.extents[d];
      }
      move(static_cast<char*>(p.destination) + destination * p.bytes,
           static_cast<const char*>(p.source) + source * p.bytes, p.bytes);
    }
  }
};

struct Memory {
  std::vector<std::byte> bytes;
  std::byte* base;  ///< 64-byte aligned, with room on both sides
  explicit Memory(std::size_t size) : bytes(size + 256, std::byte{0xEE}) {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes.data()) + 127;
    base = bytes.data() + (at / 64 * 64 - reinterpret_cast<std::uintptr_t>(bytes.data()));
  }
};

/// Copies with `dimensions`, of elements that begin `offset` elements behind aligned addresses.
Host run(std::vector<MoveDimension> dimensions, int bytes, std::int64_t source_offset = 0,
         std::int64_t destination_offset = 0, bool fills = false) {
  std::int64_t source_reach = source_offset + 1, destination_reach = destination_offset + 1,
               size = 1;
  for (const MoveDimension& d : dimensions) {
    source_reach += (d.extent - 1) * d.source;
    destination_reach += (d.extent - 1) * d.destination;
    size *= d.extent;
  }
  Memory source(static_cast<std::size_t>(source_reach * bytes)),
      destination(static_cast<std::size_t>(destination_reach * bytes));
  verify::Random random(3);
  for (std::byte& b : source.bytes) b = static_cast<std::byte>(random.integer(0, 255));
  const std::vector<std::byte> before = destination.bytes;
  std::byte* const from = source.base + source_offset * bytes;
  std::byte* const to = destination.base + destination_offset * bytes;
  constexpr std::uint64_t kPattern = 0x8877665544332211;
  Host host;
  must(cuda::add_move({.op = fills ? Op::Fill : Op::Copy,
                       .source = fills ? nullptr : from,
                       .destination = to,
                       .source_bytes = bytes,
                       .destination_bytes = bytes,
                       .pattern = bytes == 8 ? kPattern : kPattern & ((1ULL << 8 * bytes) - 1)},
                      dimensions, 132, host));
  EXPECT_EQ(host.written.size(), static_cast<std::size_t>(size * bytes));
  std::sort(host.written.begin(), host.written.end());
  EXPECT_EQ(std::adjacent_find(host.written.begin(), host.written.end()), host.written.end());
  std::vector<std::byte> expected = before;
  std::byte* const wanted = expected.data() + (to - destination.bytes.data());
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t rest = i, s = 0, d = 0;
    for (const MoveDimension& dimension : dimensions) {
      s += rest % dimension.extent * dimension.source;
      d += rest % dimension.extent * dimension.destination;
      rest /= dimension.extent;
    }
    std::memcpy(wanted + d * bytes,
                fills ? reinterpret_cast<const std::byte*>(&kPattern) : from + s * bytes,
                static_cast<std::size_t>(bytes));
  }
  EXPECT_EQ(destination.bytes, expected);
  return host;
}

TEST(CudaMoves, RowsTakeTheWidestAccessThatEveryAddressAllows) {
  for (const int bytes : {1, 2, 4, 8}) {
    EXPECT_EQ(run({{1000, 1, 1}}, bytes).widest, 16);
    EXPECT_EQ(run({{1003, 1, 1}}, bytes).widest, 16);
    EXPECT_EQ(run({{1003, 1, 1}}, bytes, 1, 0).widest, bytes);
    EXPECT_EQ(run({{1003, 1, 1}}, bytes, 1, 1).widest, 16) << "what lies in front goes alone";
    EXPECT_EQ(run({{7, 96, 112}, {67, 1, 1}}, bytes, 1, 1).widest, 16);
    EXPECT_EQ(run({{7, 97, 112}, {67, 1, 1}}, bytes, 1, 1).widest, bytes);
    EXPECT_EQ(run({{5, 48, 64}, {33, 1, 1}}, bytes).widest, 16);
    EXPECT_EQ(run({{5, 49, 64}, {33, 1, 1}}, bytes).widest, bytes);
    EXPECT_EQ(run({{1, 1, 1}}, bytes).widest, bytes);
    EXPECT_EQ(run({{3, 7, 35}, {5, 21, 7}, {7, 1, 1}}, bytes).ways, std::vector{Way::Rows});
    // A row that is repeated.
    EXPECT_EQ(run({{9, 0, 100}, {33, 1, 1}}, bytes).ways, std::vector{Way::Rows});
  }
  EXPECT_EQ(run({{10, 32, 32}, {3, 1, 1}}, 4).widest, 8) << "two of three f32";
}

TEST(CudaMoves, LongRowsAreTakenInPieces) {
  for (const int bytes : {1, 2, 4, 8}) {
    EXPECT_EQ(run({{3, 9000, 9100}, {8999, 1, 1}}, bytes, 1, 0).ways, std::vector{Way::Rows});
  }
}

TEST(CudaMoves, FillsRepeatTheElement) {
  for (const int bytes : {1, 2, 4, 8}) {
    run({{1003, 1, 1}}, bytes, 0, 0, true);
    run({{1003, 1, 1}}, bytes, 0, 1, true);
    run({{7, 40, 40}, {33, 1, 1}}, bytes, 0, 3, true);
  }
}

TEST(CudaMoves, TransposesGoThroughTiles) {
  for (const int bytes : {1, 2, 4, 8}) {
    for (const auto& [x, y] :
         {std::pair<std::int64_t, std::int64_t>{64, 64}, {129, 70}, {8, 300}}) {
      EXPECT_EQ(run({{x, 1, y}, {y, x, 1}}, bytes).ways, std::vector{Way::Transpose});
      EXPECT_EQ(run({{x, 1, y + 1}, {y, x + 3, 1}}, bytes, 1, 1).ways, std::vector{Way::Transpose});
      EXPECT_EQ(run({{x, 1, y + 8}, {3, x * y, (y + 8) * x}, {y, x, 1}}, bytes).ways,
                std::vector{Way::Transpose});
    }
    EXPECT_EQ(run({{128, 1, 256}, {256, 128, 1}}, bytes).widest, std::max(bytes, 4));
  }
}

TEST(CudaMoves, EverythingElseIsWalked) {
  for (const int bytes : {1, 2, 4, 8}) {
    EXPECT_EQ(run({{30, 2, 3}}, bytes).ways, std::vector{Way::Walk});
    EXPECT_EQ(run({{30, 1, 3}, {40, 30, 100}}, bytes).ways, std::vector{Way::Walk});
    EXPECT_EQ(run({{4, 1, 90}, {90, 4, 1}}, bytes).ways, std::vector{Way::Walk});
  }
}

TEST(CudaMoves, DimensionsInAnyOrderAreMerged) {
  const Host host = run({{8, 1, 1}, {1, 5, 3}, {6, 56, 56}, {7, 8, 8}}, 4);
  EXPECT_EQ(host.ways, std::vector{Way::Rows});
  EXPECT_EQ(host.widest, 16);
}

/// Counts what a move of more units than 31 bits count is cut into.
class Pieces final : public cuda::LaunchSink {
 public:
  Status add(const cuda::Launch& launch) noexcept override {
    const auto& p = *static_cast<const MoveParams*>(launch.params);
    units += p.units;
    most = std::max(most, std::uint64_t{p.units});
    ++launches;
    return {};
  }
  std::uint64_t units = 0, most = 0;
  int launches = 0;
};

TEST(CudaMoves, MoreUnitsThan31BitsAreCut) {
  const auto at = [](std::uintptr_t place) { return reinterpret_cast<std::byte*>(place << 40); };
  for (const std::vector<MoveDimension>& dimensions :
       {std::vector<MoveDimension>{{std::int64_t{1} << 36, 1, 1}},
        {{2, std::int64_t{1} << 36, std::int64_t{1} << 37}, {std::int64_t{1} << 36, 1, 1}}}) {
    Pieces pieces;
    must(cuda::add_move(
        {.source = at(1), .destination = at(200), .source_bytes = 1, .destination_bytes = 1},
        dimensions, 132, pieces));
    EXPECT_EQ(pieces.units, static_cast<std::uint64_t>(dimensions.size()) << 32);
    EXPECT_LT(pieces.most, std::uint64_t{1} << 31);
    EXPECT_GT(pieces.launches, 2);
  }
}

}  // namespace
}  // namespace girih::testing
