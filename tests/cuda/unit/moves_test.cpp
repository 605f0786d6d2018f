#include "backends/cuda/moves.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "backends/cuda/kernels/move_kernels.hpp"
#include "backends/cuda/kernels/walk_kernels.hpp"
#include "support/expect.hpp"
#include "verify/random.hpp"

// What is launched for copies and fills, carried out on the host by the arithmetic that the kernels
// share: every byte arrives once, and no access is wider than its address allows.

namespace girih::testing {
namespace {

using cuda::Element;
using cuda::MoveDimension;
using cuda::RowParams;
using cuda::TransposeParams;
using cuda::WalkParams;

enum class Way { Rows, Squares, Tiles, Walk };

class Host final : public cuda::LaunchSink {
 public:
  Status add(const cuda::Launch& launch) noexcept override {
    for (const int bytes : {1, 2, 4, 8}) {
      if (launch.function == cuda::copy_rows_kernel(bytes)) rows(launch, bytes, bytes);
      if (launch.function == cuda::fill_rows_kernel(bytes)) rows(launch, 0, bytes);
      if (launch.function == cuda::transpose_kernel(bytes, true)) squares(launch, bytes);
      if (launch.function == cuda::transpose_kernel(bytes, false)) tiles(launch, bytes);
    }
    for (const Element from : kByBytes) {
      for (const Element to : kByBytes) {
        if (from != to && launch.function == cuda::cast_rows_kernel(from, to)) {
          rows(launch, size_of(from), size_of(to));
        }
      }
    }
    if (launch.function == cuda::copy_kernel()) walk(launch);
    ++launches;
    return {};
  }

  static constexpr Element kByBytes[] = {Element::F8E4M3, Element::BF16, Element::F32};
  static int size_of(Element type) {
    return type == Element::F32 ? 4 : type == Element::BF16 ? 2 : 1;
  }
  /// An element that is read as `source` bytes and written as `destination`: instead of a cast the
  /// lowest bytes, or zeros above them.
  static void convert(void* to, const void* from, int source, int destination) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, static_cast<std::size_t>(source));
    std::memcpy(to, &value, static_cast<std::size_t>(destination));
  }

  int launches = 0;
  std::int64_t in_units = 0;  ///< elements that wide accesses moved
  std::vector<Way> ways;
  std::vector<const void*> written;  ///< the address of each byte

 private:
  void move(void* to, const void* from, int source, int destination) {
    convert(to, from, source, destination);
    for (int i = 0; i < destination; ++i) written.push_back(static_cast<char*>(to) + i);
  }
  static void expect_aligned(const void* at, int bytes) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(bytes), 0U);
  }

  void rows(const cuda::Launch& launch, int source_bytes, int destination_bytes) {
    ways.push_back(Way::Rows);
    const cuda::RowUnit unit = cuda::row_unit(source_bytes, destination_bytes);
    const auto& p = *static_cast<const RowParams*>(launch.params);
    EXPECT_EQ(launch.block.x, static_cast<unsigned>(cuda::kMoveThreads));
    EXPECT_GE(std::uint64_t{launch.grid.x} * launch.block.x, cuda::row_threads(p));
    EXPECT_EQ(p.lanes, 1U << p.lanes_log2);
    for (std::uint32_t thread = 0; thread < cuda::row_threads(p); ++thread) {
      row_thread(p, unit, thread >> p.lanes_log2, static_cast<int>(thread % p.lanes));
    }
  }

  void row_thread(const RowParams& p, const cuda::RowUnit& unit, std::uint32_t piece, int lane) {
    const std::uint32_t row = cuda::quotient(piece, p.row_pieces),
                        of_row = piece - row * p.row_pieces.value;
    const cuda::MoveOffsets at = cuda::offsets_of(p.outer, row);
    const char* const from = static_cast<const char*>(p.source) + at.source;
    char* const to = static_cast<char*>(p.destination) + at.destination;
    const int lanes = static_cast<int>(p.lanes), elements = static_cast<int>(p.elements);
    const auto element = [&](int e) {
      const bool fills = unit.source_bytes == 0;
      move(to + std::int64_t{e} * unit.destination_bytes,
           fills ? reinterpret_cast<const char*>(&p.pattern)
                 : from + std::int64_t{e} * unit.source_bytes,
           fills ? unit.destination_bytes : unit.source_bytes, unit.destination_bytes);
    };
    const cuda::RowPlace place =
        cuda::row_place(unit, reinterpret_cast<std::uintptr_t>(from),
                        reinterpret_cast<std::uintptr_t>(to), elements, p.line);
    for (int e = lane; of_row == 0 && e < place.head; e += lanes) element(e);
    if (of_row + 1 == p.row_pieces.value) {
      for (int e = elements - 1 - lane; e >= elements - place.tail; e -= lanes) element(e);
    }
    const int first = static_cast<int>(of_row) * lanes * unit.in_flight + lane - place.skip;
    for (int i = 0; i < unit.in_flight; ++i) {
      const int u = first + i * lanes;
      if (u < 0 || u >= place.units) continue;
      const int e = place.head + u * unit.elements;
      expect_aligned(to + std::int64_t{e} * unit.destination_bytes, unit.written());
      if (unit.source_bytes != 0) {
        const char* const word = from + std::int64_t{e} * unit.source_bytes - place.shift;
        expect_aligned(word, unit.word());
        EXPECT_GE(word, from) << "what is read stays in the row";
        EXPECT_LE(word + unit.read() + (place.shift != 0 ? unit.word() : 0),
                  from + std::int64_t{elements} * unit.source_bytes);
      }
      for (int j = 0; j < unit.elements; ++j) element(e + j);
      in_units += unit.elements;
    }
  }

  template <class Visit>
  void transpose(const cuda::Launch& launch, cuda::TileSide side, Visit visit) {
    const auto& p = *static_cast<const TransposeParams*>(launch.params);
    EXPECT_EQ(launch.grid.x, p.tiles);
    for (std::uint32_t unit = 0; unit < p.tiles; ++unit) {
      const cuda::TilePlace place = cuda::tile_place(p, unit, side);
      const cuda::MoveOffsets at = cuda::offsets_of(p.outer, place.row);
      visit(p, static_cast<const char*>(p.source) + at.source,
            static_cast<char*>(p.destination) + at.destination, place.x, place.y);
    }
  }
  void transpose_some(const TransposeParams& p, const char* from, char* to, int bytes,
                      std::int64_t x0, std::int64_t y0, int side) {
    for (std::int64_t y = y0; y < std::min(y0 + side, p.y); ++y) {
      for (std::int64_t x = x0; x < std::min(x0 + side, p.x); ++x) {
        move(to + x * p.destination_row + y * bytes, from + y * p.source_row + x * bytes, bytes,
             bytes);
      }
    }
  }

  void squares(const cuda::Launch& launch, int bytes) {
    ways.push_back(Way::Squares);
    const int side = cuda::square_side(bytes);
    transpose(launch, cuda::tile_side(bytes, true),
              [&](const TransposeParams& p, const char* from, char* to, std::int64_t x0,
                  std::int64_t y0) {
                for (int thread = 0; thread < cuda::kMoveThreads; ++thread) {
                  const cuda::SquarePlace place = cuda::square_place(thread);
                  const std::int64_t x = x0 + place.x * side, y = y0 + place.y * side;
                  transpose_some(p, from, to, bytes, x, y, side);
                  if (x + side > p.x || y + side > p.y) continue;
                  expect_aligned(from + y * p.source_row + x * bytes, 16);
                  expect_aligned(to + x * p.destination_row + y * bytes, 16);
                  EXPECT_EQ((p.source_row | p.destination_row) % 16, 0);
                  in_units += std::int64_t{side} * side;
                }
              });
  }
  void tiles(const cuda::Launch& launch, int bytes) {
    ways.push_back(Way::Tiles);
    const cuda::TileSide side = cuda::tile_side(bytes, false);
    const int piece = cuda::square_side(bytes);
    transpose(launch, side,
              [&](const TransposeParams& p, const char* from, char* to, std::int64_t x0,
                  std::int64_t y0) {
                for (std::int64_t x = x0; x < std::min(x0 + side.x, p.x); ++x) {
                  char* const column = to + x * p.destination_row + y0 * bytes;
                  const auto before =
                      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(column) % 16) /
                      bytes;
                  for (std::int64_t i = -before; i < side.y - before; ++i) {
                    const std::int64_t y = y0 + i;
                    if ((i + before) % piece == 0) expect_aligned(column + i * bytes, 16);
                    if (y < 0 || y >= p.y) continue;
                    move(column + i * bytes, from + y * p.source_row + x * bytes, bytes, bytes);
                    ++in_units;
                  }
                }
              });
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
           static_cast<const char*>(p.source) + source * p.bytes, p.bytes, p.bytes);
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

/// A move with `dimensions`, of elements that begin so many elements behind aligned addresses.
struct Moved {
  Op op = Op::Copy;
  int source_bytes, destination_bytes;
  std::int64_t source_offset = 0, destination_offset = 0;
};
Host run(const std::vector<MoveDimension>& dimensions, const Moved& moved) {
  std::int64_t source_reach = moved.source_offset + 1,
               destination_reach = moved.destination_offset + 1, size = 1;
  for (const MoveDimension& d : dimensions) {
    source_reach += (d.extent - 1) * d.source;
    destination_reach += (d.extent - 1) * d.destination;
    size *= d.extent;
  }
  const int from_bytes = moved.source_bytes, to_bytes = moved.destination_bytes;
  Memory source(static_cast<std::size_t>(source_reach * from_bytes)),
      destination(static_cast<std::size_t>(destination_reach * to_bytes));
  verify::Random random(3);
  for (std::byte& b : source.bytes) b = static_cast<std::byte>(random.integer(0, 255));
  const std::vector<std::byte> before = destination.bytes;
  std::byte* const from = source.base + moved.source_offset * from_bytes;
  std::byte* const to = destination.base + moved.destination_offset * to_bytes;
  constexpr std::uint64_t kPattern = 0x8877665544332211;
  const bool fills = moved.op == Op::Fill;
  const auto type = [](int bytes) { return Host::kByBytes[std::min(bytes / 2, 2)]; };
  Host host;
  must(cuda::add_move(
      {.op = moved.op,
       .source = fills ? nullptr : from,
       .destination = to,
       .source_type = type(from_bytes),
       .destination_type = type(to_bytes),
       .source_bytes = from_bytes,
       .destination_bytes = to_bytes,
       .pattern = to_bytes == 8 ? kPattern : kPattern & ((1ULL << 8 * to_bytes) - 1)},
      dimensions, 132, host));
  EXPECT_EQ(host.written.size(), static_cast<std::size_t>(size * to_bytes));
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
    Host::convert(wanted + d * to_bytes,
                  fills ? reinterpret_cast<const std::byte*>(&kPattern) : from + s * from_bytes,
                  fills ? to_bytes : from_bytes, to_bytes);
  }
  EXPECT_EQ(destination.bytes, expected);
  return host;
}
Host run(const std::vector<MoveDimension>& dimensions, int bytes, std::int64_t source_offset = 0,
         std::int64_t destination_offset = 0) {
  return run(dimensions, Moved{.source_bytes = bytes,
                               .destination_bytes = bytes,
                               .source_offset = source_offset,
                               .destination_offset = destination_offset});
}

TEST(CudaMoves, RowsTakeWideAccessesAtAnyAlignment) {
  for (const int bytes : {1, 2, 4, 8}) {
    EXPECT_EQ(run({{1024, 1, 1}}, bytes).in_units, 1024);
    for (std::int64_t from = 0; from < 16 / bytes; ++from) {
      for (const std::int64_t to : {0, 1, 3}) {
        EXPECT_GE(run({{1003, 1, 1}}, bytes, from, to).in_units, 1003 - 64 / bytes);
        EXPECT_GE(run({{5, 131, 137}, {129, 1, 1}}, bytes, from, to).in_units,
                  5 * (129 - 64 / bytes))
            << "each row at an alignment of its own";
      }
    }
    for (const std::int64_t row : {2, 3, 7, 15, 16, 17, 31, 33, 63, 65}) {
      for (const std::int64_t offset : {0, 1, 5}) {
        EXPECT_EQ(run({{7, row + 2, row + 3}, {row, 1, 1}}, bytes, offset, 1).ways,
                  std::vector{Way::Rows});
      }
    }
    EXPECT_EQ(run({{3, 7, 35}, {5, 21, 7}, {7, 1, 1}}, bytes).ways, std::vector{Way::Rows});
    // A row that is repeated.
    EXPECT_EQ(run({{9, 0, 100}, {33, 1, 1}}, bytes).ways, std::vector{Way::Rows});
  }
}

TEST(CudaMoves, LongRowsAreTakenInPiecesOfWholeLines) {
  for (const int bytes : {1, 2, 4, 8}) {
    for (const std::int64_t to : {0, 1, 9}) {
      EXPECT_EQ(run({{3, 9000, 9100}, {8999, 1, 1}}, bytes, 1, to).ways, std::vector{Way::Rows});
    }
  }
}

TEST(CudaMoves, CastsTakeRowsLikeCopies) {
  for (const int from : {1, 2, 4}) {
    for (const int to : {1, 2, 4}) {
      if (from == to) continue;
      for (const std::int64_t row : {2, 3, 17, 64, 65, 700, 3001}) {
        for (const std::int64_t offset : {0, 1, 2, 3, 7}) {
          const Host host =
              run({{3, row + 3, row + 8}, {row, 1, 1}}, {.op = Op::Cast,
                                                         .source_bytes = from,
                                                         .destination_bytes = to,
                                                         .source_offset = offset,
                                                         .destination_offset = offset / 2});
          EXPECT_EQ(host.ways, std::vector{Way::Rows});
          EXPECT_GE(host.in_units, 3 * (row - 40));
        }
      }
    }
  }
}

TEST(CudaMoves, FillsRepeatTheElement) {
  for (const int bytes : {1, 2, 4, 8}) {
    for (const std::int64_t offset : {0, 1, 3}) {
      const Moved moved = {.op = Op::Fill,
                           .source_bytes = bytes,
                           .destination_bytes = bytes,
                           .destination_offset = offset};
      EXPECT_GE(run({{1003, 1, 1}}, moved).in_units, 1003 - 32 / bytes);
      for (const std::int64_t row : {2, 5, 33}) run({{7, 40, 40}, {row, 1, 1}}, moved);
    }
  }
}

TEST(CudaMoves, AlignedTransposesAreOfSquares) {
  for (const int bytes : {1, 2, 4, 8}) {
    for (const auto& [x, y] : {std::pair<std::int64_t, std::int64_t>{64, 64},
                               {129, 70},
                               {8, 300},
                               {300, 9},
                               {257, 255}}) {
      const std::int64_t row = (x + 15) / 16 * 16, column = (y + 15) / 16 * 16;
      EXPECT_EQ(run({{x, 1, column}, {y, row, 1}}, bytes).ways, std::vector{Way::Squares});
      EXPECT_EQ(
          run({{x, 1, column}, {3, column * row, column * x}, {y, row, 1}}, bytes, 16, 32).ways,
          std::vector{Way::Squares});
    }
    EXPECT_EQ(run({{128, 1, 256}, {256, 128, 1}}, bytes).in_units, 128 * 256);
  }
}

TEST(CudaMoves, OtherTransposesGoThroughTiles) {
  for (const int bytes : {1, 2, 4, 8}) {
    for (const auto& [x, y] :
         {std::pair<std::int64_t, std::int64_t>{64, 64}, {129, 70}, {8, 300}}) {
      EXPECT_EQ(run({{x, 1, y + 1}, {y, x + 3, 1}}, bytes, 1, 1).ways, std::vector{Way::Tiles});
      EXPECT_EQ(run({{x, 1, y + 16}, {y, x + 1, 1}}, bytes, 0, 1).ways, std::vector{Way::Tiles});
    }
  }
}

// Eight pieces of each of four columns: 4-byte words of a warp in 32 banks, or the same ones.
TEST(CudaMoves, PiecesOfAColumnLieInDifferentBanks) {
  for (const int bytes : {1, 2, 4}) {
    const int piece = cuda::square_side(bytes);
    for (int column = 0; column + 4 <= piece; column += 4) {
      for (int before = 0; before < piece; ++before) {
        std::map<int, int> words;  // by bank
        for (int lane = 0; lane < 32; ++lane) {
          const int row = (lane % 8 + 1) * piece - 1 - before;
          const int at =
              row * cuda::kTilePitch + cuda::tile_byte(row / piece, (column + lane / 8) * bytes);
          const auto [known, is_new] = words.emplace(at / 4 % 32, at / 4);
          EXPECT_EQ(known->second, at / 4) << bytes << ' ' << column << ' ' << lane;
        }
      }
    }
  }
}

TEST(CudaMoves, EverythingElseIsWalked) {
  for (const int bytes : {1, 2, 4, 8}) {
    EXPECT_EQ(run({{30, 2, 3}}, bytes).ways, std::vector{Way::Walk});
    EXPECT_EQ(run({{30, 2, 3}, {1, 1, 1}}, bytes, 1, 2).ways, std::vector{Way::Walk});
    EXPECT_EQ(run({{30, 1, 3}, {40, 30, 100}}, bytes).ways, std::vector{Way::Walk});
    EXPECT_EQ(run({{4, 1, 90}, {90, 4, 1}}, bytes).ways, std::vector{Way::Walk});
  }
}

TEST(CudaMoves, DimensionsInAnyOrderAreMerged) {
  const Host host = run({{8, 1, 1}, {1, 5, 3}, {6, 56, 56}, {7, 8, 8}}, 4);
  EXPECT_EQ(host.ways, std::vector{Way::Rows});
  EXPECT_EQ(host.in_units, 8 * 6 * 7);
}

/// Counts what a move of more than 31 bits count is cut into.
class Pieces final : public cuda::LaunchSink {
 public:
  Status add(const cuda::Launch& launch) noexcept override {
    const auto& p = *static_cast<const RowParams*>(launch.params);
    elements += std::uint64_t{p.pieces} / p.row_pieces.value * p.elements;
    most = std::max(most, std::uint64_t{p.elements});
    ++launches;
    return {};
  }
  std::uint64_t elements = 0, most = 0;
  int launches = 0;
};

TEST(CudaMoves, MoreThan31BitsCountIsCut) {
  const auto at = [](std::uintptr_t place) { return reinterpret_cast<std::byte*>(place << 40); };
  for (const std::vector<MoveDimension>& dimensions :
       {std::vector<MoveDimension>{{std::int64_t{1} << 36, 1, 1}},
        {{2, std::int64_t{1} << 36, std::int64_t{1} << 37}, {std::int64_t{1} << 36, 1, 1}}}) {
    Pieces pieces;
    must(cuda::add_move(
        {.source = at(1), .destination = at(200), .source_bytes = 1, .destination_bytes = 1},
        dimensions, 132, pieces));
    EXPECT_EQ(pieces.elements, static_cast<std::uint64_t>(dimensions.size()) << 36);
    EXPECT_LT(pieces.most, std::uint64_t{1} << 31);
    EXPECT_GT(pieces.launches, 2);
  }
}

}  // namespace
}  // namespace girih::testing
