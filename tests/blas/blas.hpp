#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

extern "C" {
void sgemm_(const char* transa, const char* transb, const std::int32_t* m, const std::int32_t* n,
            const std::int32_t* k, const float* alpha, const float* a, const std::int32_t* lda,
            const float* b, const std::int32_t* ldb, const float* beta, float* c,
            const std::int32_t* ldc);
void sgemm_64_(const char* transa, const char* transb, const std::int64_t* m, const std::int64_t* n,
               const std::int64_t* k, const float* alpha, const float* a, const std::int64_t* lda,
               const float* b, const std::int64_t* ldb, const float* beta, float* c,
               const std::int64_t* ldc);
void cblas_sgemm(int layout, int transa, int transb, std::int32_t m, std::int32_t n, std::int32_t k,
                 float alpha, const float* a, std::int32_t lda, const float* b, std::int32_t ldb,
                 float beta, float* c, std::int32_t ldc);
void cblas_sgemm64_(int layout, int transa, int transb, std::int64_t m, std::int64_t n,
                    std::int64_t k, float alpha, const float* a, std::int64_t lda, const float* b,
                    std::int64_t ldb, float beta, float* c, std::int64_t ldc);
}

namespace girih_blas_test {

constexpr int kRowMajor = 101, kColMajor = 102;
constexpr int kNoTrans = 111, kTrans = 112, kConjTrans = 113;

/// One call, column-major, as every interface can make it.
struct Call {
  char transa = 'N', transb = 'N';
  std::int64_t m = 1, n = 1, k = 1;
  float alpha = 1;
  const float* a = nullptr;
  std::int64_t lda = 1;
  const float* b = nullptr;
  std::int64_t ldb = 1;
  float beta = 0;
  float* c = nullptr;
  std::int64_t ldc = 1;
};

enum class Interface { Fortran, Fortran64, ColMajor, ColMajor64, RowMajor, RowMajor64 };
constexpr Interface kInterfaces[] = {Interface::Fortran,  Interface::Fortran64,
                                     Interface::ColMajor, Interface::ColMajor64,
                                     Interface::RowMajor, Interface::RowMajor64};

inline int cblas_value(char letter) {
  if (letter == 'N' || letter == 'n') return kNoTrans;
  if (letter == 'T' || letter == 't') return kTrans;
  return letter == 'C' || letter == 'c' ? kConjTrans : letter;
}

template <class Int, class Function>
void call_fortran(Function function, const Call& call) {
  const Int m = static_cast<Int>(call.m), n = static_cast<Int>(call.n),
            k = static_cast<Int>(call.k), lda = static_cast<Int>(call.lda),
            ldb = static_cast<Int>(call.ldb), ldc = static_cast<Int>(call.ldc);
  function(&call.transa, &call.transb, &m, &n, &k, &call.alpha, call.a, &lda, call.b, &ldb,
           &call.beta, call.c, &ldc);
}

/// The row-major call is the product of the transposes, with the same memory.
template <class Int, class Function>
void call_cblas(Function function, int layout, const Call& call) {
  const int a = cblas_value(call.transa), b = cblas_value(call.transb);
  const Int m = static_cast<Int>(call.m), n = static_cast<Int>(call.n),
            k = static_cast<Int>(call.k), lda = static_cast<Int>(call.lda),
            ldb = static_cast<Int>(call.ldb), ldc = static_cast<Int>(call.ldc);
  if (layout == kRowMajor) {
    function(layout, b, a, n, m, k, call.alpha, call.b, ldb, call.a, lda, call.beta, call.c, ldc);
  } else {
    function(layout, a, b, m, n, k, call.alpha, call.a, lda, call.b, ldb, call.beta, call.c, ldc);
  }
}

/// Values of a matrix as it lies in memory, padding included: small whole numbers, so that every
/// sum of products is exact and results can be compared for equality.
inline std::vector<float> whole_numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<int>(seed >> 24) % 9 - 4);
  }
  return values;
}

/// A product with operands of its own and what it must give.
class ExactProduct {
 public:
  ExactProduct(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k,
               float alpha, float beta, std::int64_t padding, std::uint32_t seed)
      : call{.transa = transa,
             .transb = transb,
             .m = m,
             .n = n,
             .k = k,
             .alpha = alpha,
             .beta = beta} {
    const bool at = cblas_value(transa) != kNoTrans, bt = cblas_value(transb) != kNoTrans;
    call.lda = std::max<std::int64_t>(at ? k : m, 1) + padding;
    call.ldb = std::max<std::int64_t>(bt ? n : k, 1) + padding;
    call.ldc = std::max<std::int64_t>(m, 1) + padding;
    a = whole_numbers(call.lda * std::max<std::int64_t>(at ? m : k, 1), seed);
    b = whole_numbers(call.ldb * std::max<std::int64_t>(bt ? k : n, 1), seed + 1);
    c = whole_numbers(call.ldc * std::max<std::int64_t>(n, 1), seed + 2);
    want = c;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        std::int64_t sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum += whole(a, at ? p + i * call.lda : i + p * call.lda) *
                 whole(b, bt ? j + p * call.ldb : p + j * call.ldb);
        }
        float& element = want[static_cast<std::size_t>(i + j * call.ldc)];
        element = alpha * static_cast<float>(sum) + (beta == 0 ? 0 : beta * element);
      }
    }
  }
  ExactProduct(const ExactProduct&) = delete;

  /// C after a call on a fresh copy of it.
  std::vector<float> run(Interface interface) {
    std::vector<float> result = c;
    Call bound = call;
    bound.a = a.data();
    bound.b = b.data();
    bound.c = result.data();
    switch (interface) {
      case Interface::Fortran:
        call_fortran<std::int32_t>(sgemm_, bound);
        break;
      case Interface::Fortran64:
        call_fortran<std::int64_t>(sgemm_64_, bound);
        break;
      case Interface::ColMajor:
        call_cblas<std::int32_t>(cblas_sgemm, kColMajor, bound);
        break;
      case Interface::ColMajor64:
        call_cblas<std::int64_t>(cblas_sgemm64_, kColMajor, bound);
        break;
      case Interface::RowMajor:
        call_cblas<std::int32_t>(cblas_sgemm, kRowMajor, bound);
        break;
      case Interface::RowMajor64:
        call_cblas<std::int64_t>(cblas_sgemm64_, kRowMajor, bound);
        break;
    }
    return result;
  }

  Call call;
  std::vector<float> a, b, c;
  std::vector<float> want;  ///< C afterwards, padding included

 private:
  static std::int64_t whole(const std::vector<float>& values, std::int64_t index) {
    return static_cast<std::int64_t>(values[static_cast<std::size_t>(index)]);
  }
};

}  // namespace girih_blas_test
