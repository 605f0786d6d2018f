#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include <girih/accel.hpp>

namespace girih::accel {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(AccelResolve, FollowsThePolicy) {
  EXPECT_EQ(resolve(1, 1, false), -342);
  EXPECT_EQ(resolve(1, 1, true), 1);
  EXPECT_EQ(resolve(0, 2, true), 2);
  EXPECT_EQ(resolve(0, 2, false), 0);
  for (int backend = -1; backend < 6; ++backend) {
    EXPECT_EQ(resolve(2, backend, true), 0);
    EXPECT_EQ(resolve(7, backend, true), -341);
    EXPECT_EQ(resolve(-1, backend, false), -341);
  }
}

TEST(AccelResolve, RefusesWhatIsNoAccelerator) {
  for (const int policy : {0, 1}) {
    for (const int backend : {-1, 0, 4, 5}) EXPECT_EQ(resolve(policy, backend, true), -343);
  }
}

TEST(AccelNames, AreThePublishedOnes) {
  EXPECT_EQ(status_name(340), "ok");
  EXPECT_EQ(status_name(341), "unknown_policy");
  EXPECT_EQ(status_name(342), "forced_backend_unavailable");
  EXPECT_EQ(status_name(345), "no_accelerator_present");
  EXPECT_EQ(status_name(346), "shader_toolchain_absent");
  for (const int status : {0, -342, 320, 339, 359, 360, 401}) {
    EXPECT_EQ(status_name(status), "unknown_status") << status;
  }
  const char* const names[] = {"cpu", "metal", "cuda", "rocm", "none"};
  for (int backend = 0; backend < 5; ++backend) EXPECT_EQ(backend_name(backend), names[backend]);
  EXPECT_EQ(backend_name(5), "unknown_backend");
}

TEST(AccelOffload, GivesThePublishedVectors) {
  const auto dense = offload_model(20'000'000, 100.0, 20.0, 0.4, 8.0);
  ASSERT_TRUE(dense);
  EXPECT_DOUBLE_EQ(dense->achievable_tflops, 20.0);
  EXPECT_NEAR(dense->kernel_us, 100.0, 1e-9);
  EXPECT_NEAR(dense->launch_share, 8.0 / 108.0, 1e-12);
  EXPECT_TRUE(worth_offloading(20'000'000, 100.0, 20.0, 0.4, 8.0));

  const auto sparse = offload_model(20'000'000, 0.01, 20.0, 0.4, 8.0);
  ASSERT_TRUE(sparse);
  EXPECT_NEAR(sparse->achievable_tflops, 0.004, 1e-15);
  EXPECT_NEAR(sparse->kernel_us, 50.0, 1e-9);
  EXPECT_FALSE(worth_offloading(20'000'000, 0.01, 20.0, 0.4, 8.0));
}

TEST(AccelOffload, BreaksEvenWhereTheLaunchIsATenth) {
  // kernel = 9 * launch = 72 us: 14.4e6 cells at intensity 100, 28.8e6 where memory bounds.
  EXPECT_TRUE(worth_offloading(14'400'100, 100.0, 20.0, 0.4, 8.0));
  EXPECT_FALSE(worth_offloading(14'399'900, 100.0, 20.0, 0.4, 8.0));
  EXPECT_TRUE(worth_offloading(28'800'100, 0.01, 20.0, 0.4, 8.0));
  EXPECT_FALSE(worth_offloading(28'799'900, 0.01, 20.0, 0.4, 8.0));
}

TEST(AccelOffload, HasAFloorOfCells) {
  EXPECT_TRUE(worth_offloading(65536, 1e6, 20.0, 0.4, 8.0));
  EXPECT_FALSE(worth_offloading(65535, 1e6, 20.0, 0.4, 8.0));
  EXPECT_FALSE(worth_offloading(65536, 100.0, 20.0, 0.4, 8.0));
}

TEST(AccelOffload, RefusesBadInput) {
  for (const double bad : {0.0, -1.0, kInf, -kInf, kNan}) {
    EXPECT_FALSE(offload_model(20'000'000, bad, 20.0, 0.4, 8.0));
    EXPECT_FALSE(offload_model(20'000'000, 100.0, bad, 0.4, 8.0));
    EXPECT_FALSE(offload_model(20'000'000, 100.0, 20.0, bad, 8.0));
    EXPECT_FALSE(offload_model(20'000'000, 100.0, 20.0, 0.4, bad));
    EXPECT_FALSE(worth_offloading(20'000'000, bad, 20.0, 0.4, 8.0));
  }
  for (const std::int64_t cells : {std::int64_t{0}, std::int64_t{-5}, INT64_MIN}) {
    EXPECT_FALSE(worth_offloading(cells, 100.0, 20.0, 0.4, 8.0));
  }
  EXPECT_FALSE(worth_offloading(20'000'000, 1e-320, 20.0, 1e-10, 8.0));
}

}  // namespace
}  // namespace girih::accel
