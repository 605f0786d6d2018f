#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "ops/op.hpp"

// Rules that the operations of routing share.

namespace girih::inline v0 {

/// A tensor of a descriptor, as errors name it; null where an optional one is absent.
struct NamedTensor {
  const Tensor* tensor = nullptr;
  std::string_view name;
};

/// `check_tensor` of each, and no two elements of a written one in one place.
Status check_tensors(std::span<const NamedTensor> written, std::span<const NamedTensor> read,
                     const CheckContext& context) noexcept;
/// RoutingTypeMismatch unless the type is one of `types`.
Status check_type(const NamedTensor& tensor, std::initializer_list<DType> types) noexcept;
/// RoutingShapeMismatch unless the rank is this.
Status check_rank(const NamedTensor& tensor, int rank) noexcept;
/// RoutingShapeMismatch unless the shape is this; a product that does not fit 64 bits fits nothing.
Status check_shape(const NamedTensor& tensor, const Shape& wanted) noexcept;
/// RoutingAliasing if a written tensor may share memory with another of either list.
Status check_apart(std::span<const NamedTensor> written,
                   std::span<const NamedTensor> read) noexcept;

}  // namespace girih::inline v0
