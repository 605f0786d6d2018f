#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "backends/metal/pipelines.hpp"
#include "device/control.hpp"
#include "support/gemm.hpp"

// Kernels from a metallib of the caller's instead of from their text.

namespace girih::testing {
namespace {

class MetalPrebuilt : public ::testing::Test {
 protected:
  ~MetalPrebuilt() override { std::filesystem::remove(path_); }
  /// A runtime on a metallib with these contents.
  Runtime open(const std::string& contents) {
    std::ofstream(path_, std::ios::trunc) << contents;
    return must(
        Runtime::open({.backend = Backend::Metal, .metal = MetalHandles{.library = path_}}));
  }
  static Status multiply(Runtime& runtime, DType dtype = DType::F32) {
    const Tensor a = must(runtime.tensor({2, 2}, dtype)), b = must(runtime.tensor({2, 2}, dtype));
    return gemm(runtime, {.a = a, .b = b, .c = must(runtime.tensor({2, 2}, DType::F32))});
  }
  static std::string explain(Runtime& runtime, DType dtype) {
    const Tensor x = must(runtime.tensor({16, 16}, dtype));
    const Result<Plan> chosen =
        plan(runtime, {.a = x, .b = x, .c = must(runtime.tensor({16, 16}, DType::F32))});
    return chosen ? chosen->to_string() : chosen.error().message;
  }
  const std::string path_ = (std::filesystem::temp_directory_path() /
                             ("girih_prebuilt_" + std::to_string(::getpid()) + ".metallib"))
                                .string();
};

TEST_F(MetalPrebuilt, OneWithEveryKernelServesThemAll) {
  Runtime runtime = open("MTLB elementwise gemm_simdgroup gemm_tensor");
  const Tensor a = tensor_of(runtime, {2, 2}, DType::F32, std::vector<float>{1, 2, 3, 4});
  const Tensor c = must(runtime.tensor({2, 2}, DType::F32));
  must(gemm(runtime, {.a = a, .b = a, .c = c}));
  EXPECT_EQ(floats_of(runtime, c), (std::vector<float>{7, 10, 15, 22}));
  must(multiply(runtime, DType::BF16));
  must(fill(runtime, {.destination = c, .value = 3}));
  EXPECT_EQ(floats_of(runtime, c), (std::vector<float>{3, 3, 3, 3}));
}

TEST_F(MetalPrebuilt, AFileThatIsMissingOrNoneTurnsOffItsRowsWithTheReason) {
  Runtime runtime = open("not a library");
  EXPECT_TRUE(refused(multiply(runtime), Code::BackendUnavailable, "invalid library file"));
  EXPECT_TRUE(succeeded(runtime.health()));
  EXPECT_NE(explain(runtime, DType::F32).find(path_ + ": invalid library file"), std::string::npos)
      << explain(runtime, DType::F32);
  EXPECT_TRUE(refused(multiply(runtime), Code::GemmNoKernel, path_));
  std::filesystem::remove(path_);
  Runtime missing =
      must(Runtime::open({.backend = Backend::Metal, .metal = MetalHandles{.library = path_}}));
  EXPECT_TRUE(refused(multiply(missing), Code::BackendUnavailable, "not found"));
}

TEST_F(MetalPrebuilt, AFamilyThatIsMissingTurnsOffItsRowsAlone) {
  Runtime runtime = open("MTLB elementwise gemm_simdgroup");
  EXPECT_TRUE(refused(multiply(runtime, DType::BF16), Code::BackendUnavailable, "do not load"));
  EXPECT_TRUE(succeeded(multiply(runtime, DType::BF16)));  // by the portable row
  const std::string explained = explain(runtime, DType::BF16);
  EXPECT_NE(explained.find("it has no girih_gemm_tensor_"), std::string::npos) << explained;
  EXPECT_TRUE(succeeded(multiply(runtime, DType::F32)));
}

TEST_F(MetalPrebuilt, OneOfAnotherTextIsRefused) {
  Runtime runtime = open("MTLB elementwise gemm_simdgroup gemm_tensor -girih_gemm_simdgroup_");
  EXPECT_TRUE(refused(multiply(runtime, DType::F32), Code::BackendUnavailable,
                      "made of other kernels than this girih's"));
  EXPECT_TRUE(
      refused(multiply(runtime, DType::F32), Code::GemmNoKernel, "it has no girih_gemm_sim"));
  EXPECT_TRUE(succeeded(multiply(runtime, DType::BF16)));
}

// What CMake embeds on a Mac goes this way.
TEST_F(MetalPrebuilt, OneInMemoryServesTheSameWay) {
  const metal::Pool pool;
  const metal::Ref device(MTLCreateSystemDefaultDevice());
  const auto find = [&](const std::string& bytes) {
    metal::Pipelines pipelines;
    must(pipelines.start(device.get(), "", std::as_bytes(std::span(bytes))));
    const Result<metal::id> found = pipelines.find(
        {.family = metal::Family::Simdgroup, .function = "metal_gemm_f32_64x64_simdgroup_f32"});
    return found ? Status{} : found.error();
  };
  emulator::fail_library("gemm_simdgroup", "error: text is not compiled here");
  EXPECT_TRUE(succeeded(find("MTLB gemm_simdgroup")));
  EXPECT_TRUE(refused(find("MTLB gemm_simdgroup -girih_gemm"), Code::BackendUnavailable,
                      "the metallib built with girih: made of other kernels"));
  EXPECT_TRUE(refused(find("nothing"), Code::BackendUnavailable, "invalid library file"));
  EXPECT_TRUE(refused(find(""), Code::BackendUnavailable, "text is not compiled here"));
  emulator::fail_library("gemm_simdgroup", "");
}

TEST_F(MetalPrebuilt, IsForMetalAlone) {
  EXPECT_TRUE(
      refused(Runtime::open({.backend = Backend::Cpu, .metal = MetalHandles{.library = path_}}),
              Code::InvalidOption, "options.metal"));
}

}  // namespace
}  // namespace girih::testing
