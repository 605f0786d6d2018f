#include <algorithm>
#include <array>

#include "backends/metal/launch.hpp"
#include "backends/metal/params.hpp"
#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/pattern.hpp"

namespace girih::inline v0::metal {
namespace {

constexpr std::int64_t kMostThreadgroups = 16384;
constexpr std::int64_t kSimdgroups = 4;

/// Fills in extents and strides; the last of `dimensions` is the one that lanes walk along.
void set_dimensions(std::span<const MoveDimension> dimensions, WalkParams& walk) noexcept {
  std::fill_n(walk.extents, kWalkRank, Index{1});
  std::size_t d = std::size_t{kWalkRank} - dimensions.size();
  std::int64_t rows = 1;
  for (const MoveDimension& dimension : dimensions) {
    walk.extents[d] = dimension.extent;
    walk.source_strides[d] = dimension.source;
    walk.destination_strides[d] = dimension.destination;
    if (++d < kWalkRank) rows *= dimension.extent;
  }
  walk.segments_per_row = ceil_div(walk.extents[kWalkRank - 1], Index{kWalkSegment});
  walk.segments = rows * walk.segments_per_row;
}

Launch launch_of(const char* function, const void* source, void* destination,
                 const WalkParams& walk, double seconds) noexcept {
  const std::int64_t groups = std::min(walk.segments, kSimdgroups);
  Launch launch{.family = Family::Elementwise, .function = function, .seconds = seconds};
  launch.buffers = {source, destination};
  launch.buffer_count = 2;
  launch.written = 1U << 1;
  launch.parameters = &walk;
  launch.parameter_bytes = sizeof(walk);
  launch.threadgroups.width =
      static_cast<UInt>(std::min(ceil_div(walk.segments, kSimdgroups), kMostThreadgroups));
  launch.threads.width = static_cast<UInt>(groups * 32);
  return launch;
}

Status add_nibbles(const ElementwiseCall& call, LaunchSink& sink) noexcept {
  const std::uint64_t nibble = pattern_of(call.problem.value, DType::I4) & 0xF;
  const NibbleParams params{.count = call.problem.size(),
                            .is_fill = call.operands.source == nullptr ? Word{1} : Word{0},
                            .pattern = static_cast<Word>(nibble << 4 | nibble)};
  const std::int64_t bytes = ceil_div(params.count, 2);
  Launch launch{.family = Family::Elementwise, .function = "nibble_walk"};
  launch.buffers = {call.operands.source, call.operands.destination};
  launch.buffer_count = 2;
  launch.written = 1U << 1;
  launch.parameters = &params;
  launch.parameter_bytes = sizeof(params);
  launch.threadgroups.width =
      static_cast<UInt>(std::min(ceil_div(bytes, std::int64_t{128}), kMostThreadgroups));
  launch.seconds = call.selection.predicted_seconds;
  return sink.add(launch);
}

}  // namespace

Word code_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::BF16:
      return kBF16;
    case DType::F16:
      return kF16;
    case DType::I8:
      return kI8;
    case DType::I32:
      return kI32;
    case DType::F8E4M3:
      return kF8E4M3;
    case DType::F8E5M2:
      return kF8E5M2;
    default:
      return kF32;
  }
}

Status add_copy(const std::byte* source, std::byte* destination, DType dtype,
                std::span<const MoveDimension> dimensions, LaunchSink& sink) noexcept {
  WalkParams walk{};
  walk.bytes = static_cast<Word>(bit_width(dtype) / 8);
  set_dimensions(dimensions, walk);
  return sink.add(launch_of("copy_walk", source, destination, walk, 0));
}

Status add_parts(const std::byte* source, std::byte* destination, Word code, Index part_stride,
                 std::span<const MoveDimension> dimensions, LaunchSink& sink) noexcept {
  PartsParams parts{};
  parts.code = code;
  parts.part_stride = part_stride;
  set_dimensions(dimensions, parts.walk);
  Launch launch = launch_of("parts_walk", source, destination, parts.walk, 0);
  launch.parameters = &parts;
  launch.parameter_bytes = sizeof(parts);
  return sink.add(launch);
}

Status lower(const ElementwiseCall& call, LaunchSink& sink) noexcept {
  const ElementwiseProblem& problem = call.problem;
  if (problem.is_empty()) return {};
  if (problem.destination_type == DType::I4) return add_nibbles(call, sink);
  std::array<MoveDimension, kMaxRank> dimensions;
  const auto rank = static_cast<std::size_t>(problem.rank);
  for (std::size_t i = 0; i < rank; ++i) {
    dimensions[i] = {problem.extents[i], problem.source_strides[i], problem.destination_strides[i]};
  }
  WalkParams walk{};
  walk.bytes = static_cast<Word>(bit_width(problem.destination_type) / 8);
  walk.source_type = code_of(problem.source_type);
  walk.destination_type = code_of(problem.destination_type);
  if (problem.op == Op::Fill) {
    walk.pattern = static_cast<Index>(pattern_of(problem.value, problem.destination_type));
  }
  set_dimensions(std::span(dimensions).first(rank), walk);
  const char* const function = problem.op == Op::Cast   ? "cast_walk"
                               : problem.op == Op::Fill ? "fill_walk"
                                                        : "copy_walk";
  return sink.add(launch_of(function, call.operands.source, call.operands.destination, walk,
                            call.selection.predicted_seconds));
}

Status lower(const Call& call, LaunchSink& sink) noexcept {
  if (const auto* product = std::get_if<GemmCall>(&call)) return lower(*product, sink);
  if (const auto* foreign = std::get_if<KernelCall>(&call)) return lower(*foreign, sink);
  if (const auto* walk = std::get_if<ElementwiseCall>(&call)) return lower(*walk, sink);
  return error(Code::BackendLacks, "backend metal has no grouped products and no routing");
}

}  // namespace girih::inline v0::metal
