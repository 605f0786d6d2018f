#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include <girih/girih.hpp>

#include "backends/metal/device.hpp"
#include "backends/metal/launch.hpp"
#include "device/control.hpp"
#include "emulator/launch.hpp"
#include "support/expect.hpp"
#include "support/gemm.hpp"

// The host part of the backend when the device is not what it should be. Nothing here depends on a
// kernel's numbers.

namespace girih::testing {
namespace {

using emulator::device_properties;

/// Puts the device back as it was.
class Metal : public ::testing::Test {
 protected:
  ~Metal() override {
    device_properties() = properties_;
    emulator::config() = config_;
    for (const char* library : {"elementwise", "gemm_simdgroup", "gemm_tensor"}) {
      emulator::fail_library(library, "");
    }
    emulator::stall(false);
    emulator::skip_work(false);
  }
  static Result<Runtime> open(const RuntimeOptions& options = {.backend = Backend::Metal}) {
    return Runtime::open(options);
  }
  static Status multiply(Runtime& runtime, DType dtype, Path path = Path::Auto) {
    const Tensor a = must(runtime.tensor({32, 64}, dtype));
    const Tensor b = must(runtime.tensor({64, 48}, dtype));
    const Tensor c = must(runtime.tensor({32, 48}, DType::F32));
    return gemm(runtime, {.a = a, .b = b, .c = c, .path = path});
  }

 private:
  emulator::DeviceProperties properties_ = device_properties();
  emulator::Config config_ = emulator::config();
};

TEST_F(Metal, ProbeAgreesWithWhatOpeningDoes) {
  EXPECT_EQ(metal::probe().presence, metal::Presence::Usable);
  EXPECT_TRUE(metal::is_built());
  EXPECT_TRUE(succeeded(open()));
  EXPECT_EQ(must(Runtime::open({.policy = Policy::Accel})).backend(), Backend::Metal);
  EXPECT_EQ(must(Runtime::open({.policy = Policy::Auto})).backend(), Backend::Metal);
  device_properties().has_metal4 = false;
  EXPECT_EQ(metal::probe().presence, metal::Presence::Unusable);
  EXPECT_TRUE(refused(open(), Code::BackendUnavailable, "macOS 26"));
  EXPECT_EQ(must(Runtime::open({.policy = Policy::Auto})).backend(), Backend::Cpu);
  device_properties().is_there = false;
  EXPECT_EQ(metal::probe().presence, metal::Presence::None);
  EXPECT_TRUE(refused(open(), Code::BackendUnavailable, "no Metal device"));
}

TEST_F(Metal, AnOlderGpuTakesThePortableRows) {
  device_properties().architecture = "applegpu_g16s";
  Runtime runtime = must(open());
  const Tensor x = must(runtime.tensor({16, 16}, DType::BF16));
  const Tensor c = must(runtime.tensor({16, 16}, DType::F32));
  const Plan chosen = must(plan(runtime, {.a = x, .b = x, .c = c}));
  EXPECT_EQ(chosen.kernel, "metal_gemm_16bit_64x64_simdgroup");
  EXPECT_NE(chosen.to_string().find("needs tensorops"), std::string::npos);
  EXPECT_TRUE(refused(multiply(runtime, DType::BF16, Path::Matrix), Code::GemmNoKernel, ""));
}

TEST_F(Metal, ExactF32StaysOffTheMatrixUnit) {
  Runtime runtime = must(open());
  const Tensor x = must(runtime.tensor({16, 16}, DType::F32));
  const Tensor c = must(runtime.tensor({16, 16}, DType::F32));
  EXPECT_EQ(must(plan(runtime, {.a = x, .b = x, .c = c})).kernel, "metal_gemm_f32_64x64_simdgroup");
}

TEST_F(Metal, ALibraryThatDoesNotCompileTurnsOffItsRowsAlone) {
  emulator::fail_library("gemm_tensor",
                         "program_source:3:1: warning: unused\n  int i;\n"
                         "program_source:7:3: error: no such thing\nmore text");
  Runtime runtime = must(open());
  EXPECT_TRUE(refused(multiply(runtime, DType::BF16), Code::BackendUnavailable, "no such thing"));
  ASSERT_TRUE(succeeded(runtime.health()));
  EXPECT_TRUE(succeeded(multiply(runtime, DType::BF16)));  // by another row
  const Tensor x = must(runtime.tensor({16, 16}, DType::BF16));
  const Tensor c = must(runtime.tensor({16, 16}, DType::F32));
  const Plan chosen = must(plan(runtime, {.a = x, .b = x, .c = c}));
  EXPECT_EQ(chosen.kernel, "metal_gemm_16bit_64x64_simdgroup");
  EXPECT_NE(chosen.to_string().find("7:3: error: no such thing"), std::string::npos);
  EXPECT_EQ(chosen.to_string().find("unused"), std::string::npos);
  EXPECT_EQ(chosen.to_string().find("more text"), std::string::npos);
  EXPECT_TRUE(succeeded(multiply(runtime, DType::F32)));
}

TEST_F(Metal, APipelineThatIsNotMadeTurnsOffItsRowAlone) {
  const std::string row = "metal_gemm_16bit_64x64_tensorops";
  emulator::fail_pipelines(row, "too many registers");
  Runtime runtime = must(open());
  EXPECT_TRUE(
      refused(multiply(runtime, DType::BF16), Code::BackendUnavailable, "no pipeline for " + row));
  ASSERT_TRUE(succeeded(runtime.health()));
  EXPECT_TRUE(succeeded(multiply(runtime, DType::BF16)));
  const Tensor x = must(runtime.tensor({16, 16}, DType::BF16));
  const Tensor c = must(runtime.tensor({16, 16}, DType::F32));
  const std::string text = must(plan(runtime, {.a = x, .b = x, .c = c})).to_string();
  EXPECT_NE(text.find("too many registers"), std::string::npos) << text;
  emulator::fail_pipelines(row, "");
}

TEST_F(Metal, AMatrixUnitThatIsWrongIsTurnedOff) {
  emulator::config().breaks_matmul = true;
  Runtime runtime = must(open());
  EXPECT_TRUE(refused(multiply(runtime, DType::F16), Code::BackendUnavailable, "trial"));
  ASSERT_TRUE(succeeded(runtime.health()));
  // The next row of that unit is tried, too; then there is a portable one.
  EXPECT_TRUE(refused(multiply(runtime, DType::F16), Code::BackendUnavailable, "trial"));
  EXPECT_TRUE(succeeded(multiply(runtime, DType::F16)));
  emulator::config().breaks_matmul = false;
  Runtime healthy = must(open());
  EXPECT_TRUE(succeeded(multiply(healthy, DType::F16)));
}

TEST_F(Metal, EachLayoutOfAMatrixRowIsTried) {
  Runtime runtime = must(open());
  const Tensor x = must(runtime.tensor({16, 16}, DType::BF16));
  const Tensor c = must(runtime.tensor({16, 16}, DType::F32));
  must(gemm(runtime, {.a = x, .b = x, .c = c}));
  emulator::config().breaks_matmul = true;
  EXPECT_TRUE(succeeded(gemm(runtime, {.a = x, .b = x, .c = c}))) << "tried before";
  EXPECT_TRUE(refused(gemm(runtime, {.a = x, .b = x.transposed(), .c = c}),
                      Code::BackendUnavailable, "trial"));
  emulator::config().breaks_matmul = false;
}

TEST_F(Metal, AMatrixUnitThatDropsTheLowestBitsIsTurnedOff) {
  for (const DType dtype : {DType::F16, DType::BF16, DType::I8}) {
    emulator::config().drops_low_bits = true;
    Runtime runtime = must(open());
    EXPECT_TRUE(refused(multiply(runtime, dtype), Code::BackendUnavailable, "trial"));
    emulator::config().drops_low_bits = false;
    Runtime healthy = must(open());
    EXPECT_TRUE(succeeded(multiply(healthy, dtype)));
  }
}

TEST_F(Metal, APortableRowThatIsWrongIsTurnedOffByTheTrialOfAnother) {
  emulator::config().breaks_simdgroup_matrix = true;
  Runtime runtime = must(open());
  EXPECT_TRUE(succeeded(multiply(runtime, DType::F16)));
  emulator::config().breaks_simdgroup_matrix = false;
  EXPECT_TRUE(refused(multiply(runtime, DType::F16, Path::Portable), Code::GemmNoKernel, "trial"));
}

TEST_F(Metal, APortableRowThatIsWrongIsTurnedOff) {
  device_properties().architecture = "applegpu_g16s";  // without a matrix unit
  emulator::config().breaks_simdgroup_matrix = true;
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    Runtime runtime = must(open());
    EXPECT_TRUE(refused(multiply(runtime, dtype), Code::BackendUnavailable, "trial"));
    EXPECT_TRUE(refused(multiply(runtime, dtype), Code::GemmNoKernel, "trial"));
  }
}

TEST_F(Metal, AnExactRowThatDropsBitsOfF32IsTurnedOff) {
  emulator::config().truncates_simdgroup_matrix = true;
  Runtime runtime = must(open());
  EXPECT_TRUE(refused(multiply(runtime, DType::F32), Code::BackendUnavailable, "trial"));
  EXPECT_TRUE(succeeded(multiply(runtime, DType::F16)));
  emulator::config().truncates_simdgroup_matrix = false;
  Runtime healthy = must(open());
  EXPECT_TRUE(succeeded(multiply(healthy, DType::F32)));
}

TEST_F(Metal, ATrialDoesWithoutAPortableRowThatDoesNotCompile) {
  emulator::fail_library("gemm_simdgroup", "program_source:7:3: error: no such thing");
  Runtime runtime = must(open());
  EXPECT_TRUE(succeeded(multiply(runtime, DType::F16)));
}

TEST_F(Metal, AGpuThatDoesNotFinishIsATimeOut) {
  Runtime runtime = must(open());
  must(multiply(runtime, DType::F32));
  const Event event = must(runtime.submit());
  emulator::stall(true);
  EXPECT_FALSE(must(runtime.completed(event)));
  EXPECT_TRUE(refused(runtime.wait(event), Code::TimedOut, "60 s"));
  EXPECT_TRUE(refused(runtime.tensor({1}, DType::F32), Code::RuntimePoisoned, "60 s"));
  emulator::stall(false);
}

TEST_F(Metal, MemoryHasTwoLimits) {
  device_properties().longest_buffer = 1 << 20;
  device_properties().working_set = 7 << 19;  // a quarter is constants of command buffers
  Runtime runtime = must(open());
  EXPECT_TRUE(refused(runtime.tensor({(1 << 20) + 1}, DType::I8), Code::OutOfMemory, "at most"));
  std::vector<Tensor> live;
  for (int i = 0; i < 2; ++i) live.push_back(must(runtime.tensor({1 << 20}, DType::I8)));
  EXPECT_TRUE(refused(runtime.tensor({1 << 20}, DType::I8), Code::OutOfMemory, "working set"));
  live.clear();
  EXPECT_TRUE(succeeded(runtime.tensor({1 << 19}, DType::I8)));
}

TEST_F(Metal, OpeningWithoutMemoryIsOutOfMemory) {
  device_properties().working_set = 1 << 19;
  EXPECT_TRUE(refused(open(), Code::OutOfMemory, "backend metal: 262144 bytes asked"));
}

TEST_F(Metal, GroupedProductsAreRefused) {
  struct Nothing final : metal::LaunchSink {
    Status add(const metal::Launch&) noexcept override { return {}; }
  } sink;
  const auto dense = [](const Shape& shape, DType dtype) {
    return Geometry{dtype, shape, contiguous_strides(shape), 0};
  };
  const GroupedGemmSpec spec{.product = {.a = dense({4, 8}, DType::BF16),
                                         .b = dense({2, 8, 8}, DType::BF16),
                                         .c = dense({4, 8}, DType::BF16)},
                             .offsets = dense({3}, DType::I32)};
  const Call call = GroupedGemmCall{must(check(spec)), {}, {}};
  EXPECT_TRUE(refused(metal::lower(call, sink), Code::BackendLacks, "grouped"));
}

TEST_F(Metal, LongWorkIsSplitAtTheBordersOfOperations) {
  Runtime runtime = must(open());
  must(multiply(runtime, DType::F32));  // its trial is not skipped
  emulator::skip_work(true);
  const Tensor a = must(runtime.tensor({2048, 2048}, DType::F32));
  const Tensor c = must(runtime.tensor({2048, 2048}, DType::F32));
  const GemmDesc product{.a = a, .b = a, .c = c};
  const double seconds = must(plan(runtime, product)).predicted_seconds;
  ASSERT_GT(seconds, 1e-3);
  ASSERT_LT(seconds, 0.05);
  const auto count = static_cast<int>(1 / seconds);  // a second of work
  const auto expect_split = [&](auto step) {
    must(runtime.synchronize());
    const int before = emulator::commits();
    for (int i = 0; i < count; ++i) must(step());
    EXPECT_GE(emulator::commits() - before, 9);
    EXPECT_LE(emulator::commits() - before, 20);
  };
  expect_split([&] { return gemm(runtime, product); });
  Graph graph = must(capture(runtime, [&] { return gemm(runtime, product); }));
  expect_split([&] { return graph.replay(); });
  must(runtime.synchronize());
}

TEST_F(Metal, MemoryIsMadeResidentOnceAndNotAgain) {
  Runtime runtime = must(open());
  const Tensor a = must(runtime.tensor({64, 64}, DType::F32));
  const Tensor c = must(runtime.tensor({64, 64}, DType::F32));
  const auto step = [&] {
    must(gemm(runtime, {.a = a, .b = a, .c = c}));
    must(fill(runtime, {.destination = a, .value = 1}));
    must(runtime.synchronize());
  };
  step();
  const int before = emulator::residency_changes();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(emulator::residency_changes(), before);
  (void)must(runtime.tensor({4096, 4096}, DType::F32));
  EXPECT_GT(emulator::residency_changes(), before);
}

// Metal's fill counts in words of 4 bytes; the emulator reports another length.
TEST_F(Metal, AFreshTensorOfAnyLengthIsZero) {
  Runtime runtime = must(open());
  must(runtime.bump_reserve(4096));
  for (const Memory memory : {Memory::Hot, Memory::Cold, Memory::Bump}) {
    for (const std::int64_t bytes : {1, 2, 3, 5, 63, 65, 1023}) {
      const Tensor x = must(runtime.tensor({bytes}, DType::I8, memory));
      EXPECT_EQ(bytes_of(runtime, x),
                std::vector<std::byte>(static_cast<std::size_t>(bytes), std::byte{0}));
    }
  }
}

TEST_F(Metal, NothingIsLeftBehind) {
  {
    Runtime warm = must(open());
    must(multiply(warm, DType::BF16));
  }
  const std::map<std::string, int> before = emulator::live_objects();
  {
    Runtime runtime = must(open());
    must(multiply(runtime, DType::BF16));
    Graph graph = must(capture(runtime, [&] { return multiply(runtime, DType::F32); }));
    must(graph.replay());
    must(runtime.synchronize());
    EXPECT_NE(emulator::live_objects(), before);
  }
  EXPECT_EQ(emulator::live_objects(), before);
}

TEST_F(Metal, ManyCallsGoThroughManyCommandBuffers) {
  Runtime runtime = must(open());
  const Tensor x = must(runtime.tensor({64}, DType::F32));
  // Twice through the 4 slots of 256 KiB of constants, of which a call takes 256 bytes.
  const int before = emulator::commits();
  for (int i = 0; i < 9000; ++i) must(fill(runtime, {.destination = x, .value = i + 0.0}));
  EXPECT_GE(emulator::commits() - before, 8);
  EXPECT_EQ(floats_of(runtime, x), std::vector<float>(64, 8999.0F));
}

}  // namespace
}  // namespace girih::testing
