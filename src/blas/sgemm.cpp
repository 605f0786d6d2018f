#include <algorithm>
#include <cstdint>
#include <optional>

#include "blas/bad_argument.hpp"
#include "blas/product.hpp"

// The exported functions, in 32-bit and 64-bit integers.

namespace girih::inline v0::blas {
namespace {

/// Whether TRANS asks for the transpose; nothing if it is no letter that BLAS knows. A real
/// matrix's conjugate transpose is its transpose.
std::optional<bool> transposes(char letter) noexcept {
  switch (letter) {
    case 'N':
    case 'n':
      return false;
    case 'T':
    case 't':
    case 'C':
    case 'c':
      return true;
    default:
      return std::nullopt;
  }
}

/// The same for a value of CBLAS_TRANSPOSE.
std::optional<bool> transposes(int value) noexcept {
  switch (value) {
    case 111:  // CblasNoTrans
      return false;
    case 112:  // CblasTrans
    case 113:  // CblasConjTrans
      return true;
    default:
      return std::nullopt;
  }
}

/// Position in SGEMM's argument list of the first extent or leading dimension that breaks a rule;
/// 0 if none does.
int first_bad_extent(const Product& p) noexcept {
  const auto least = [](std::int64_t rows) { return std::max(rows, std::int64_t{1}); };
  if (p.m < 0) return 3;
  if (p.n < 0) return 4;
  if (p.k < 0) return 5;
  if (p.lda < least(p.transposes_a ? p.k : p.m)) return 8;
  if (p.ldb < least(p.transposes_b ? p.n : p.k)) return 10;
  if (p.ldc < least(p.m)) return 13;
  return 0;
}

template <class Int>
void fortran_sgemm(char a_letter, char b_letter, Product product) noexcept {
  const std::optional<bool> transposes_a = transposes(a_letter);
  if (!transposes_a) return report_bad_argument(Int{1});
  const std::optional<bool> transposes_b = transposes(b_letter);
  if (!transposes_b) return report_bad_argument(Int{2});
  product.transposes_a = *transposes_a;
  product.transposes_b = *transposes_b;
  if (const int position = first_bad_extent(product); position != 0) {
    return report_bad_argument(Int{position});
  }
  run(product);
}

/// A row-major product is the column-major one of B and A, whose argument positions its errors
/// have: that is what reference CBLAS reports, and what testers expect.
Product swapped(const Product& p) noexcept {
  return {.transposes_a = p.transposes_b,
          .transposes_b = p.transposes_a,
          .m = p.n,
          .n = p.m,
          .k = p.k,
          .alpha = p.alpha,
          .a = p.b,
          .lda = p.ldb,
          .b = p.a,
          .ldb = p.lda,
          .beta = p.beta,
          .c = p.c,
          .ldc = p.ldc};
}

template <class Int>
void c_sgemm(int layout, int a_value, int b_value, Product product) noexcept {
  const bool is_row_major = layout == 101;  // CblasRowMajor
  if (!is_row_major && layout != 102) {     // CblasColMajor
    return report_bad_cblas_argument(Int{1}, "Illegal layout setting, %d\n", layout);
  }
  const std::optional<bool> transposes_a = transposes(a_value);
  if (!transposes_a) {
    return report_bad_cblas_argument(Int{2}, "Illegal TransA setting, %d\n", a_value);
  }
  const std::optional<bool> transposes_b = transposes(b_value);
  if (!transposes_b) {
    // The reference's positions: row-major, B's is the first of the swapped call.
    return report_bad_cblas_argument(Int{is_row_major ? 2 : 3}, "Illegal TransB setting, %d\n",
                                     b_value);
  }
  product.transposes_a = *transposes_a;
  product.transposes_b = *transposes_b;
  if (is_row_major) product = swapped(product);
  if (const int position = first_bad_extent(product); position != 0) {
    return report_bad_cblas_argument(Int{position + 1}, "", 0);  // after the layout
  }
  run(product);
}

}  // namespace
}  // namespace girih::inline v0::blas

namespace blas = girih::blas;

#define GIRIH_BLAS_EXPORT extern "C" __attribute__((visibility("default")))

/// Fortran's interfaces pass every argument by address. The lengths of the two strings, which
/// Fortran adds behind the last argument, are not looked at.
#define GIRIH_BLAS_SGEMM(name, Int)                                                               \
  GIRIH_BLAS_EXPORT void name(const char* transa, const char* transb, const Int* m, const Int* n, \
                              const Int* k, const float* alpha, const float* a, const Int* lda,   \
                              const float* b, const Int* ldb, const float* beta, float* c,        \
                              const Int* ldc) noexcept {                                          \
    blas::fortran_sgemm<Int>(*transa, *transb,                                                    \
                             {.m = *m,                                                            \
                              .n = *n,                                                            \
                              .k = *k,                                                            \
                              .alpha = *alpha,                                                    \
                              .a = a,                                                             \
                              .lda = *lda,                                                        \
                              .b = b,                                                             \
                              .ldb = *ldb,                                                        \
                              .beta = *beta,                                                      \
                              .c = c,                                                             \
                              .ldc = *ldc});                                                      \
  }

#define GIRIH_BLAS_CBLAS_SGEMM(name, Int)                                                    \
  GIRIH_BLAS_EXPORT void name(int layout, int transa, int transb, Int m, Int n, Int k,       \
                              float alpha, const float* a, Int lda, const float* b, Int ldb, \
                              float beta, float* c, Int ldc) noexcept {                      \
    blas::c_sgemm<Int>(layout, transa, transb,                                               \
                       {.m = m,                                                              \
                        .n = n,                                                              \
                        .k = k,                                                              \
                        .alpha = alpha,                                                      \
                        .a = a,                                                              \
                        .lda = lda,                                                          \
                        .b = b,                                                              \
                        .ldb = ldb,                                                          \
                        .beta = beta,                                                        \
                        .c = c,                                                              \
                        .ldc = ldc});                                                        \
  }

GIRIH_BLAS_SGEMM(sgemm_, std::int32_t)
GIRIH_BLAS_SGEMM(sgemm_64_, std::int64_t)
GIRIH_BLAS_CBLAS_SGEMM(cblas_sgemm, std::int32_t)
GIRIH_BLAS_CBLAS_SGEMM(cblas_sgemm64_, std::int64_t)
