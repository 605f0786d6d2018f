#include <algorithm>
#include <array>

#include "backends/cuda/kernels/walk_kernels.hpp"
#include "backends/cuda/launch.hpp"
#include "backends/cuda/moves.hpp"
#include "core/checked.hpp"
#include "core/pattern.hpp"

namespace girih::inline v0::cuda {
namespace {

constexpr std::int64_t kBlocksPerMultiprocessor = 16;

unsigned grid_for(std::int64_t blocks, int multiprocessors) noexcept {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>(blocks, 1, kBlocksPerMultiprocessor * multiprocessors));
}

Status add_nibbles(const ElementwiseCall& call, int multiprocessors, LaunchSink& sink) noexcept {
  const std::uint64_t nibble = pattern_of(call.problem.value, DType::I4) & 0xF;
  const NibbleParams params{
      .source = reinterpret_cast<const std::uint8_t*>(call.operands.source),
      .destination = reinterpret_cast<std::uint8_t*>(call.operands.destination),
      .count = call.problem.size(),
      .pattern = static_cast<std::uint8_t>(nibble << 4 | nibble)};
  return sink.add({.function = nibble_kernel(),
                   .grid = grid_for(ceil_div(params.count, 512), multiprocessors),
                   .block = 256,
                   .params = &params});
}

}  // namespace

Element element_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::BF16:
      return Element::BF16;
    case DType::F16:
      return Element::F16;
    case DType::I8:
      return Element::I8;
    case DType::I32:
      return Element::I32;
    case DType::F8E4M3:
      return Element::F8E4M3;
    case DType::F8E5M2:
      return Element::F8E5M2;
    default:
      return Element::F32;
  }
}

Status add_copy(const std::byte* source, std::byte* destination, DType dtype,
                std::span<const MoveDimension> dimensions, int multiprocessors,
                LaunchSink& sink) noexcept {
  const int bytes = bit_width(dtype) / 8;
  return add_move({.source = source,
                   .destination = destination,
                   .source_bytes = bytes,
                   .destination_bytes = bytes},
                  dimensions, multiprocessors, sink);
}

Status lower(const ElementwiseCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  const ElementwiseProblem& problem = call.problem;
  if (problem.is_empty()) return {};
  if (problem.destination_type == DType::I4) {
    return add_nibbles(call, lowering.multiprocessors, sink);
  }
  std::array<MoveDimension, kMaxRank> dimensions;
  const auto rank = static_cast<std::size_t>(problem.rank);
  for (std::size_t i = 0; i < rank; ++i) {
    dimensions[i] = {problem.extents[i], problem.source_strides[i], problem.destination_strides[i]};
  }
  Move move{.op = problem.op,
            .source = call.operands.source,
            .destination = call.operands.destination,
            .source_type = element_of(problem.source_type),
            .destination_type = element_of(problem.destination_type),
            .source_bytes = bit_width(problem.source_type) / 8,
            .destination_bytes = bit_width(problem.destination_type) / 8};
  if (problem.op == Op::Fill) move.pattern = pattern_of(problem.value, problem.destination_type);
  return add_move(move, std::span(dimensions).first(rank), lowering.multiprocessors, sink);
}

Status lower(const KernelCall& call, LaunchSink& sink) noexcept try {
  const auto extents = [](const LaunchExtents& x) { return dim3(x.x, x.y, x.z); };
  std::vector<void*> arguments;
  for (const auto& bytes : call.arguments) {
    arguments.push_back(const_cast<std::byte*>(bytes.data()));
  }
  arguments.push_back(nullptr);  // so that there is an address without arguments, too
  return sink.add({.function = call.kernel->function,
                   .grid = extents(call.grid),
                   .block = extents(call.block),
                   .shared = call.shared_bytes,
                   .cluster = extents(call.cluster),
                   .arguments = arguments.data(),
                   .is_loaded = true});
} catch (...) {
  return error(Code::OutOfMemory, "no host memory for a launch");
}

Status lower(const Call& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  if (const auto* foreign = std::get_if<KernelCall>(&call)) return lower(*foreign, sink);
  if (const auto* product = std::get_if<GemmCall>(&call)) return lower(*product, lowering, sink);
  if (const auto* groups = std::get_if<GroupedGemmCall>(&call)) {
    return lower(*groups, lowering, sink);
  }
  if (const auto* routing = std::get_if<RouteCall>(&call)) return lower(*routing, lowering, sink);
  if (const auto* rows = std::get_if<PermuteCall>(&call)) return lower(*rows, lowering, sink);
  if (const auto* rows = std::get_if<UnpermuteCall>(&call)) return lower(*rows, lowering, sink);
  return lower(*std::get_if<ElementwiseCall>(&call), lowering, sink);
}

}  // namespace girih::inline v0::cuda
