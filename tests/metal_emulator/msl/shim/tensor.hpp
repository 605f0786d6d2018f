#pragma once

#include "shim/types.hpp"

// Tensors of rank 2 over memory. Extents are (columns, rows): the first is the contiguous one, so a
// left operand of M rows and K columns has the extents (K, M), and slice(x, y) moves the origin by
// x columns and y rows.

namespace metal {

constexpr size_t dynamic_extent = static_cast<size_t>(-1);

template <class Index, size_t... kExtents>
struct extents {
  Index values[sizeof...(kExtents)];
  template <class... I>
  requires(sizeof...(I) == sizeof...(kExtents)) explicit extents(I... extent)
      : values{static_cast<Index>(extent)...} {}
  Index extent(size_t i) const { return values[i]; }
};
namespace shim {
template <class Index, size_t kRank>
struct DynamicExtents;
template <class Index>
struct DynamicExtents<Index, 2> {
  using type = extents<Index, dynamic_extent, dynamic_extent>;
};
}  // namespace shim
template <class Index, size_t kRank>
using dextents = typename shim::DynamicExtents<Index, kRank>::type;

struct tensor_inline {};
struct tensor_handle {};
struct tensor_offset {};

struct execution_thread {};
template <size_t kCount>
struct execution_simdgroups {
  static constexpr size_t static_size = kCount;
};
using execution_simdgroup = execution_simdgroups<1>;

template <class T, class Extents, class Kind = tensor_handle>
struct tensor {
  using element_type = T;
  using extents_type = Extents;
  static constexpr int kDynamic = -1;

  T* data;
  Extents shape;
  int stride[2];
  int origin[2] = {0, 0};
  int fixed[2] = {kDynamic, kDynamic};  ///< extents of a static slice

  tensor(T* address, Extents extent) : tensor(address, extent, {{1, int(extent.extent(0))}}) {}
  tensor(T* address, Extents extent, array<int, 2> strides)
      : data(address), shape(extent), stride{strides[0], strides[1]} {}
  template <class OtherKind>
  tensor(const tensor<T, Extents, OtherKind>& parent, int x, int y, int columns, int rows)
      : data(parent.data),
        shape(parent.shape),
        stride{parent.stride[0], parent.stride[1]},
        origin{parent.origin[0] + x, parent.origin[1] + y},
        fixed{columns, rows} {}

  const Extents& get_extents() const { return shape; }
  auto slice(int x, int y) const {
    return tensor<T, Extents, tensor_offset>(*this, x, y, kDynamic, kDynamic);
  }
  template <size_t kColumns, size_t kRows>
  auto slice(int x, int y) const {
    const auto fix = [](size_t extent) {
      return extent == dynamic_extent ? kDynamic : int(extent);
    };
    return tensor<T, Extents, tensor_offset>(*this, x, y, fix(kColumns), fix(kRows));
  }

  /// Elements from the origin on along dimension `d`.
  int remaining(int d) const {
    const int rest = static_cast<int>(shape.extent(static_cast<size_t>(d))) - origin[d];
    return rest < 0 ? 0 : rest;
  }
  bool holds(int x, int y) const {
    return x + origin[0] >= 0 && y + origin[1] >= 0 && x < remaining(0) && y < remaining(1);
  }
  /// Elements from `data` on, which Metal's tensors count in 32 bits.
  long offset(int x, int y) const {
    return (static_cast<long>(x) + origin[0]) * stride[0] +
           (static_cast<long>(y) + origin[1]) * stride[1];
  }
  T* at(int x, int y) const { return data + offset(x, y); }
  bool operator==(const tensor& other) const {
    return data == other.data && origin[0] == other.origin[0] && origin[1] == other.origin[1] &&
           remaining(0) == other.remaining(0) && remaining(1) == other.remaining(1);
  }
};
template <class T, class Extents>
tensor(T*, Extents) -> tensor<T, Extents, tensor_inline>;
template <class T, class Extents>
tensor(T*, Extents, array<int, 2>) -> tensor<T, Extents, tensor_inline>;

namespace shim {
template <class>
constexpr bool is_tensor = false;
template <class T, class Extents, class Kind>
constexpr bool is_tensor<tensor<T, Extents, Kind>> = true;
}  // namespace shim

}  // namespace metal
