#include "ops/op.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/storage.hpp"

namespace girih::inline v0 {

using detail::TensorAccess;

std::string_view name(Op op) noexcept {
  switch (op) {
#define GIRIH_OP(name, text) \
  case Op::name:             \
    return text;
#include "ops/ops.inc"
#undef GIRIH_OP
  }
  return "unknown_op";
}

Status check_tensor(const Tensor& tensor, const CheckContext& context,
                    std::string_view what) noexcept {
  const auto& storage = TensorAccess::storage(tensor);
  if (!storage) return error(Code::InvalidTensor, "{}: the tensor is empty", what);
  if (storage->runtime != context.runtime) {
    return error(Code::ForeignTensor, "{}: the tensor belongs to runtime {}, the call is on {}",
                 what, storage->runtime, context.runtime);
  }
  return {};
}

bool may_overlap(const Tensor& a, const Tensor& b) noexcept {
  const auto& x = TensorAccess::storage(a);
  const auto& y = TensorAccess::storage(b);
  if (x == y) return may_overlap(TensorAccess::geometry(a), TensorAccess::geometry(b));
  const bool shares_slab = x->parent && x->parent == y->parent;
  return !shares_slab && x->data < y->data + y->bytes && y->data < x->data + x->bytes;
}

bool same_view(const Tensor& a, const Tensor& b) noexcept {
  return TensorAccess::storage(a) == TensorAccess::storage(b) &&
         same_view(TensorAccess::geometry(a), TensorAccess::geometry(b));
}

std::string describe(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

}  // namespace girih::inline v0
