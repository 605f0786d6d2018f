#pragma once

#include "emulator/matrix_products.hpp"
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

/// A value that a product may still owe: whatever looks at it has the SIMD group settle first.
template <class T, int kRows, int kColumns>
struct simdgroup_matrix {
  static_assert(kRows == 8 && kColumns == 8, "only 8 x 8 exists");
  using Elements = vec<T, 2>;

  /// Contents are undefined until written: NaN.
  GIRIH_EMULATOR_UNCHECKED simdgroup_matrix() : elements(static_cast<T>(__builtin_nanf(""))) {}
  GIRIH_EMULATOR_UNCHECKED explicit simdgroup_matrix(T value) : elements(value) {}
  GIRIH_EMULATOR_UNCHECKED simdgroup_matrix(const simdgroup_matrix& other)
      : elements(other.settled("copy of a simdgroup_matrix")) {}
  GIRIH_EMULATOR_UNCHECKED simdgroup_matrix& operator=(const simdgroup_matrix& other) {
    settled("assignment to a simdgroup_matrix");
    elements = other.settled("copy of a simdgroup_matrix");
    return *this;
  }
  GIRIH_EMULATOR_UNCHECKED ~simdgroup_matrix() { settled("end of a simdgroup_matrix"); }
  GIRIH_EMULATOR_UNCHECKED Elements& thread_elements() {
    settled("thread_elements");
    return elements;
  }

  GIRIH_EMULATOR_UNCHECKED const Elements& settled(const char* what) const {
    if (is_owed) shim::emulator::settle_products({what, "", 0, 0});
    return elements;
  }
  Elements elements;
  bool is_owed = false;
};
using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <class T, int kRows, int kColumns = kRows>
inline simdgroup_matrix<T, kRows, kColumns> make_filled_simdgroup_matrix(T value) {
  return simdgroup_matrix<T, kRows, kColumns>(value);
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

using emulator::MatrixProduct;

/// Visits the place in an 8 x 8 matrix of each of a lane's elements.
template <class Visit>
GIRIH_EMULATOR_UNCHECKED inline void for_own_elements(unsigned lane, Visit visit) {
  const auto row = static_cast<size_t>(matrix_row(lane));
  const auto column = static_cast<size_t>(matrix_column(lane));
  for (int i = 0; i < 2; ++i) visit(row, column + static_cast<size_t>(i), i);
}

template <class T>
GIRIH_EMULATOR_UNCHECKED void note_elements(const vec<T, 2>& elements, unsigned lane,
                                            MatrixProduct::Values& values) {
  for_own_elements(
      lane, [&](size_t row, size_t column, int i) __attribute__((no_sanitize("thread"))) {
        values[row][column] = static_cast<float>(elements[i]);
      });
}

template <class D>
GIRIH_EMULATOR_UNCHECKED void take_sums(const MatrixProduct& product, MatrixProduct::Values& sums) {
  for (unsigned lane = 0; lane < emulator::kSimdWidth; ++lane) {
    note_elements<D>(static_cast<simdgroup_matrix<D, 8, 8>*>(product.d[lane])->elements, lane,
                     sums);
  }
}

template <class D>
GIRIH_EMULATOR_UNCHECKED void give_sums(const MatrixProduct& product,
                                        const MatrixProduct::Values& sums) {
  for (unsigned lane = 0; lane < emulator::kSimdWidth; ++lane) {
    auto& matrix = *static_cast<simdgroup_matrix<D, 8, 8>*>(product.d[lane]);
    for_own_elements(
        lane, [&](size_t row, size_t column, int i) __attribute__((no_sanitize("thread"))) {
          matrix.elements[i] = static_cast<D>(sums[row][column]);
        });
    matrix.is_owed = false;
  }
}

}  // namespace shim

template <class T, class U>
GIRIH_EMULATOR_UNCHECKED inline void simdgroup_load(
    simdgroup_matrix<T, 8, 8>& matrix, const U* data, ulong stride = 8,
    ulong2 origin = ulong2{0, 0}, bool transposed = false,
    shim::Site site = shim::Site::here("simdgroup_load")) {
  static_assert(is_same_v<T, U>, "simdgroup_load does not convert");
  matrix.settled("simdgroup_load");
  shim::emulator::pass(site);
  const U* const first = shim::matrix_element(data, stride, origin, transposed, 0);
  if (!transposed) {
    shim::emulator::note_read(first, 2 * sizeof(U), site);
    matrix.elements = vec<T, 2>{first[0], first[1]};
    return;
  }
  const U* const second = shim::matrix_element(data, stride, origin, transposed, 1);
  shim::emulator::note_read(first, sizeof(U), site);
  shim::emulator::note_read(second, sizeof(U), site);
  matrix.elements = vec<T, 2>{*first, *second};
}

template <class T, class U>
GIRIH_EMULATOR_UNCHECKED inline void simdgroup_store(
    const simdgroup_matrix<T, 8, 8>& matrix, U* data, ulong stride = 8,
    ulong2 origin = ulong2{0, 0}, bool transposed = false,
    shim::Site site = shim::Site::here("simdgroup_store")) {
  static_assert(is_same_v<T, U>, "simdgroup_store does not convert");
  const vec<T, 2> elements = matrix.settled("simdgroup_store");
  shim::emulator::pass(site);
  for (int i = 0; i < 2; ++i) {
    U* const to = shim::matrix_element(data, stride, origin, transposed, i);
    shim::emulator::note_write(to, sizeof(U), site);
    *to = elements[i];
  }
}

template <class D, class A, class B, class C>
GIRIH_EMULATOR_UNCHECKED inline void simdgroup_multiply_accumulate(
    simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8>& a, simdgroup_matrix<B, 8, 8>& b,
    simdgroup_matrix<C, 8, 8>& c,
    shim::Site site = shim::Site::here("simdgroup_multiply_accumulate")) {
  const bool adds_to_d = static_cast<void*>(&c) == static_cast<void*>(&d);
  const vec<A, 2> left = a.settled("simdgroup_multiply_accumulate");
  const vec<B, 2> right = b.settled("simdgroup_multiply_accumulate");
  vec<C, 2> addend(C(0));
  if (!adds_to_d) {
    d.settled("simdgroup_multiply_accumulate");
    addend = c.settled("simdgroup_multiply_accumulate");
  }
  shim::MatrixProduct& product = shim::emulator::note_product(site);
  const unsigned lane = shim::emulator::simd_lane();
  shim::note_elements<A>(left, lane, product.a);
  shim::note_elements<B>(right, lane, product.b);
  shim::note_elements<C>(addend, lane, product.c);
  product.adds_to_d = adds_to_d;
  product.take = &shim::take_sums<D>;
  product.give = &shim::give_sums<D>;
  product.d[lane] = &d;
  d.is_owed = true;
}

template <class D, class A, class B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8>& a,
                               simdgroup_matrix<B, 8, 8>& b,
                               shim::Site site = shim::Site::here("simdgroup_multiply")) {
  auto zero = make_filled_simdgroup_matrix<D, 8>(D(0));
  simdgroup_multiply_accumulate(d, a, b, zero, site);
}

}  // namespace metal
