#include <cstdio>
#include <filesystem>
#include <fstream>

#include <girih/overlay.hpp>

#include "cuda/device/child.hpp"
#include "cuda/device/gpu_test.hpp"
#include "cuda/device/overlay_images.hpp"

// Kernels of the program's own in girih's queue and graphs.

namespace girih::testing {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// PTX of one kernel that does nothing.
std::string ptx(const std::string& name) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry " + name + "() { ret; }\n";
}

class CudaOverlay : public BackendTest {
 protected:
  Status axpy(const Tensor& y, const Tensor& x, float a) {
    const std::int64_t n = y.size();
    const KernelArgument arguments[] = {y, x, a, n};
    return launch(runtime_, {.kernel = "test_axpy",
                             .grid = {static_cast<std::uint32_t>((n + 255) / 256)},
                             .block = {256},
                             .arguments = arguments});
  }
  Tensor ones(std::int64_t n) {
    return tensor_of(runtime_, {n}, DType::F32, std::vector<float>(static_cast<std::size_t>(n), 1));
  }
};

TEST_P(CudaOverlay, CubinFatbinAndPtxFromMemoryAndFilesRun) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("girih_overlay_" + std::to_string(runtime_.id()));
  std::filesystem::create_directory(folder);
  for (const auto& [image, file] : {std::pair{cubin_image(), "kernels.cubin"},
                                    {fatbin_image(), "kernels.fatbin"},
                                    {ptx_image(), "kernels.ptx"}}) {
    const std::filesystem::path path = folder / file;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(image.data()),
               static_cast<std::streamsize>(image.size()));
    for (const bool from_file : {false, true}) {
      runtime_ = open(GetParam());
      const std::vector<std::string> names =
          must(add_kernels(runtime_, from_file ? KernelImage{.path = path} : KernelImage{image}));
      EXPECT_EQ(names.size(), 4U);
      const Tensor x = ones(1000), y = ones(1000);
      must(axpy(y, x, 0.5F));
      EXPECT_EQ(floats_of(runtime_, y), std::vector<float>(1000, 1.5F)) << file;
    }
  }
  std::filesystem::remove_all(folder);
}

TEST_P(CudaOverlay, ExtentsSharedMemoryAndClustersArrive) {
  must(add_kernels(runtime_, {cubin_image()}));
  const Tensor y = must(runtime_.tensor({4 * 3 * 2}, DType::I32));
  const std::int32_t last = 40'000;
  const KernelArgument arguments[] = {y, last};
  const KernelDesc desc{.kernel = "test_extents",
                        .grid = {4, 3, 2},
                        .block = {8, 4, 2},
                        .cluster = {2, 1, 2},
                        .shared_bytes = 4 * (last + 1),
                        .arguments = arguments};
  const auto expect_numbers = [&] {
    std::vector<std::int32_t> numbers(24);
    must(runtime_.download(y, std::span(numbers)));
    for (std::int32_t i = 0; i < 24; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i);
    must(fill(runtime_, {.destination = y, .value = -1}));
  };
  must(launch(runtime_, desc));
  expect_numbers();
  Graph graph = must(capture(runtime_, [&] { return launch(runtime_, desc); }));
  must(graph.replay());
  expect_numbers();
  must(launch(runtime_, {.kernel = "test_nothing"}));
  must(runtime_.synchronize());
}

TEST_P(CudaOverlay, LaunchesAreNodesOfAGraphBetweenOurs) {
  must(add_kernels(runtime_, {cubin_image()}));
  const Tensor a = random_tensor(runtime_, {96, 512}, DType::BF16, 1);
  const Tensor b = random_tensor(runtime_, {512, 64}, DType::BF16, 2);
  const Tensor c = must(runtime_.tensor({96, 64}, DType::F32));
  const Tensor sum = must(runtime_.tensor({96, 64}, DType::F32));
  const auto step = [&](const Tensor& x) -> Status {
    must(gemm(runtime_, {.a = a, .b = b, .c = c}));
    must(axpy(sum, c, 2.0F));
    if (const Status more = axpy(sum, x, 1.0F); !more) return more;
    must(gemm(runtime_, {.a = a, .b = b, .c = c, .beta = 1.0F}));
    return axpy(sum, c, 1.0F);
  };
  const Tensor eager = ones(96 * 64);
  must(step(eager));
  const std::vector<std::byte> want = testing::bytes_of(runtime_, sum);
  std::optional<Graph> graph;
  {
    const Tensor held = ones(96 * 64);  // the graph keeps what a launch binds
    graph = must(capture(runtime_, [&] { return step(held); }));
  }
  EXPECT_EQ(graph->size(), 5U);
  for (int i = 0; i < 3; ++i) {
    const Tensor squatter = must(runtime_.tensor({96 * 64}, DType::F32));
    must(fill(runtime_, {.destination = squatter, .value = 1e30}));
    must(fill(runtime_, {.destination = sum, .value = 0}));
    must(graph->replay());
    EXPECT_EQ(testing::bytes_of(runtime_, sum), want);
  }
}

TEST_P(CudaOverlay, NamesMustNotCollide) {
  must(add_kernels(runtime_, {cubin_image()}));
  EXPECT_TRUE(refused(add_kernels(runtime_, {cubin_image()}), Code::InvalidOption, "taken"));
  EXPECT_TRUE(refused(add_kernels(runtime_, {ptx_image()}), Code::InvalidOption, "test_"));
  // Nothing of a refused image is added: the names that were free still are.
  const std::string mixed = ptx("fresh") + ".visible .entry test_axpy() { ret; }\n";
  EXPECT_TRUE(refused(add_kernels(runtime_, {bytes_of(mixed)}), Code::InvalidOption, "test_axpy"));
  EXPECT_TRUE(refused(launch(runtime_, {.kernel = "fresh"}), Code::InvalidOption, "fresh"));
  EXPECT_TRUE(succeeded(add_kernels(runtime_, {bytes_of(ptx("fresh"))})));
  const std::string ours = ptx(std::string(cuda::kernel_table().front().name));
  EXPECT_TRUE(refused(add_kernels(runtime_, {bytes_of(ours)}), Code::InvalidOption, "of girih"));
  EXPECT_TRUE(succeeded(runtime_.health()));
  Runtime other = open(GetParam());  // another runtime knows nothing of it
  EXPECT_TRUE(succeeded(add_kernels(other, {cubin_image()})));
}

TEST_P(CudaOverlay, WhatIsNoDeviceCodeIsRefusedInTheDriversWords) {
  const auto refuses = [&](std::string_view text, Code code, const char* word) {
    EXPECT_TRUE(refused(add_kernels(runtime_, {bytes_of(text)}), code, word)) << text;
    EXPECT_TRUE(succeeded(runtime_.health()));
  };
  refuses("not a cubin", Code::FileFormat, "no cubin");
  refuses(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f() { nonsense; }\n",
          Code::FileFormat, "add_kernels");
  const std::span<const std::byte> whole = cubin_image();
  EXPECT_TRUE(
      refused(add_kernels(runtime_, {whole.first(whole.size() / 2)}), Code::FileFormat, "cut off"));
  EXPECT_TRUE(
      refused(add_kernels(runtime_, {.path = "/nowhere/x.cubin"}), Code::FileNotFound, "nowhere"));
  EXPECT_TRUE(refused(add_kernels(runtime_, {}), Code::InvalidOption, "neither"));
  EXPECT_TRUE(succeeded(add_kernels(runtime_, {cubin_image()})));
  must(launch(runtime_, {.kernel = "test_nothing"}));
  must(runtime_.synchronize());
}

TEST_P(CudaOverlay, LaunchesThatTheKernelCannotTakeAreRefused) {
  must(add_kernels(runtime_, {cubin_image()}));
  Runtime other = open(GetParam());
  const Tensor y = ones(8), foreign = must(other.tensor({8}, DType::F32));
  const std::int64_t n = 8;
  const KernelArgument good[] = {y, y, 1.0F, n}, narrow[] = {y, y, 1.0, n}, few[] = {y},
                       strange[] = {y, foreign, 1.0F, n}, empty[] = {y, Tensor(), 1.0F, n};
  const auto refuses = [&](const KernelDesc& desc, Code code, const char* word) {
    const std::uint64_t before = runtime_.dispatch_count();
    EXPECT_TRUE(refused(launch(runtime_, desc), code, word));
    EXPECT_EQ(runtime_.dispatch_count(), before);
  };
  refuses({.kernel = "absent"}, Code::InvalidOption, "absent");
  refuses({.kernel = "test_axpy", .arguments = few}, Code::InvalidOption, "takes 4");
  refuses({.kernel = "test_axpy", .arguments = narrow}, Code::InvalidOption, "argument 2");
  refuses({.kernel = "test_axpy", .arguments = strange}, Code::ForeignTensor, "argument 1");
  refuses({.kernel = "test_axpy", .arguments = empty}, Code::InvalidTensor, "argument 1");
  refuses({.kernel = "test_axpy", .grid = {0}, .arguments = good}, Code::InvalidOption, "grid");
  refuses({.kernel = "test_axpy", .grid = {1, 65536}, .arguments = good}, Code::InvalidOption,
          "grid");
  refuses({.kernel = "test_axpy", .block = {1025}, .arguments = good}, Code::InvalidOption,
          "block");
  refuses({.kernel = "test_axpy", .block = {32, 0}, .arguments = good}, Code::InvalidOption,
          "block");
  refuses({.kernel = "test_axpy", .grid = {3}, .cluster = {2}, .arguments = good},
          Code::InvalidOption, "cluster");
  refuses({.kernel = "test_axpy", .shared_bytes = 1U << 20, .arguments = good}, Code::InvalidOption,
          "shared");
  must(launch(runtime_, {.kernel = "test_axpy", .block = {32}, .arguments = good}));
  EXPECT_EQ(floats_of(runtime_, y), std::vector<float>(8, 2));
}

TEST_P(CudaOverlay, AKernelThatTrapsEndsTheChildsRuntimeAndNotOurs) {
  EXPECT_EQ(run_alone("Gpu/CudaOverlay.DISABLED_ATrapPoisons/cuda"), 0);
  expect_passes(runtime_, {.m = 64, .n = 64, .k = 64, .operands = DType::BF16},
                verify::Mode::Eager);
}

TEST_P(CudaOverlay, DISABLED_ATrapPoisons) {
  must(add_kernels(runtime_, {cubin_image()}));
  must(launch(runtime_, {.kernel = "test_trap"}));
  const Status fault = runtime_.synchronize();
  ASSERT_TRUE(refused(fault, Code::DeviceFailed, "cudaError"));
  EXPECT_EQ(fault.error().kind(), ErrorKind::Failed);
  EXPECT_TRUE(
      refused(launch(runtime_, {.kernel = "test_nothing"}), Code::RuntimePoisoned, "cudaError"));
}

GIRIH_FOR_EVERY_GPU(CudaOverlay);

}  // namespace
}  // namespace girih::testing
