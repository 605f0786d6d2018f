#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <girih/routing.hpp>

#include "ops/routing.hpp"

namespace girih::inline v0 {

/// A permute that obeys every rule of `PermuteDesc` but that of the sources' values.
struct PermuteProblem {
  std::int64_t tokens = 0, rows = 0, columns = 0;
  RowsLayout x, sources, y;

  [[nodiscard]] bool is_empty() const noexcept { return rows == 0 || columns == 0; }
  /// If every row of y has a row of x of its own.
  [[nodiscard]] double bytes() const noexcept;

 private:
  PermuteProblem() = default;
  friend struct PermuteChecker;
};

struct PermuteOperands {
  const std::byte* x = nullptr;
  const std::int32_t* sources = nullptr;
  std::byte* y = nullptr;
};

/// The same of an un-permute: all of `UnpermuteDesc` but the values of its rows.
struct UnpermuteProblem {
  std::int64_t tokens = 0, k = 0, rows = 0, columns = 0;
  RowsLayout x, indices, y;  ///< indices: of the desc's `rows`
  std::optional<RowsLayout> weights;

  [[nodiscard]] bool is_empty() const noexcept { return tokens == 0 || columns == 0; }
  [[nodiscard]] double bytes() const noexcept;
  [[nodiscard]] double flops() const noexcept;

 private:
  UnpermuteProblem() = default;
  friend struct PermuteChecker;
};

struct UnpermuteOperands {
  const std::byte* x = nullptr;
  const std::int32_t* indices = nullptr;
  const float* weights = nullptr;
  std::byte* y = nullptr;
};

Result<PermuteProblem> check(const PermuteDesc& desc, const CheckContext& context) noexcept;
Result<UnpermuteProblem> check(const UnpermuteDesc& desc, const CheckContext& context) noexcept;
/// Only for descriptors that passed `check`.
PermuteOperands bind(const PermuteDesc& desc) noexcept;
UnpermuteOperands bind(const UnpermuteDesc& desc) noexcept;
/// Every tensor of the descriptor; null where an optional one is absent.
std::array<const Tensor*, 3> tensors_of(const PermuteDesc& desc) noexcept;
std::array<const Tensor*, 4> tensors_of(const UnpermuteDesc& desc) noexcept;

/// RoutingIndex, of an index that is no row of x.
Error bad_source(std::int64_t place, std::int64_t source, std::int64_t tokens) noexcept;
Error bad_row(std::int64_t token, std::int64_t slot, std::int64_t row, std::int64_t rows) noexcept;
/// The same if the indices, in host memory, have one.
Status check_indices(const PermuteProblem& problem, const std::int32_t* sources) noexcept;
Status check_indices(const UnpermuteProblem& problem, const std::int32_t* indices) noexcept;

}  // namespace girih::inline v0
