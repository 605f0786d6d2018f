#pragma once

#include "shim/types.hpp"

namespace metal {
namespace shim {

/// Each lane owns two neighbours of a row of an 8 x 8 matrix.
inline int matrix_row(unsigned lane) {
  return static_cast<int>(((lane / 4) & 4U) | (lane / 2 % 4));
}
inline int matrix_column(unsigned lane) {
  return static_cast<int>(((lane / 4) & 2U) * 2 + lane % 2 * 2);
}

}  // namespace shim

template <class T, int kRows, int kColumns>
struct simdgroup_matrix {
  static_assert(kRows == 8 && kColumns == 8, "only 8 x 8 exists");
  vec<T, 2> elements;

  /// Contents are undefined until written: NaN.
  simdgroup_matrix() : elements(static_cast<T>(__builtin_nanf(""))) {}
  vec<T, 2>& thread_elements() { return elements; }
};
using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <class T, int kRows, int kColumns = kRows>
inline simdgroup_matrix<T, kRows, kColumns> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, kRows, kColumns> result;
  result.elements = vec<T, 2>(value);
  return result;
}

namespace shim {

/// Address of the lane's element `i`.
template <class T>
GIRIH_EMULATOR_UNCHECKED inline T* matrix_element(T* data, ulong stride, ulong2 origin,
                                                  bool transposed, int i) {
  const unsigned lane = emulator::simd_lane();
  const ulong row = static_cast<ulong>(matrix_row(lane)) + (transposed ? origin.x : origin.y);
  const ulong column =
      static_cast<ulong>(matrix_column(lane) + i) + (transposed ? origin.y : origin.x);
  return transposed ? data + column * stride + row : data + row * stride + column;
}

template <class D, class A, class B, class C>
struct Product {
  vec<D, 2>* d;
  vec<A, 2> a;
  vec<B, 2> b;
  vec<C, 2> c;
  Site site;

  /// Products are added to c in order of k.
  GIRIH_EMULATOR_UNCHECKED static void run(void** payloads, unsigned count) {
    bool is_whole = count == emulator::kSimdWidth;
    for (unsigned lane = 0; lane < count; ++lane) is_whole = is_whole && payloads[lane] != nullptr;
    if (!is_whole) {
      const char* const text = "a simdgroup_matrix needs all 32 lanes";
      emulator::fail_at("divergence", text, static_cast<const Product*>(payloads[0])->site);
    }
    float a[8][8], b[8][8], sum[8][8];
    for (unsigned lane = 0; lane < emulator::kSimdWidth; ++lane) {
      const auto* const mine = static_cast<const Product*>(payloads[lane]);
      const int row = matrix_row(lane), column = matrix_column(lane);
      for (int i = 0; i < 2; ++i) {
        a[row][column + i] = static_cast<float>(mine->a[i]);
        b[row][column + i] = static_cast<float>(mine->b[i]);
        sum[row][column + i] = static_cast<float>(mine->c[i]);
      }
    }
    for (int i = 0; i < 8; ++i) {
      for (int k = 0; k < 8; ++k) {
        for (int j = 0; j < 8; ++j) sum[i][j] += a[i][k] * b[k][j];
      }
    }
    for (unsigned lane = 0; lane < emulator::kSimdWidth; ++lane) {
      const auto* const mine = static_cast<const Product*>(payloads[lane]);
      const int row = matrix_row(lane), column = matrix_column(lane);
      for (int i = 0; i < 2; ++i) (*mine->d)[i] = static_cast<D>(sum[row][column + i]);
    }
  }
};

}  // namespace shim

template <class T, class U>
GIRIH_EMULATOR_UNCHECKED inline void simdgroup_load(
    simdgroup_matrix<T, 8, 8>& matrix, const U* data, ulong stride = 8,
    ulong2 origin = ulong2{0, 0}, bool transposed = false,
    shim::Site site = shim::Site::here("simdgroup_load")) {
  static_assert(is_same_v<T, U>, "simdgroup_load does not convert");
  shim::emulator::rendezvous(shim::Scope::Simd, site, nullptr, nullptr);
  for (int i = 0; i < 2; ++i) {
    const U* const from = shim::matrix_element(data, stride, origin, transposed, i);
    shim::emulator::note_read(from, sizeof(U), site);
    matrix.elements[i] = *from;
  }
}

template <class T, class U>
GIRIH_EMULATOR_UNCHECKED inline void simdgroup_store(
    simdgroup_matrix<T, 8, 8> matrix, U* data, ulong stride = 8, ulong2 origin = ulong2{0, 0},
    bool transposed = false, shim::Site site = shim::Site::here("simdgroup_store")) {
  static_assert(is_same_v<T, U>, "simdgroup_store does not convert");
  shim::emulator::rendezvous(shim::Scope::Simd, site, nullptr, nullptr);
  for (int i = 0; i < 2; ++i) {
    U* const to = shim::matrix_element(data, stride, origin, transposed, i);
    shim::emulator::note_write(to, sizeof(U), site);
    *to = matrix.elements[i];
  }
}

template <class D, class A, class B, class C>
GIRIH_EMULATOR_UNCHECKED inline void simdgroup_multiply_accumulate(
    simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8>& a, simdgroup_matrix<B, 8, 8>& b,
    simdgroup_matrix<C, 8, 8>& c,
    shim::Site site = shim::Site::here("simdgroup_multiply_accumulate")) {
  shim::Product<D, A, B, C> mine{&d.elements, a.elements, b.elements, c.elements, site};
  shim::emulator::rendezvous(shim::Scope::Simd, site, &mine, &shim::Product<D, A, B, C>::run);
}

template <class D, class A, class B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8>& a,
                               simdgroup_matrix<B, 8, 8>& b,
                               shim::Site site = shim::Site::here("simdgroup_multiply")) {
  auto zero = make_filled_simdgroup_matrix<D, 8>(D(0));
  simdgroup_multiply_accumulate(d, a, b, zero, site);
}

}  // namespace metal
