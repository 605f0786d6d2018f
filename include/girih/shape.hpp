#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <utility>

namespace girih::inline v0 {

inline constexpr int kMaxRank = 6;

/// The integer types that may state an extent: not `bool`, not characters.
template <class T>
concept ExtentInteger = std::integral<T> && requires(T value) {
  std::in_range<long>(value);
};

/// Extents of a tensor, outermost first. Takes integers of any type and sign: a negative value, or
/// one over 2^63-1 (kept as `kTooLarge`), is refused with its value by every call that receives it.
class Shape {
 public:
  static constexpr std::int64_t kTooLarge = INT64_MIN;

  constexpr Shape() noexcept = default;
  template <ExtentInteger... Extents>
  requires(sizeof...(Extents) >= 1 && sizeof...(Extents) <= kMaxRank) constexpr Shape(
      Extents... extents) noexcept  // NOLINT(google-explicit-constructor)
      : rank_(sizeof...(Extents)), extents_{narrow(extents)...} {}
  /// The shape with these extents; a span longer than `kMaxRank` gives a shape that is refused.
  static constexpr Shape of(std::span<const std::int64_t> extents) noexcept {
    Shape shape;
    if (extents.size() > static_cast<std::size_t>(kMaxRank)) return Shape(kTooLarge);
    for (const std::int64_t extent : extents) {
      shape.extents_[static_cast<std::size_t>(shape.rank_++)] = narrow(extent);
    }
    return shape;
  }

  [[nodiscard]] constexpr int rank() const noexcept { return rank_; }
  /// Extent of dimension `i`, 0 <= i < rank.
  constexpr std::int64_t operator[](int i) const noexcept {
    return extents_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] constexpr const std::int64_t* begin() const noexcept { return extents_.data(); }
  [[nodiscard]] constexpr const std::int64_t* end() const noexcept {
    return extents_.data() + rank_;
  }
  friend constexpr bool operator==(const Shape&, const Shape&) noexcept = default;

 private:
  template <class Integer>
  static constexpr std::int64_t narrow(Integer value) noexcept {
    return std::in_range<std::int64_t>(value) ? static_cast<std::int64_t>(value) : kTooLarge;
  }

  int rank_ = 0;
  std::array<std::int64_t, kMaxRank> extents_{};
};

/// Distances, in elements, between neighbours along each dimension. 0 repeats one element.
using Strides = std::array<std::int64_t, kMaxRank>;

}  // namespace girih::inline v0
