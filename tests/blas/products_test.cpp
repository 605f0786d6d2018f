#include <cmath>
#include <limits>

#include "blas.hpp"

// What SGEMM computes, exactly, on whole numbers.

namespace girih_blas_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Extents {
  std::int64_t m, n, k;
};
constexpr Extents kExtents[] = {{1, 1, 1},   {3, 5, 2},     {16, 1, 33},   {1, 17, 9},
                                {15, 31, 7}, {33, 65, 129}, {0, 4, 4},     {4, 0, 4},
                                {4, 4, 0},   {130, 70, 3},  {257, 19, 40}, {64, 300, 257}};

/// Every interface on one product.
void expect_exact(const Extents& e, char transa, char transb, float alpha, float beta,
                  std::uint32_t seed) {
  ExactProduct product(transa, transb, e.m, e.n, e.k, alpha, beta, seed % 3, seed);
  for (const Interface interface : kInterfaces) {
    ASSERT_EQ(product.run(interface), product.want)
        << transa << transb << ' ' << e.m << 'x' << e.n << 'x' << e.k << " alpha " << alpha
        << " beta " << beta << " interface " << static_cast<int>(interface);
  }
}

TEST(BlasProducts, EveryInterfaceTransposeAndScalarIsExact) {
  std::uint32_t seed = 1;
  for (const Extents& e : kExtents) {
    const bool is_long = e.m * e.n * e.k > 100000;
    for (const char transa : {'N', 't', 'C'}) {
      for (const char transb : {'n', 'T', 'c'}) {
        for (const float alpha : {1.0F, 0.0F, -2.0F}) {
          for (const float beta : {0.0F, 1.0F, 3.0F}) {
            if (is_long && alpha != -2) continue;
            ASSERT_NO_FATAL_FAILURE(expect_exact(e, transa, transb, alpha, beta, ++seed));
          }
        }
      }
    }
  }
}

TEST(BlasProducts, BetaZeroNeverReadsC) {
  for (const float alpha : {1.0F, 0.0F}) {
    for (const std::int64_t k : {std::int64_t{20}, std::int64_t{0}}) {
      ExactProduct product('N', 'N', 20, 20, k, alpha, 0, 0, 7);
      product.c.assign(product.c.size(), kNaN);
      EXPECT_EQ(product.run(Interface::Fortran), product.want) << alpha << ' ' << k;
    }
  }
}

TEST(BlasProducts, AlphaZeroNeverReadsAOrB) {
  ExactProduct product('N', 'T', 20, 20, 20, 0, 2, 1, 7);
  product.a.assign(product.a.size(), kNaN);
  product.b.assign(product.b.size(), kNaN);
  EXPECT_EQ(product.run(Interface::Fortran), product.want);
}

TEST(BlasProducts, ScalingKeepsTheSignOfZero) {
  for (const float beta : {1.0F, 2.0F}) {
    ExactProduct product('N', 'N', 3, 3, 0, 1, beta, 0, 7);
    product.c.assign(product.c.size(), -0.0F);
    for (const float element : product.run(Interface::Fortran)) {
      EXPECT_TRUE(std::signbit(element)) << beta;
    }
  }
}

/// Element by element: equal, or both NaN.
void expect_same(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    } else {
      EXPECT_EQ(got[i], want[i]) << i;
    }
  }
}

TEST(BlasProducts, ScalarsThatAreNotFiniteAreMultipliedWith) {
  for (const float alpha : {1.0F, 0.0F, kInfinity, -kInfinity, kNaN}) {
    for (const float beta : {0.0F, 1.0F, kInfinity, -kInfinity, kNaN}) {
      for (const std::int64_t k : {std::int64_t{18}, std::int64_t{0}}) {
        ExactProduct product('N', 'N', 19, 23, k, 1, 0, 0, 11);
        std::vector<float> want = product.want;  // the plain sums
        for (std::size_t i = 0; i < want.size(); ++i) {
          const float scaled = beta == 0 ? 0 : beta * product.c[i];
          want[i] = alpha == 0 || k == 0 ? scaled : alpha * want[i] + scaled;
        }
        product.call.alpha = alpha;
        product.call.beta = beta;
        for (const Interface interface : kInterfaces) {
          SCOPED_TRACE(::testing::Message() << alpha << ' ' << beta << ' ' << k);
          expect_same(product.run(interface), want);
        }
      }
    }
  }
}

TEST(BlasProducts, SpecialValuesOfTheOperandsAreMultipliedWith) {
  ExactProduct product('N', 'N', 20, 20, 20, 1, 0, 0, 3);
  product.b.assign(product.b.size(), 1.0F);
  product.a[5] = kInfinity;  // row 5
  product.a[7] = kNaN;       // row 7
  const std::vector<float> result = product.run(Interface::Fortran);
  for (std::size_t j = 0; j < 20; ++j) {
    EXPECT_EQ(result[5 + 20 * j], kInfinity);
    EXPECT_TRUE(std::isnan(result[7 + 20 * j]));
    EXPECT_TRUE(std::isfinite(result[6 + 20 * j]));
  }
}

TEST(BlasProducts, EmptyProductsTakeNullPointers) {
  const Call call{.m = 0, .n = 3, .k = 3, .lda = 1, .ldb = 3, .ldc = 1};
  call_fortran<std::int32_t>(sgemm_, call);
  call_cblas<std::int64_t>(cblas_sgemm64_, kRowMajor, call);
}

}  // namespace
}  // namespace girih_blas_test
