#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "emulator/kernel.hpp"
#include "emulator/threadgroup.hpp"

// Scalars and vectors. Needs clang for its vector extension, _Float16 and arithmetic __bf16.

#define __METAL_VERSION__ 400
#define __HAVE_TENSOR__ 1

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
using half = _Float16;
using bfloat = __bf16;

namespace metal {

using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::size_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

template <class T, int kCount>
using vec = T __attribute__((ext_vector_type(kCount)));

template <class A, class B>
constexpr bool is_same_v = std::is_same_v<A, B>;
template <bool kValue>
using bool_constant = std::bool_constant<kValue>;
template <bool kCondition, class A, class B>
using conditional_t = std::conditional_t<kCondition, A, B>;
template <class T>
using numeric_limits = std::numeric_limits<T>;
/// Address spaces are not part of a type here; the lint pass is what checks them.
template <class T>
using remove_addrspace_t = T;

template <class T, int kCount>
struct array {
  T elements[kCount];
  T& operator[](int i) { return elements[i]; }
  const T& operator[](int i) const { return elements[i]; }
};

template <class To, class From>
inline To as_type(From value) {
  static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
  return __builtin_bit_cast(To, value);
}

namespace shim {
namespace emulator = ::girih::emulator;
using emulator::Scope;
using emulator::Site;
}  // namespace shim

}  // namespace metal

#define GIRIH_SHIM_VECTORS(T)    \
  using T##2 = metal::vec<T, 2>; \
  using T##3 = metal::vec<T, 3>; \
  using T##4 = metal::vec<T, 4>;
GIRIH_SHIM_VECTORS(float)
GIRIH_SHIM_VECTORS(half)
GIRIH_SHIM_VECTORS(bfloat)
GIRIH_SHIM_VECTORS(char)
GIRIH_SHIM_VECTORS(uchar)
GIRIH_SHIM_VECTORS(short)
GIRIH_SHIM_VECTORS(ushort)
GIRIH_SHIM_VECTORS(int)
GIRIH_SHIM_VECTORS(uint)
GIRIH_SHIM_VECTORS(long)
GIRIH_SHIM_VECTORS(ulong)

inline half operator""h(long double value) {
  return static_cast<half>(value);
}
