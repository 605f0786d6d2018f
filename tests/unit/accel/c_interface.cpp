#include <array>
#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include <girih/girih.h>

extern "C" {
std::int32_t resolve_from_c(std::int32_t policy, std::int32_t backend, std::int32_t usable);
std::uint32_t probe_size_from_c(void);
}

namespace {

TEST(AccelC, IsTheContract) {
  EXPECT_EQ(resolve_from_c(1, 1, 0), -342);
  EXPECT_EQ(probe_size_from_c(), sizeof(girih_accel_device_probe));
  EXPECT_STREQ(girih_accel_status_name(342), "forced_backend_unavailable");
  EXPECT_STREQ(girih_accel_status_name(1), "unknown_status");
  EXPECT_STREQ(girih_accel_backend_name(4), "none");
  EXPECT_EQ(girih_accel_worth_offloading(20'000'000, 100.0, 20.0, 0.4, 8.0), 1);
  EXPECT_EQ(girih_accel_worth_offloading(65535, 100.0, 20.0, 0.4, 8.0), 0);
}

TEST(AccelC, WritesNoFurtherThanTheCallersStructure) {
  girih_accel_device_probe probe;
  std::memset(&probe, 0x5A, sizeof probe);
  probe.size = offsetof(girih_accel_device_probe, backend);
  EXPECT_EQ(girih_accel_probe(&probe), GIRIH_ACCEL_OK);
  EXPECT_EQ(probe.size, offsetof(girih_accel_device_probe, backend));
  EXPECT_EQ(probe.launch_verified, 0);
  EXPECT_EQ(probe.backend, 0x5A5A5A5A);
  EXPECT_EQ(probe.status, 0x5A5A5A5A);
  probe.size = 0;
  EXPECT_EQ(girih_accel_probe(&probe), 344);
  EXPECT_EQ(girih_accel_probe(nullptr), 344);
}

TEST(AccelC, SurvivesHostileArguments) {
  std::vector<double> values(4, 1.0);
  std::array<double, 1> c = {-7.0};
  std::int32_t backend = 99;
  EXPECT_EQ(girih_accel_gemm_flat(nullptr, 4, values.data(), 4, 1, 1, 4, c.data(), 1, &backend),
            344);
  EXPECT_EQ(backend, GIRIH_BACKEND_NONE);
  EXPECT_EQ(girih_accel_gemm_flat(values.data(), 4, values.data(), 4, 1, 1, 4, nullptr, 1, nullptr),
            344);
  EXPECT_EQ(girih_accel_gemm_flat(values.data(), 4, values.data(), 4, INT64_MAX, 2, 2, c.data(), 1,
                                  nullptr),
            344);
  EXPECT_EQ(girih_accel_gemm_agreement(values.data(), 4, values.data(), 4, 1, 1, 4, nullptr), 344);
  if (girih_accel_gemm_available() == 0) {
    EXPECT_EQ(
        girih_accel_gemm_flat(values.data(), 4, values.data(), 4, 1, 1, 4, c.data(), 1, &backend),
        346);
    girih_accel_agreement agreement{};
    agreement.size = sizeof agreement;
    EXPECT_EQ(girih_accel_gemm_agreement(values.data(), 4, values.data(), 4, 1, 1, 4, &agreement),
              346);
    EXPECT_EQ(agreement.status, 346);
  }
  EXPECT_EQ(c[0], -7.0);
}

}  // namespace
