#pragma once

#include <cstdint>
#include <string_view>

#include <girih/runtime.hpp>
#include <girih/tensor.hpp>

#include "core/error.hpp"

namespace girih::inline v0 {

enum class Op : std::uint8_t {
#define GIRIH_OP(name, text) name,
#include "ops/ops.inc"
#undef GIRIH_OP
};
std::string_view name(Op op) noexcept;

/// What `check` needs to know of the runtime that a call is made on.
struct CheckContext {
  std::uint64_t runtime = 0;
  Reproducibility reproducibility = Reproducibility::PerShape;
};

/// A view with memory behind it that belongs to `context.runtime`; `what` names it in errors.
Status check_tensor(const Tensor& tensor, const CheckContext& context,
                    std::string_view what) noexcept;
/// The rule of every descriptor's `workspace` that concerns it alone.
Status check_workspace(const Tensor& workspace, const CheckContext& context) noexcept;
/// Bytes of one that passed.
std::int64_t workspace_size(const Tensor& workspace) noexcept;
/// True if the two tensors may share elements. By address: the caller's memory may be wrapped more
/// than once.
bool may_overlap(const Tensor& a, const Tensor& b) noexcept;
/// True if they have the same elements in the same order.
bool same_view(const Tensor& a, const Tensor& b) noexcept;
/// The largest power of two, at most 64, that the address of the tensor's memory is a multiple of.
std::int64_t storage_alignment(const Tensor& tensor) noexcept;
/// Refuses a value that an enumeration does not have: it may come from a cast or a C caller.
template <class Enum>
Status check_enumerator(Enum value, Enum last, std::string_view what) noexcept {
  if (static_cast<std::uint32_t>(value) <= static_cast<std::uint32_t>(last)) return {};
  return error(Code::InvalidOption, "{} has no value {}", what, static_cast<std::uint32_t>(value));
}
/// "[4096, 768]", for messages.
std::string describe(const Shape& shape);

}  // namespace girih::inline v0
