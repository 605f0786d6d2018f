#include <cstdint>
#include <dlfcn.h>

// Preloaded in front of libgirih_blas.so: the same products with one element wrong. A check that
// passes with it checks nothing.

extern "C" {

__attribute__((visibility("default"))) void sgemm_(
    const char* transa, const char* transb, const std::int32_t* m, const std::int32_t* n,
    const std::int32_t* k, const float* alpha, const float* a, const std::int32_t* lda,
    const float* b, const std::int32_t* ldb, const float* beta, float* c, const std::int32_t* ldc) {
  reinterpret_cast<decltype(&sgemm_)>(dlsym(RTLD_NEXT, "sgemm_"))(transa, transb, m, n, k, alpha, a,
                                                                  lda, b, ldb, beta, c, ldc);
  if (*m > 2 && *n > 2 && *ldc >= *m) c[1 + *ldc] += 1;
}

__attribute__((visibility("default"))) void cblas_sgemm(int layout, int transa, int transb,
                                                        std::int32_t m, std::int32_t n,
                                                        std::int32_t k, float alpha, const float* a,
                                                        std::int32_t lda, const float* b,
                                                        std::int32_t ldb, float beta, float* c,
                                                        std::int32_t ldc) {
  reinterpret_cast<decltype(&cblas_sgemm)>(dlsym(RTLD_NEXT, "cblas_sgemm"))(
      layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (m > 2 && n > 2 && ldc > 2) c[1 + ldc] += 1;
}

}  // extern "C"
