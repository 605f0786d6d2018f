#include "backends/cpu/elementwise.hpp"

#include <algorithm>
#include <cstring>

#include "backends/cpu/convert.hpp"
#include "backends/cpu/parallel.hpp"
#include "core/checked.hpp"
#include "core/pattern.hpp"

// Every operation is a walk over planes: the destination's innermost dimension, which is the row,
// and one other. Where the source runs along another dimension than the destination (a transpose),
// that one is the other, and the plane is walked in tiles, so that both sides use whole cache
// lines.

namespace girih::inline v0::cpu {
namespace {

/// Edge of a tile of a transposing walk: 32 rows of 32 elements stay in the first-level cache.
constexpr std::int64_t kTile = 32;
/// Elements of a task, about: 64 KiB of f32.
constexpr std::int64_t kTaskElements = 16384;

struct Dimension {
  std::int64_t extent = 1;
  std::int64_t source = 0;  ///< strides, in elements
  std::int64_t destination = 0;
};

/// A part of a plane.
struct Patch {
  const std::byte* source = nullptr;
  std::byte* destination = nullptr;
  Dimension rows;  ///< the other dimension
  Dimension row;   ///< along a row
};

/// The order in which a problem is walked.
struct Walk {
  std::array<Dimension, kMaxRank> outer;
  int outer_rank = 0;
  Dimension rows, row;
  bool transposes = false;

  explicit Walk(const ElementwiseProblem& problem) noexcept {
    std::array<Dimension, kMaxRank> all;
    for (std::size_t i = 0; i < static_cast<std::size_t>(problem.rank); ++i) {
      all[i] = {problem.extents[i], problem.source_strides[i], problem.destination_strides[i]};
    }
    if (problem.rank == 0) return;
    int last = problem.rank - 1;
    row = all[static_cast<std::size_t>(last)];
    int other = last - 1;
    for (int i = 0; i < last; ++i) {
      const std::int64_t stride = all[static_cast<std::size_t>(i)].source;
      if (stride == 0 || stride >= row.source) continue;
      if (!transposes || stride < all[static_cast<std::size_t>(other)].source) other = i;
      transposes = true;
    }
    for (int i = 0; i < last; ++i) {
      const Dimension& dimension = all[static_cast<std::size_t>(i)];
      if (i == other) {
        rows = dimension;
      } else {
        outer[static_cast<std::size_t>(outer_rank++)] = dimension;
      }
    }
  }
};

/// Calls `patch` for tiles of a plane part if it transposes, else for all of it.
template <class Body>
void for_each_tile(const Patch& patch, bool transposes, std::int64_t source_bytes,
                   std::int64_t destination_bytes, const Body& body) noexcept {
  if (!transposes) return body(patch);
  for (std::int64_t i = 0; i < patch.rows.extent; i += kTile) {
    for (std::int64_t j = 0; j < patch.row.extent; j += kTile) {
      Patch tile = patch;
      tile.rows.extent = std::min(kTile, patch.rows.extent - i);
      tile.row.extent = std::min(kTile, patch.row.extent - j);
      if (patch.source != nullptr) {
        tile.source += (i * patch.rows.source + j * patch.row.source) * source_bytes;
      }
      tile.destination +=
          (i * patch.rows.destination + j * patch.row.destination) * destination_bytes;
      body(tile);
    }
  }
}

template <class T>
void copy_patch(const Patch& patch) noexcept {
  const T* source = reinterpret_cast<const T*>(patch.source);
  T* destination = reinterpret_cast<T*>(patch.destination);
  for (std::int64_t i = 0; i < patch.rows.extent; ++i) {
    const T* from = source + i * patch.rows.source;
    T* to = destination + i * patch.rows.destination;
    if (patch.row.source == 1 && patch.row.destination == 1) {
      std::memcpy(to, from, static_cast<std::size_t>(patch.row.extent) * sizeof(T));
      continue;
    }
    for (std::int64_t j = 0; j < patch.row.extent; ++j) {
      to[j * patch.row.destination] = from[j * patch.row.source];
    }
  }
}

template <class T>
void fill_patch(const Patch& patch, std::uint64_t pattern) noexcept {
  const T value = static_cast<T>(pattern);
  T* destination = reinterpret_cast<T*>(patch.destination);
  for (std::int64_t i = 0; i < patch.rows.extent; ++i) {
    T* to = destination + i * patch.rows.destination;
    if (patch.row.destination == 1) {
      std::fill_n(to, patch.row.extent, value);
      continue;
    }
    for (std::int64_t j = 0; j < patch.row.extent; ++j) to[j * patch.row.destination] = value;
  }
}

void cast_patch(const Patch& patch, DType from, DType to) noexcept {
  const std::int64_t source_bytes = bit_width(from) / 8;
  const std::int64_t destination_bytes = bit_width(to) / 8;
  float values[kConvertBlock];
  for (std::int64_t i = 0; i < patch.rows.extent; ++i) {
    for (std::int64_t j = 0; j < patch.row.extent; j += kConvertBlock) {
      const std::int64_t count = std::min(kConvertBlock, patch.row.extent - j);
      widen_block(patch.source + (i * patch.rows.source + j * patch.row.source) * source_bytes,
                  from, patch.row.source, count, values);
      narrow_block(values, count, to, patch.row.destination,
                   patch.destination + (i * patch.rows.destination + j * patch.row.destination) *
                                           destination_bytes);
    }
  }
}

/// Calls `f` with a value of the unsigned type of `bytes` bytes.
template <class F>
void with_unsigned(std::int64_t bytes, const F& f) noexcept {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

void run_patch(const ElementwiseProblem& problem, const Patch& patch, bool transposes,
               std::uint64_t pattern) noexcept {
  const std::int64_t source_bytes = bit_width(problem.source_type) / 8;
  const std::int64_t destination_bytes = bit_width(problem.destination_type) / 8;
  for_each_tile(patch, transposes, source_bytes, destination_bytes,
                [&](const Patch& tile) noexcept {
                  if (problem.op == Op::Cast) {
                    return cast_patch(tile, problem.source_type, problem.destination_type);
                  }
                  with_unsigned(destination_bytes, [&](auto element) noexcept {
                    using T = decltype(element);
                    if (problem.op == Op::Fill) {
                      fill_patch<T>(tile, pattern);
                    } else {
                      copy_patch<T>(tile);
                    }
                  });
                });
}

/// Contiguous nibbles from an even one on: whole bytes, then the low half of the last.
void run_nibbles(const ElementwiseCall& call) noexcept {
  const std::int64_t count = call.problem.size();
  const auto whole = static_cast<std::size_t>(count / 2);
  const auto nibble = static_cast<unsigned>(pattern_of(call.problem.value, DType::I4)) & 0xFU;
  const auto doubled = static_cast<std::byte>(nibble << 4 | nibble);
  const bool fills = call.problem.op == Op::Fill;
  std::byte* const destination = call.operands.destination;
  if (fills) {
    std::memset(destination, static_cast<int>(doubled), whole);
  } else if (whole > 0) {
    std::memcpy(destination, call.operands.source, whole);
  }
  if (count % 2 == 0) return;
  const std::byte last = fills ? doubled : call.operands.source[whole];
  constexpr std::byte kHigh{0xF0}, kLow{0x0F};
  destination[whole] = (destination[whole] & kHigh) | (last & kLow);
}

}  // namespace

Status run(const ElementwiseCall& call, Executor& executor) {
  const ElementwiseProblem& problem = call.problem;
  if (problem.is_empty()) return {};
  if (problem.destination_type == DType::I4) {
    run_nibbles(call);
    return {};
  }
  const Walk walk(problem);
  const std::int64_t source_bytes = bit_width(problem.source_type) / 8;
  const std::int64_t destination_bytes = bit_width(problem.destination_type) / 8;
  const std::int64_t span_row =
      std::min(walk.row.extent, walk.transposes ? 4 * kTile : kTaskElements);
  const std::int64_t span_rows =
      std::min(walk.rows.extent, std::max(kTaskElements / span_row, std::int64_t{1}));
  const std::int64_t parts_row = ceil_div(walk.row.extent, span_row);
  const std::int64_t parts_rows = ceil_div(walk.rows.extent, span_rows);
  std::int64_t tasks = parts_row * parts_rows;
  for (int i = 0; i < walk.outer_rank; ++i) tasks *= walk.outer[static_cast<std::size_t>(i)].extent;
  const std::uint64_t pattern =
      problem.op == Op::Fill ? pattern_of(problem.value, problem.destination_type) : 0;
  const auto work = [&](std::int64_t task, std::int64_t) noexcept {
    const std::int64_t first_in_row = task % parts_row * span_row;
    task /= parts_row;
    const std::int64_t first_row = task % parts_rows * span_rows;
    task /= parts_rows;
    std::int64_t source = first_row * walk.rows.source + first_in_row * walk.row.source;
    std::int64_t destination =
        first_row * walk.rows.destination + first_in_row * walk.row.destination;
    for (int i = walk.outer_rank - 1; i >= 0; --i) {
      const Dimension& dimension = walk.outer[static_cast<std::size_t>(i)];
      source += task % dimension.extent * dimension.source;
      destination += task % dimension.extent * dimension.destination;
      task /= dimension.extent;
    }
    Patch patch = {.source = call.operands.source,
                   .destination = call.operands.destination + destination * destination_bytes,
                   .rows = walk.rows,
                   .row = walk.row};
    if (patch.source != nullptr) patch.source += source * source_bytes;
    patch.rows.extent = std::min(span_rows, walk.rows.extent - first_row);
    patch.row.extent = std::min(span_row, walk.row.extent - first_in_row);
    run_patch(problem, patch, walk.transposes, pattern);
  };
  return parallel_tasks(executor, call.selection.threads, tasks, work);
}

}  // namespace girih::inline v0::cpu
