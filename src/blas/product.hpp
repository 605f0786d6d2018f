#pragma once

#include <cstdint>

namespace girih::inline v0::blas {

/// C = alpha * op(A) * op(B) + beta * C, column-major, with arguments that obey the rules of SGEMM:
/// op(A) is m by k, op(B) k by n; element (i, j) of a matrix lies at i + j * its leading dimension.
struct Product {
  bool transposes_a = false;
  bool transposes_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  float alpha = 1;
  const float* a = nullptr;
  std::int64_t lda = 1;
  const float* b = nullptr;
  std::int64_t ldb = 1;
  float beta = 0;
  float* c = nullptr;
  std::int64_t ldc = 1;
};

/// Writes C. From any threads at once, in a child of fork() too. With beta = 0, C is not read; with
/// alpha = 0 or k = 0, A and B are not, and C is left alone if beta = 1. Other scalars, infinities
/// and NaN among them, are multiplied with. Ends the process, with a message, if the environment
/// has a value that girih refuses: there is no way to return an error, and no result is a wrong
/// one.
void run(const Product& product) noexcept;

}  // namespace girih::inline v0::blas
