#include "capi/flat_gemm.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include <girih/accel.hpp>

namespace girih::accel {
namespace {

std::vector<double> random_values(std::size_t count, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(count);
  for (double& value : values) value = uniform(generator);
  return values;
}

TEST(AccelProbe, IsTruthfulWithoutAnAccelerator) {
  const DeviceProbe found = probe();
  EXPECT_FALSE(found.launch_verified);
  if (!is_built()) {
    EXPECT_FALSE(found.device_present);
    EXPECT_EQ(found.backend, 4);
    EXPECT_EQ(found.name_length, 0);
    EXPECT_EQ(found.status, 345);
  }
  // Three states: none, present but unusable, usable.
  if (!found.device_present) {
    EXPECT_EQ(found.status, 345);
    EXPECT_EQ(found.name_length, 0);
  }
  EXPECT_EQ(found.device_present, found.backend != 4);
}

TEST(AccelFlatGemm, ChecksShapeBeforeBuildBeforeDevice) {
  const std::vector<double> five(5, 1.0);
  const std::vector<double> enough(33 * 40, 1.0);
  EXPECT_EQ(flat_gemm(five, five, 5, 5, 5).status, 344);
  EXPECT_EQ(flat_gemm(five, five, 0, 1, 1).status, 344);
  EXPECT_EQ(flat_gemm(five, five, -1, 1, 1).status, 344);
  EXPECT_EQ(flat_gemm(five, five, 16385, 1, 1).status, 344);
  EXPECT_EQ(flat_gemm(five, five, INT64_MAX, INT64_MAX, INT64_MAX).status, 344);
  const FlatProduct product = flat_gemm(enough, enough, 40, 33, 24);
  if (!is_built()) {
    EXPECT_EQ(product.status, 346);
    EXPECT_TRUE(product.c.empty());
    EXPECT_EQ(product.backend, 4);
    EXPECT_EQ(flat_gemm_agreement(enough, enough, 40, 33, 24).status, 346);
  } else if (probe().status != kOk) {
    EXPECT_EQ(product.status, 345);
    EXPECT_TRUE(product.c.empty());
    EXPECT_EQ(product.backend, 4);
  }
}

/// The product and the comparison themselves, on a runtime that is here.
class AccelFlatGemmOn : public testing::Test {
 protected:
  static Agreement agreement(std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto a = random_values(static_cast<std::size_t>(m * k), 1);
    const auto b = random_values(static_cast<std::size_t>(k * n), 2);
    Result<Runtime> runtime = Runtime::open({.policy = Policy::Cpu});
    EXPECT_TRUE(runtime);
    std::vector<double> c;
    EXPECT_TRUE(flat_gemm_on(*runtime, a, b, m, n, k, c));
    return compare_flat(a, b, c, m, n, k);
  }
};

TEST_F(AccelFlatGemmOn, AgreesWithinF32AndNotWithinF64) {
  const Agreement found = agreement(40, 33, 24);
  EXPECT_TRUE(found.within_float32_precision);
  EXPECT_GT(found.max_abs_delta, 1e-12);
  EXPECT_EQ(found.compared, 40 * 33);
  EXPECT_TRUE(agreement(100, 70, 50).within_float32_precision);
  EXPECT_LT(agreement(17, 9, 65).max_abs_delta, 1e-4);
}

TEST_F(AccelFlatGemmOn, IdentityGivesTheMatrix) {
  std::vector<double> identity(400, 0.0);
  for (std::size_t i = 0; i < 20; ++i) identity[i * 21] = 1.0;
  const auto matrix = random_values(400, 3);
  Result<Runtime> runtime = Runtime::open({.policy = Policy::Cpu});
  ASSERT_TRUE(runtime);
  std::vector<double> c;
  ASSERT_TRUE(flat_gemm_on(*runtime, identity, matrix, 20, 20, 20, c));
  EXPECT_LT(compare_flat(identity, matrix, c, 20, 20, 20).max_abs_delta, 1e-6);
}

TEST(AccelAgreement, BoundScalesWithKAndValue) {
  for (const auto& [k, bound] : {std::pair{16, 1.907e-6},
                                 {24, 2.861e-6},
                                 {50, 5.960e-6},
                                 {65, 7.749e-6},
                                 {4096, 4.883e-4}}) {
    const std::vector<double> zeros(static_cast<std::size_t>(k), 0.0);
    const std::vector<double> c = {0.0};
    EXPECT_NEAR(compare_flat(zeros, zeros, c, 1, 1, k).float32_bound, bound, bound * 1e-3);
  }
}

TEST(AccelAgreement, CanFail) {
  const std::vector<double> a = {1.0, 2.0};
  const std::vector<double> b = {3.0, 4.0};
  EXPECT_TRUE(compare_flat(a, b, std::vector<double>{11.0}, 1, 1, 2).within_float32_precision);
  EXPECT_FALSE(compare_flat(a, b, std::vector<double>{11.001}, 1, 1, 2).within_float32_precision);
  const std::vector<double> nan = {std::nan("")};
  const Agreement found = compare_flat(a, b, nan, 1, 1, 2);
  EXPECT_FALSE(found.within_float32_precision);
  EXPECT_TRUE(std::isnan(found.max_abs_delta));
}

}  // namespace
}  // namespace girih::accel
