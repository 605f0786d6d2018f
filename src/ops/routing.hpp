#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <girih/routing.hpp>

#include "ops/op.hpp"

namespace girih::inline v0 {

/// A matrix whose rows are tokens, or rows of experts: strides in elements.
struct RowsLayout {
  DType dtype = DType::F32;
  std::int64_t row_stride = 0, column_stride = 0;

  /// Elements from the first to (row, column).
  [[nodiscard]] std::int64_t at(std::int64_t row, std::int64_t column) const noexcept {
    return row * row_stride + column * column_stride;
  }
};
/// Of a tensor of rank 2; of rank 1 the one column.
RowsLayout rows_layout(const Tensor& tensor) noexcept;

/// Routing that obeys every rule of `RouteDesc`.
struct RouteProblem {
  std::int64_t tokens = 0, experts = 0, k = 0;
  RowsLayout logits, chosen, weights, offsets, rows, sources;
  RouterWeights kind = RouterWeights::SoftmaxOfChosen;
  float scale = 1;
  std::optional<std::int64_t> workspace_bytes;  ///< of the caller's, if there is one

  /// The offsets are written whatever the extents.
  [[nodiscard]] bool is_empty() const noexcept { return false; }
  [[nodiscard]] double bytes() const noexcept;

 private:
  RouteProblem() = default;
  friend struct RouteChecker;
};

struct RouteOperands {
  const std::byte* logits = nullptr;
  std::int32_t* chosen = nullptr;
  float* weights = nullptr;
  std::int32_t* offsets = nullptr;
  std::int32_t* rows = nullptr;
  std::int32_t* sources = nullptr;
  std::byte* workspace = nullptr;  ///< the caller's
};

Result<RouteProblem> check(const RouteDesc& desc, const CheckContext& context) noexcept;
/// Only for a descriptor that passed `check`.
RouteOperands bind(const RouteDesc& desc) noexcept;
/// Every tensor of the descriptor; null where an optional one is absent.
std::array<const Tensor*, 7> tensors_of(const RouteDesc& desc) noexcept;

}  // namespace girih::inline v0
