#include <gtest/gtest.h>

#include "device/control.hpp"
#include "emulator/launch.hpp"
#include "suites/raw_device.hpp"
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

// Rows 4 MiB apart: the last ones lie beyond 2^31 elements, further than one matmul2d may reach.
TEST_F(Large, OperandsOfMoreThan2To31Elements) {
  constexpr std::int64_t kDepth = 600, kStride = std::int64_t{1} << 22, kTile = 32;
  emulator::config().checks_accesses = false;
  const emulator::DeviceProperties properties = emulator::device_properties();
  emulator::device_properties().longest_buffer = 1UL << 32;
  const metal::Ref device(MTLCreateSystemDefaultDevice());
  const metal::Ref buffer(
      metal::device::new_buffer(device.get(), kDepth * kStride, metal::kStorageShared));
  emulator::device_properties() = properties;
  auto* const values = static_cast<std::int8_t*>(metal::buffer::contents(buffer.get()));
  const auto value = [](std::int64_t k, std::int64_t i) {
    return static_cast<std::int8_t>((k * 7 + i * 13) % 31 - 15);
  };
  for (std::int64_t k = 0; k < kDepth; ++k) {
    for (std::int64_t i = 0; i < 2 * kTile; ++i) values[k * kStride + i] = value(k, i);
  }
  const Tensor all = must(runtime_.wrap({.handle = buffer.get(), .bytes = kDepth * kStride},
                                        {kDepth, kStride}, DType::I8));
  const Tensor a = must(all.slice(1, 0, kTile)).transposed();
  const Tensor b = must(all.slice(1, kTile, 2 * kTile));
  const Tensor c = must(runtime_.tensor({kTile, kTile}, DType::I32));
  const GemmDesc product{.a = a, .b = b, .c = c, .path = Path::Matrix};
  EXPECT_EQ(must(plan(runtime_, product)).workspace_bytes, 0U);  // read where they are
  must(gemm(runtime_, product));
  std::vector<std::int32_t> got(kTile * kTile);
  must(runtime_.download(c, std::span(got)));
  for (std::int64_t m = 0; m < kTile; ++m) {
    for (std::int64_t n = 0; n < kTile; ++n) {
      std::int32_t want = 0;
      for (std::int64_t k = 0; k < kDepth; ++k) want += value(k, m) * value(k, kTile + n);
      ASSERT_EQ(got[static_cast<std::size_t>(m * kTile + n)], want) << m << " " << n;
    }
  }
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
