#include <gtest/gtest.h>

#include "emulator/launch.hpp"
#include "support/gemm.hpp"
#include "verify/elementwise_case.hpp"

// What takes too long on the emulator in every mode: once each, eagerly, without the checker of
// accesses where a case has many threadgroups.

namespace girih::testing {
namespace {

class Large : public ::testing::Test {
 protected:
  ~Large() override { emulator::config() = config_; }
  void expect(const verify::GemmCase& gemm_case) {
    expect_passes(runtime_, gemm_case, verify::Mode::Eager);
  }
  Runtime runtime_ = must(Runtime::open({.backend = Backend::Metal}));

 private:
  emulator::Config config_ = emulator::config();
};

TEST_F(Large, MoreTilesThanThreadgroups) {
  emulator::config().checks_accesses = false;
  expect({.m = 2, .n = 1, .k = 4, .batch = 4200, .operands = DType::BF16});
}

TEST_F(Large, ExtentsBeyond16Bits) {
  emulator::config().checks_accesses = false;
  for (const std::int64_t k : {32769, 65537}) {
    expect({.m = 3, .n = 17, .k = k});
    expect({.m = 3, .n = 17, .k = k, .operands = DType::F16, .output = DType::F16});
  }
  expect({.m = 3, .n = 32769, .k = 5});
  expect({.m = 32769, .n = 2, .k = 5, .operands = DType::F16, .output = DType::F16});
}

TEST_F(Large, IntegersAtTheirExtremes) {
  emulator::config().checks_accesses = false;
  for (const DType output : {DType::I32, DType::F32}) {
    for (const auto contents : {verify::Contents::Lowest, verify::Contents::Special}) {
      expect({.m = 4,
              .n = 5,
              .k = 131071,
              .operands = DType::I8,
              .output = output,
              .beta = output == DType::I32 ? 1.0F : 0.0F,
              .contents = contents});
    }
  }
}

}  // namespace
}  // namespace girih::testing
