#include <gtest/gtest.h>
#include <random>

#include <girih/accel.hpp>
#include <girih/girih.h>

#include "device/control.hpp"
#include "emulator/launch.hpp"

// The accel contract where there is an accelerator.

namespace girih::accel {
namespace {

using emulator::device_properties;

constexpr auto kMetal = static_cast<std::int32_t>(Backend::Metal);

class MetalAccel : public ::testing::Test {
 protected:
  MetalAccel() {
    std::mt19937 generator(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double& value : a_) value = uniform(generator);
    for (double& value : b_) value = uniform(generator);
  }
  ~MetalAccel() override {
    device_properties() = properties_;
    emulator::config() = config_;
  }
  static constexpr std::int64_t kRows = 40, kColumns = 33, kDepth = 24;
  std::vector<double> a_ = std::vector<double>(kRows * kDepth);
  std::vector<double> b_ = std::vector<double>(kDepth * kColumns);
  FlatProduct multiply() { return flat_gemm(a_, b_, kRows, kColumns, kDepth); }
  /// Refused for this, with no product of the cpu's instead.
  void expect_refusal(std::int32_t status) {
    const FlatProduct product = multiply();
    EXPECT_EQ(product.status, status);
    EXPECT_TRUE(product.c.empty());
    EXPECT_EQ(product.backend, static_cast<std::int32_t>(Backend::None));
    const Agreement found = flat_gemm_agreement(a_, b_, kRows, kColumns, kDepth);
    EXPECT_EQ(found.status, status);
    EXPECT_EQ(found.compared, 0);
    EXPECT_FALSE(found.within_float32_precision);
  }

 private:
  emulator::DeviceProperties properties_ = device_properties();
  emulator::Config config_ = emulator::config();
};

TEST_F(MetalAccel, AProbeHasThreeStatesAndLaunchesNothing) {
  const int commits = emulator::commits();
  const DeviceProbe usable = probe();
  EXPECT_TRUE(usable.device_present);
  EXPECT_FALSE(usable.launch_verified);
  EXPECT_EQ(usable.backend, kMetal);
  EXPECT_EQ(usable.name_length, static_cast<std::int64_t>(device_properties().name.size()));
  EXPECT_EQ(usable.status, kOk);
  device_properties().has_metal4 = false;
  const DeviceProbe unusable = probe();
  EXPECT_TRUE(unusable.device_present);
  EXPECT_EQ(unusable.backend, kMetal);
  EXPECT_EQ(unusable.status, 345);
  device_properties().is_there = false;
  const DeviceProbe none = probe();
  EXPECT_FALSE(none.device_present);
  EXPECT_EQ(none.name_length, 0);
  EXPECT_EQ(none.status, 345);
  EXPECT_EQ(emulator::commits(), commits);
  EXPECT_TRUE(is_built());  // it says nothing of the machine
}

TEST_F(MetalAccel, AFlatProductRunsThereAndAgrees) {
  const int commits = emulator::commits();
  const FlatProduct product = multiply();
  ASSERT_EQ(product.status, kOk);
  EXPECT_EQ(product.backend, kMetal);
  EXPECT_EQ(product.rows, kRows);
  EXPECT_EQ(product.columns, kColumns);
  EXPECT_EQ(product.c.size(), static_cast<std::size_t>(kRows * kColumns));
  EXPECT_GT(emulator::commits(), commits);
  const Agreement found = flat_gemm_agreement(a_, b_, kRows, kColumns, kDepth);
  EXPECT_EQ(found.status, kOk);
  EXPECT_EQ(found.compared, kRows * kColumns);
  EXPECT_TRUE(found.within_float32_precision);
  EXPECT_GT(found.max_abs_delta, 0);
  std::int32_t used = 0;
  std::vector<double> c(kRows * kColumns);
  EXPECT_EQ(girih_accel_gemm_flat(a_.data(), a_.size(), b_.data(), b_.size(), kRows, kColumns,
                                  kDepth, c.data(), c.size(), &used),
            kOk);
  EXPECT_EQ(used, kMetal);
  EXPECT_EQ(c, product.c);
}

TEST_F(MetalAccel, ARefusalIsNeverTheCpusProduct) {
  EXPECT_EQ(flat_gemm(a_, b_, kRows, kColumns, 2 * kDepth).status, 344);
  emulator::config().truncates_simdgroup_matrix = true;  // its trial turns the row off
  expect_refusal(347);
  emulator::config().truncates_simdgroup_matrix = false;
  device_properties().has_metal4 = false;
  expect_refusal(345);
  EXPECT_EQ(flat_gemm(a_, b_, kRows, kColumns, 2 * kDepth).status, 344);  // shape before device
}

}  // namespace
}  // namespace girih::accel
