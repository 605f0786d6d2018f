#pragma once

#include "backends/cpu/kernels/kernel.hpp"
#include "backends/device.hpp"

namespace girih::inline v0::cpu {

/// A type that operands or outputs of a product may have.
Element element_of(DType type) noexcept;
/// Where the columns of the product lie that make column n of C: half + n * step, for each half.
struct ColumnMap {
  std::int64_t halves = 1;  ///< 2 with a gate
  std::int64_t half = 0;    ///< from a column of the first half to its partner
  std::int64_t step = 1;
};
ColumnMap column_map(const GemmProblem& problem) noexcept;
/// The epilogue of product `index` of the batch. Reads device scalars.
Epilogue epilogue_of(const GemmCall& call, std::int64_t index) noexcept;
/// Address of element `elements` counted from `base`.
inline const std::byte* advance(const std::byte* base, DType type, std::int64_t elements) noexcept {
  return base == nullptr ? nullptr : base + elements * (bit_width(type) / 8);
}

}  // namespace girih::inline v0::cpu
