#include "backends/cuda/moves.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "backends/cuda/kernels/move_kernels.hpp"
#include "backends/cuda/kernels/walk_kernels.hpp"
#include "core/checked.hpp"

namespace girih::inline v0::cuda {
namespace {

constexpr std::int64_t kMaxUnits = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLeastSide = 8;  // a transpose of less than this is a walk

unsigned grid_for(std::int64_t blocks, int of_multiprocessor, int multiprocessors) noexcept {
  return static_cast<unsigned>(std::clamp<std::int64_t>(
      blocks, 1, std::int64_t{of_multiprocessor} * std::max(multiprocessors, 1)));
}

/// Without extents of 1, by falling destination stride, neighbours merged that both sides walk
/// without a gap. At least one dimension.
struct Dimensions {
  std::array<MoveDimension, WalkParams::kRank> at{};
  std::size_t rank = 0;

  explicit Dimensions(std::span<const MoveDimension> given) noexcept {
    for (const MoveDimension& next : given) {
      if (next.extent == 1) continue;
      std::size_t slot = rank++;
      for (; slot > 0 && at[slot - 1].destination < next.destination; --slot) {
        at[slot] = at[slot - 1];
      }
      at[slot] = next;
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      const MoveDimension inner = at[i];
      MoveDimension* const outer = count > 0 ? &at[count - 1] : nullptr;
      if (outer != nullptr && outer->source == inner.source * inner.extent &&
          outer->destination == inner.destination * inner.extent) {
        *outer = {outer->extent * inner.extent, inner.source, inner.destination};
      } else {
        at[count++] = inner;
      }
    }
    rank = count;
    if (rank == 0) at[rank++] = {1, 1, 1};
  }

  [[nodiscard]] MoveDimension& last() noexcept { return at[rank - 1]; }
  [[nodiscard]] const MoveDimension& last() const noexcept { return at[rank - 1]; }
  /// Elements.
  [[nodiscard]] std::int64_t size() const noexcept {
    std::int64_t size = 1;
    for (std::size_t i = 0; i < rank; ++i) size *= at[i].extent;
    return size;
  }
};

/// The lowest bits of what both sides' addresses and strides, but those of the dimensions `a` and
/// `b`, are made of: the largest power of two that divides it divides them all.
std::uintptr_t places(const Move& move, const Dimensions& dimensions, std::size_t a,
                      std::size_t b) noexcept {
  std::uintptr_t bits =
      std::bit_cast<std::uintptr_t>(move.source) | std::bit_cast<std::uintptr_t>(move.destination);
  for (std::size_t i = 0; i < dimensions.rank; ++i) {
    const MoveDimension& d = dimensions.at[i];
    if (i != a && i != b) {
      bits |= static_cast<std::uintptr_t>(d.destination * move.destination_bytes);
      if (move.source != nullptr) {
        bits |= static_cast<std::uintptr_t>(d.source * move.source_bytes);
      }
    }
  }
  return bits;
}

OuterDimensions outer_of(const Move& move, const Dimensions& dimensions, std::size_t a,
                         std::size_t b) noexcept {
  OuterDimensions outer;
  for (std::size_t i = dimensions.rank; i-- > 0;) {
    if (i == a || i == b) continue;
    const MoveDimension& d = dimensions.at[i];
    outer.extents[outer.count] = make_divisor(static_cast<std::uint32_t>(d.extent));
    outer.source_strides[outer.count] = d.source * move.source_bytes;
    outer.destination_strides[outer.count] = d.destination * move.destination_bytes;
    ++outer.count;
  }
  return outer;
}

/// The move in pieces of `most` along its outermost dimension.
Status in_pieces(const Move& move, const Dimensions& dimensions, std::int64_t most,
                 int multiprocessors, LaunchSink& sink) noexcept {
  const MoveDimension& outermost = dimensions.at[0];
  for (std::int64_t first = 0; first < outermost.extent; first += most) {
    Move piece = move;
    Dimensions part = dimensions;
    part.at[0].extent = std::min(most, outermost.extent - first);
    piece.destination += first * outermost.destination * move.destination_bytes;
    if (move.source != nullptr) piece.source += first * outermost.source * move.source_bytes;
    GIRIH_TRY(add_move(piece, std::span(part.at).first(part.rank), multiprocessors, sink));
  }
  return {};
}

/// Whether both sides have neighbours along the last dimension.
bool has_rows(const Move& move, const Dimensions& dimensions) noexcept {
  const MoveDimension& last = dimensions.last();
  return last.extent == 1 || (last.destination == 1 && (move.op == Op::Fill || last.source == 1));
}

/// A power of two.
std::uint32_t lanes_for(std::int64_t n) noexcept {
  return std::bit_ceil(static_cast<std::uint32_t>(std::clamp<std::int64_t>(n, 1, 32)));
}

const void* rows_kernel(const Move& move) noexcept {
  if (move.op == Op::Cast) return cast_rows_kernel(move.source_type, move.destination_type);
  return move.op == Op::Fill ? fill_rows_kernel(move.destination_bytes)
                             : copy_rows_kernel(move.destination_bytes);
}

Status add_rows(const Move& move, const Dimensions& dimensions, int multiprocessors,
                LaunchSink& sink) noexcept {
  const RowUnit unit =
      row_unit(move.op == Op::Fill ? 0 : move.source_bytes, move.destination_bytes);
  const std::int64_t row = dimensions.last().extent, rows = dimensions.size() / row;
  const std::int64_t units = row / unit.elements;
  RowParams p;
  // Threads that share a row of less than a warp's units: half as many as it has where nothing lies
  // around them, and one for four elements where hardly any are.
  const std::size_t inner = dimensions.rank - 1;
  const bool is_whole =
      places(move, dimensions, inner, inner) % 16 == 0 && row % unit.elements == 0;
  p.lanes = lanes_for(units < 4  ? ceil_div(row, std::int64_t{4})
                      : is_whole ? ceil_div(units, std::int64_t{unit.in_flight})
                                 : units);
  p.lanes_log2 = static_cast<std::uint32_t>(std::countr_zero(p.lanes));
  const std::int64_t piece = std::int64_t{p.lanes} * unit.in_flight;
  p.line = units > piece ? 128 : static_cast<std::uint32_t>(unit.written());
  const std::int64_t row_pieces =
      ceil_div(std::max<std::int64_t>(units, 1) + p.line / unit.written() - 1, piece);
  if (rows * row_pieces * p.lanes > kMaxUnits || row > kMaxUnits) {
    const MoveDimension& outermost = dimensions.at[0];
    // Of one row, a multiple of every line.
    const std::int64_t half =
        round_up(ceil_div(outermost.extent, 2), dimensions.rank == 1 ? 128 : 1);
    return in_pieces(move, dimensions, half, multiprocessors, sink);
  }
  p.source = move.source;
  p.destination = move.destination;
  p.outer = outer_of(move, dimensions, inner, inner);
  p.elements = static_cast<std::uint32_t>(row);
  p.pieces = static_cast<std::uint32_t>(rows * row_pieces);
  p.row_pieces = make_divisor(static_cast<std::uint32_t>(row_pieces));
  p.pattern = move.pattern;
  for (int bytes = move.destination_bytes; bytes < 8; bytes *= 2) {
    p.pattern = (p.pattern & ((std::uint64_t{1} << (8 * bytes)) - 1)) *
                (1 + (std::uint64_t{1} << (8 * bytes)));
  }
  return sink.add({.function = rows_kernel(move),
                   .grid = static_cast<unsigned>(
                       ceil_div(row_threads(p), static_cast<std::uint32_t>(kMoveThreads))),
                   .block = kMoveThreads,
                   .params = &p});
}

/// The dimension along which the source has neighbours, where a transpose can take the move; else
/// the last one.
std::size_t transposed_dimension(const Move& move, const Dimensions& dimensions) noexcept {
  const std::size_t y = dimensions.rank - 1;
  if (move.op != Op::Copy || dimensions.last().destination != 1 ||
      dimensions.last().extent < kLeastSide) {
    return y;
  }
  for (std::size_t x = 0; x < y; ++x) {
    if (dimensions.at[x].source == 1 && dimensions.at[x].extent >= kLeastSide) return x;
  }
  return y;
}

Status add_transpose(const Move& move, const Dimensions& dimensions, std::size_t x,
                     int multiprocessors, LaunchSink& sink) noexcept {
  const std::size_t y = dimensions.rank - 1;
  const int bytes = move.destination_bytes;
  const std::uintptr_t bits =
      places(move, dimensions, x, y) |
      static_cast<std::uintptr_t>((dimensions.at[x].destination | dimensions.last().source) *
                                  bytes);
  const bool is_aligned = bits % 16 == 0;
  const TileSide side = tile_side(bytes, is_aligned);
  const MoveDimension &along_x = dimensions.at[x], &along_y = dimensions.at[y];
  // A column may begin up to a piece before its tile.
  const int before = is_aligned ? 0 : square_side(bytes) - 1;
  const std::int64_t tiles_x = ceil_div(along_x.extent, side.x),
                     tiles_y = ceil_div(along_y.extent + before, side.y);
  const std::int64_t outer = dimensions.size() / along_x.extent / along_y.extent;
  if (tiles_x * tiles_y * outer > kMaxUnits) {
    const std::int64_t half = round_up(ceil_div(dimensions.at[0].extent, 2), x == 0 ? side.x : 1);
    return in_pieces(move, dimensions, half, multiprocessors, sink);
  }
  TransposeParams p;
  p.source = move.source;
  p.destination = move.destination;
  p.outer = outer_of(move, dimensions, x, y);
  p.x = along_x.extent;
  p.y = along_y.extent;
  p.source_row = along_y.source * bytes;
  p.destination_row = along_x.destination * bytes;
  p.tiles = static_cast<std::uint32_t>(tiles_x * tiles_y * outer);
  p.tiles_x = make_divisor(static_cast<std::uint32_t>(tiles_x));
  p.tiles_y = make_divisor(static_cast<std::uint32_t>(tiles_y));
  return sink.add({.function = transpose_kernel(bytes, is_aligned),
                   .grid = p.tiles,
                   .block = kMoveThreads,
                   .shared = static_cast<unsigned>(transpose_shared_bytes(bytes, is_aligned)),
                   .params = &p});
}

Status add_walk(const Move& move, const Dimensions& dimensions, int multiprocessors,
                LaunchSink& sink) noexcept {
  WalkParams walk;
  walk.source = move.source;
  walk.destination = move.destination;
  walk.bytes = move.destination_bytes;
  walk.source_type = move.source_type;
  walk.destination_type = move.destination_type;
  walk.pattern = move.pattern;
  std::size_t d = static_cast<std::size_t>(WalkParams::kRank) - dimensions.rank;
  for (std::size_t i = 0; i < dimensions.rank; ++i, ++d) {
    walk.extents[d] = dimensions.at[i].extent;
    walk.source_strides[d] = dimensions.at[i].source;
    walk.destination_strides[d] = dimensions.at[i].destination;
  }
  const std::int64_t row = dimensions.last().extent;
  walk.segments_per_row = ceil_div(row, std::int64_t{kWalkSegment});
  walk.segments = dimensions.size() / row * walk.segments_per_row;
  const void* const function = move.op == Op::Cast   ? cast_kernel()
                               : move.op == Op::Fill ? fill_kernel()
                                                     : copy_kernel();
  return sink.add({.function = function,
                   .grid = grid_for(ceil_div(walk.segments, std::int64_t{kWalkThreads / 32}), 16,
                                    multiprocessors),
                   .block = kWalkThreads,
                   .params = &walk});
}

}  // namespace

Status add_move(const Move& move, std::span<const MoveDimension> given, int multiprocessors,
                LaunchSink& sink) noexcept {
  const Dimensions dimensions(given);
  if (has_rows(move, dimensions)) return add_rows(move, dimensions, multiprocessors, sink);
  const std::size_t x = transposed_dimension(move, dimensions);
  if (x + 1 != dimensions.rank) {
    return add_transpose(move, dimensions, x, multiprocessors, sink);
  }
  return add_walk(move, dimensions, multiprocessors, sink);
}

}  // namespace girih::inline v0::cuda
