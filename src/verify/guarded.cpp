#include "verify/guarded.hpp"

#include <algorithm>
#include <cstring>

#include "core/format.hpp"
#include "core/storage.hpp"
#include "reference/element.hpp"

namespace girih::inline v0::verify {
namespace {

/// Elements on each side: a whole number of 64-byte lines in every type, and more than any tile.
constexpr std::int64_t kGuard = 512;

std::byte poison_byte(Poison poison) noexcept {
  return poison == Poison::Nan ? std::byte{0xFF} : std::byte{0x7B};
}

/// NaN, or the two extremes of an integer type in turn.
void fill_surroundings(std::vector<std::byte>& memory, DType dtype) {
  if (is_float(dtype)) return std::fill(memory.begin(), memory.end(), poison_byte(Poison::Nan));
  const std::int64_t count = std::ssize(memory) * 8 / bit_width(dtype);
  const double top = dtype == DType::U8 ? 255 : dtype == DType::I8 ? 127 : 2147483647.0;
  const double bottom = dtype == DType::U8 ? 0 : -top - 1;
  for (std::int64_t i = 0; i < count; ++i) {
    store_element(memory.data(), dtype, i, i % 2 == 0 ? bottom : top);
  }
}

std::string first_difference(const std::vector<std::byte>& want, const std::vector<std::byte>& got,
                             const Geometry& geometry) {
  const auto [at, other] = std::mismatch(want.begin(), want.end(), got.begin(), got.end());
  if (at == want.end()) return {};
  const std::int64_t element = (at - want.begin()) * 8 / bit_width(geometry.dtype);
  return formatted("element {} of the allocation was overwritten (the view starts at {})", element,
                   geometry.offset);
}

}  // namespace

Result<GuardedTensor> GuardedTensor::make(Runtime& runtime, DType dtype, const Shape& shape,
                                          const Strides& strides, std::int64_t offset) {
  std::int64_t span = 1;
  for (int d = 0; d < shape.rank(); ++d) {
    span += std::max<std::int64_t>(shape[d] - 1, 0) * strides[static_cast<std::size_t>(d)];
  }
  GuardedTensor result;
  auto allocation = runtime.tensor({kGuard + offset + span + kGuard}, dtype);
  if (!allocation) return allocation.error();
  auto view = allocation->view(shape, strides, kGuard + offset);
  if (!view) return view.error();
  result.allocation_ = *std::move(allocation);
  result.view_ = *std::move(view);
  result.offsets_ = element_offsets(detail::TensorAccess::geometry(result.view_));
  result.host_.resize(static_cast<std::size_t>(result.allocation_.size() * bit_width(dtype) / 8));
  fill_surroundings(result.host_, dtype);
  result.observed_ = result.host_;
  return result;
}

void GuardedTensor::set(std::int64_t i, double value) noexcept {
  store_element(host_.data(), view_.dtype(), offsets_[static_cast<std::size_t>(i)], value);
}

void GuardedTensor::poison(Poison poison) noexcept {
  const std::int64_t bytes = bit_width(view_.dtype()) / 8;
  for (const std::int64_t offset : offsets_) {
    std::fill_n(host_.begin() + offset * bytes, bytes, poison_byte(poison));
  }
}

Status GuardedTensor::upload(Runtime& runtime) const {
  return runtime.upload(allocation_, host_.data(), host_.size());
}

Status GuardedTensor::observe(Runtime& runtime) {
  return runtime.download(allocation_, observed_.data(), observed_.size());
}

HostView GuardedTensor::host() const noexcept {
  return {detail::TensorAccess::geometry(view_), host_.data()};
}

const std::byte* GuardedTensor::host_address() const noexcept {
  return host_.data() + view_.offset() * bit_width(view_.dtype()) / 8;
}

std::byte* GuardedTensor::host_address() noexcept {
  return host_.data() + view_.offset() * bit_width(view_.dtype()) / 8;
}

HostView GuardedTensor::observed() const noexcept {
  return {detail::TensorAccess::geometry(view_), observed_.data()};
}

std::vector<std::byte> GuardedTensor::observed_elements() const {
  const std::int64_t bytes = bit_width(view_.dtype()) / 8;
  std::vector<std::byte> elements(offsets_.size() * static_cast<std::size_t>(bytes));
  std::byte* next = elements.data();
  for (const std::int64_t offset : offsets_) {
    std::memcpy(next, observed_.data() + offset * bytes, static_cast<std::size_t>(bytes));
    next += bytes;
  }
  return elements;
}

std::string GuardedTensor::damage() const {
  const std::int64_t bytes = bit_width(view_.dtype()) / 8;
  std::vector<std::byte> want = host_;
  for (const std::int64_t offset : offsets_) {
    std::copy_n(observed_.begin() + offset * bytes, bytes, want.begin() + offset * bytes);
  }
  return first_difference(want, observed_, detail::TensorAccess::geometry(view_));
}

std::string GuardedTensor::change() const {
  return first_difference(host_, observed_, detail::TensorAccess::geometry(view_));
}

std::optional<std::int64_t> surviving_poison(DType dtype, const std::vector<std::byte>& first,
                                             Poison first_poison,
                                             const std::vector<std::byte>& second,
                                             Poison second_poison) noexcept {
  const std::int64_t bytes = bit_width(dtype) / 8;
  const auto all_are = [&](const std::vector<std::byte>& elements, std::int64_t at, Poison poison) {
    return std::all_of(elements.begin() + at, elements.begin() + at + bytes,
                       [&](std::byte value) { return value == poison_byte(poison); });
  };
  for (std::int64_t at = 0; at < std::ssize(first); at += bytes) {
    if (all_are(first, at, first_poison) && all_are(second, at, second_poison)) return at / bytes;
  }
  return std::nullopt;
}

}  // namespace girih::inline v0::verify
