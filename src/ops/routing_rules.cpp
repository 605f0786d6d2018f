#include "ops/routing_rules.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "core/format.hpp"
#include "core/storage.hpp"

namespace girih::inline v0 {

Status check_tensors(std::span<const NamedTensor> written, std::span<const NamedTensor> read,
                     const CheckContext& context) noexcept {
  for (const NamedTensor& x : read) {
    if (x.tensor != nullptr) GIRIH_TRY(check_tensor(*x.tensor, context, x.name));
  }
  for (const NamedTensor& x : written) {
    if (x.tensor == nullptr) continue;
    GIRIH_TRY(check_tensor(*x.tensor, context, x.name));
    if (overlaps_itself(detail::TensorAccess::geometry(*x.tensor))) {
      return error(Code::RoutingAliasing, "{}: its strides let two elements share memory", x.name);
    }
  }
  return {};
}

Status check_type(const NamedTensor& x, std::initializer_list<DType> types) noexcept try {
  const DType type = x.tensor->dtype();
  if (std::find(types.begin(), types.end(), type) != types.end()) return {};
  std::string allowed;
  for (const DType one : types) {
    if (!allowed.empty()) allowed += ", ";
    allowed += name(one);
  }
  return error(Code::RoutingTypeMismatch, "{} is {}, must be {}{}", x.name, name(type),
               types.size() > 1 ? "one of " : "", allowed);
} catch (...) {
  return Error{Code::RoutingTypeMismatch, {}};
}

Status check_rank(const NamedTensor& x, int rank) noexcept {
  if (x.tensor->rank() == rank) return {};
  return error(Code::RoutingShapeMismatch, "{} has rank {}, must have {}", x.name, x.tensor->rank(),
               rank);
}

Status check_shape(const NamedTensor& x, const Shape& wanted) noexcept try {
  if (x.tensor->shape() == wanted) return {};
  return error(Code::RoutingShapeMismatch, "{} is {}, must be {}", x.name,
               describe(x.tensor->shape()), describe(wanted));
} catch (...) {
  return Error{Code::RoutingShapeMismatch, {}};
}

Status check_apart(std::span<const NamedTensor> written,
                   std::span<const NamedTensor> read) noexcept {
  const auto apart = [](const NamedTensor& x, const NamedTensor& y) -> Status {
    if (x.tensor == nullptr || y.tensor == nullptr || !may_overlap(*x.tensor, *y.tensor)) return {};
    return error(Code::RoutingAliasing, "{} overlaps {} in memory", x.name, y.name);
  };
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (const NamedTensor& other : written.subspan(i + 1)) GIRIH_TRY(apart(written[i], other));
    for (const NamedTensor& other : read) GIRIH_TRY(apart(written[i], other));
  }
  return {};
}

}  // namespace girih::inline v0
