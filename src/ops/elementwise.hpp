#pragma once

#include <array>
#include <cstdint>

#include <girih/elementwise.hpp>

#include "core/geometry.hpp"
#include "ops/op.hpp"

namespace girih::inline v0 {

/// A checked copy, cast or fill: `destination[i] = convert(source[i])` over all indices. Dimensions
/// of extent 1 are gone and neighbours that both views walk as one are merged; the last dimension
/// is the destination's innermost.
struct ElementwiseProblem {
  Op op = Op::Copy;
  DType source_type = DType::F32;  ///< of a fill: the destination's
  DType destination_type = DType::F32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> extents{};
  Strides source_strides{};
  Strides destination_strides{};
  double value = 0;  ///< of a fill

  [[nodiscard]] bool is_empty() const noexcept;
  [[nodiscard]] std::int64_t size() const noexcept;
  [[nodiscard]] double bytes() const noexcept;

 private:
  ElementwiseProblem() = default;
  friend struct ElementwiseChecker;
};

struct ElementwiseOperands {
  const std::byte* source = nullptr;  ///< null for a fill
  std::byte* destination = nullptr;
};

Result<ElementwiseProblem> check(const CopyDesc& desc, const CheckContext& context) noexcept;
Result<ElementwiseProblem> check(const CastDesc& desc, const CheckContext& context) noexcept;
Result<ElementwiseProblem> check(const FillDesc& desc, const CheckContext& context) noexcept;
ElementwiseOperands bind(const CopyDesc& desc) noexcept;
ElementwiseOperands bind(const CastDesc& desc) noexcept;
ElementwiseOperands bind(const FillDesc& desc) noexcept;
/// Every tensor of the descriptor; null for a source that a fill does not have.
std::array<const Tensor*, 2> tensors_of(const CopyDesc& desc) noexcept;
std::array<const Tensor*, 2> tensors_of(const CastDesc& desc) noexcept;
std::array<const Tensor*, 2> tensors_of(const FillDesc& desc) noexcept;

}  // namespace girih::inline v0
