#pragma once

#include <algorithm>

#include "backends/device.hpp"
#include "core/error.hpp"

namespace girih::inline v0::cuda {

/// Where a piece of a product begins, and how far it goes.
struct PieceOfC {
  std::int64_t batch = 0, m = 0, n = 0;
  std::int64_t batches = 1, rows = 0, columns = 0;
};
/// The call that computes this piece and nothing else.
GemmCall cut(const GemmCall& call, const PieceOfC& piece) noexcept;

/// How large pieces are; the last ones of each extent may be smaller.
struct PieceExtents {
  std::int64_t batches, rows, columns;
};
/// Calls lower(call of a piece, the piece) for each, its columns in turn, then its rows.
template <class Lower>
Status lower_in_pieces(const GemmCall& call, const PieceExtents& most,
                       const Lower& lower) noexcept {
  const GemmProblem& whole = call.problem;
  for (std::int64_t batch = 0; batch < whole.batch; batch += most.batches) {
    for (std::int64_t m = 0; m < whole.m; m += most.rows) {
      for (std::int64_t n = 0; n < whole.n; n += most.columns) {
        const PieceOfC piece{.batch = batch,
                             .m = m,
                             .n = n,
                             .batches = std::min(most.batches, whole.batch - batch),
                             .rows = std::min(most.rows, whole.m - m),
                             .columns = std::min(most.columns, whole.n - n)};
        GIRIH_TRY(lower(cut(call, piece), piece));
      }
    }
  }
  return {};
}

}  // namespace girih::inline v0::cuda
