#pragma once

#include "backends/cpu/kernels/kernel.hpp"
#include "backends/device.hpp"

namespace girih::inline v0::cpu {

/// A type that operands or outputs of a product may have.
Element element_of(DType type) noexcept;
/// The epilogue of product `index` of the batch. Reads device scalars.
Epilogue epilogue_of(const GemmCall& call, std::int64_t index) noexcept;
/// Address of element `elements` counted from `base`.
inline const std::byte* advance(const std::byte* base, DType type, std::int64_t elements) noexcept {
  return base == nullptr ? nullptr : base + elements * (bit_width(type) / 8);
}

}  // namespace girih::inline v0::cpu
