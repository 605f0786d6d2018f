#include "ops/op.hpp"

#include <optional>

#include "core/format.hpp"
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

Status check_workspace(const Tensor& workspace, const CheckContext& context) noexcept {
  constexpr std::uintptr_t kAlignment = 64;
  GIRIH_TRY(check_tensor(workspace, context, "workspace"));
  if (!workspace.is_contiguous()) {
    return error(Code::InvalidTensor, "workspace: the view is not contiguous");
  }
  const auto address = reinterpret_cast<std::uintptr_t>(TensorAccess::address(workspace));
  if (address % kAlignment != 0) {
    return error(Code::InvalidTensor, "workspace: address {:#x} is not a multiple of {}", address,
                 kAlignment);
  }
  return {};
}

std::int64_t workspace_size(const Tensor& workspace) noexcept {
  const ByteRange range = byte_range(TensorAccess::geometry(workspace));
  return range.end - range.begin;
}

namespace {

std::uintptr_t begin_of(const Tensor& tensor) noexcept {
  return reinterpret_cast<std::uintptr_t>(TensorAccess::storage(tensor)->data);
}

/// The geometry of `b` with its offset counted from where the memory of `a` begins; nothing if that
/// is no whole number of elements, or the memories lie apart.
std::optional<Geometry> rebased(const Tensor& a, const Tensor& b) noexcept {
  Geometry geometry = TensorAccess::geometry(b);
  const std::int64_t element = bit_width(geometry.dtype) / 8;
  const std::uintptr_t distance = begin_of(b) - begin_of(a);
  if (element == 0 || distance % static_cast<std::uintptr_t>(element) != 0) return std::nullopt;
  geometry.offset += static_cast<std::int64_t>(distance) / element;
  return geometry;
}

}  // namespace

bool may_overlap(const Tensor& a, const Tensor& b) noexcept {
  const auto& x = TensorAccess::storage(a);
  const auto& y = TensorAccess::storage(b);
  if (x == y) return may_overlap(TensorAccess::geometry(a), TensorAccess::geometry(b));
  const bool shares_slab = x->parent && x->parent == y->parent;
  if (shares_slab || x->data >= y->data + y->bytes || y->data >= x->data + x->bytes) return false;
  if (y->data < x->data) return may_overlap(b, a);
  const std::optional<Geometry> moved = rebased(a, b);
  return !moved || may_overlap(TensorAccess::geometry(a), *moved);
}

bool same_view(const Tensor& a, const Tensor& b) noexcept {
  if (begin_of(b) < begin_of(a)) return same_view(b, a);
  const std::optional<Geometry> moved = rebased(a, b);
  return moved && same_view(TensorAccess::geometry(a), *moved);
}

std::int64_t storage_alignment(const Tensor& tensor) noexcept {
  const std::uintptr_t begin = begin_of(tensor) | 64;
  return static_cast<std::int64_t>(begin & (~begin + 1));
}

std::string describe(const Shape& shape) {
  return formatted("[{}]", joined(shape, ", "));
}

}  // namespace girih::inline v0
