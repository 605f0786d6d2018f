#pragma once

#include "backends/device.hpp"

namespace girih::inline v0::cuda {

/// Where a piece of a product begins, and how far it goes.
struct PieceOfC {
  std::int64_t batch = 0, m = 0, n = 0;
  std::int64_t batches = 1, rows = 0, columns = 0;
};
/// The call that computes this piece and nothing else.
GemmCall cut(const GemmCall& call, const PieceOfC& piece) noexcept;

}  // namespace girih::inline v0::cuda
