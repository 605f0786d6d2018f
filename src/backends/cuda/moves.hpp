#pragma once

#include <span>

#include "backends/cuda/launch.hpp"

namespace girih::inline v0::cuda {

/// A copy, cast or fill of strided elements of whole bytes.
struct Move {
  Op op = Op::Copy;
  const std::byte* source = nullptr;  ///< null for a fill
  std::byte* destination = nullptr;
  Element source_type = Element::F32;  ///< of a cast
  Element destination_type = Element::F32;
  int source_bytes = 4;  ///< of an element
  int destination_bytes = 4;
  std::uint64_t pattern = 0;  ///< of a fill
};

/// Hands the kernels of a move to `sink`: rows where both sides have neighbours along one
/// dimension, in accesses as wide as addresses and strides allow; a transpose through shared memory
/// where the source has them along another; else a walk element by element. At most
/// WalkParams::kRank dimensions, in any order, of any extents but 0; no two elements share memory
/// on the destination's side.
Status add_move(const Move& move, std::span<const MoveDimension> dimensions, int multiprocessors,
                LaunchSink& sink) noexcept;

}  // namespace girih::inline v0::cuda
