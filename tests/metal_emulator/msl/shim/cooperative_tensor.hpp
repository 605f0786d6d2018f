#pragma once

#include "shim/tensor.hpp"

namespace metal {

/// A tile of `kColumns` x `kRows` elements spread over the lanes of `kSimdGroups` SIMD groups.
/// Where each lies is not specified, so the emulator lays them out at random, with slots that hold
/// nothing among them. Contents are undefined until written: NaN, or the lowest integer.
template <class T, int kColumns, int kRows, int kSimdGroups, class Role>
struct cooperative_tensor {
  using element_type = T;
  static constexpr unsigned kLanes = kSimdGroups * shim::emulator::kSimdWidth;
  static constexpr unsigned kElements = kColumns * kRows;
  static constexpr unsigned kCapacity = (kElements + kLanes - 1) / kLanes + 2;

  T values[kCapacity];

  /// Of a slot, and where it is used.
  struct Index {
    unsigned value;
    shim::Site site;
    template <class I>
    Index(I slot, shim::Site where = shim::Site::here("operator[]"))
        : value(static_cast<unsigned>(slot)), site(where) {}
  };

  cooperative_tensor() {
    for (T& value : values) {
      if constexpr (std::is_integral_v<T>) {
        value = std::numeric_limits<T>::lowest();
      } else {
        value = static_cast<T>(__builtin_nanf(""));
      }
    }
  }

  static int element_of(unsigned lane, unsigned slot) {
    return shim::emulator::cooperative_element(kElements, kLanes, kCapacity, lane, slot);
  }
  static unsigned own_lane() {
    return kSimdGroups == 1 ? shim::emulator::simd_lane() : shim::emulator::linear_lane();
  }

  uint16_t get_capacity() const { return kCapacity; }
  bool is_valid_element(uint16_t slot) const { return element_of(own_lane(), slot) >= 0; }
  T& operator[](Index slot) {
    if (slot.value >= kCapacity) {
      shim::emulator::fail_at("bounds", "a cooperative tensor is indexed beyond its capacity",
                              slot.site);
    }
    return values[slot.value];
  }
  /// [0] is the column, [1] the row, within the tile.
  array<int, 2> get_multidimensional_index(
      uint16_t slot, shim::Site site = shim::Site::here("get_multidimensional_index")) const {
    const int element = element_of(own_lane(), slot);
    if (element < 0) {
      shim::emulator::fail_at("bounds", "an invalid slot of a cooperative tensor has no place",
                              site);
    }
    return {{element % kColumns, element / kColumns}};
  }

  /// Elements beyond the tensor's extents are read as zero, and not written.
  template <class Tensor>
  GIRIH_EMULATOR_UNCHECKED void load(
      const Tensor& source, shim::Site site = shim::Site::here("cooperative_tensor::load")) {
    for_each([&](T & value, int x, int y) __attribute__((no_sanitize("thread"))) {
      if (!source.holds(x, y)) {
        value = T(0);
        return;
      }
      shim::emulator::note_read(source.at(x, y), sizeof(*source.data), site);
      value = static_cast<T>(*source.at(x, y));
    });
  }
  template <class Tensor>
  GIRIH_EMULATOR_UNCHECKED void store(
      const Tensor& target, shim::Site site = shim::Site::here("cooperative_tensor::store")) {
    for_each([&](T & value, int x, int y) __attribute__((no_sanitize("thread"))) {
      if (!target.holds(x, y)) return;
      shim::emulator::note_write(target.at(x, y), sizeof(*target.data), site);
      *target.at(x, y) = static_cast<typename Tensor::element_type>(value);
    });
  }

 private:
  template <class Visit>
  GIRIH_EMULATOR_UNCHECKED void for_each(Visit visit) {
    for (unsigned slot = 0; slot < kCapacity; ++slot) {
      const int element = element_of(own_lane(), slot);
      if (element >= 0) visit(values[slot], element % kColumns, element / kColumns);
    }
  }
};

namespace shim {
template <class>
constexpr bool is_cooperative = false;
template <class T, int kColumns, int kRows, int kSimdGroups, class Role>
constexpr bool is_cooperative<cooperative_tensor<T, kColumns, kRows, kSimdGroups, Role>> = true;
}  // namespace shim

}  // namespace metal
