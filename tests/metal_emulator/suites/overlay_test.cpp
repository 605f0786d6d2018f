#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <span>

#include <girih/overlay.hpp>

#include "device/control.hpp"
#include "emulator/kernel.hpp"
#include "support/gemm.hpp"

// Kernels of a caller's in the backend's queue and graphs.

namespace girih::testing {
namespace {

using Floats = std::vector<float>;

struct Line {
  float slope, offset;
};

std::string text_of(const char* library) {
  return emulator::find_library_named(library)->text;
}
KernelImage image_of(const std::string& text) {
  return {.image = std::as_bytes(std::span(text)), .path = {}};
}

class MetalOverlay : public ::testing::Test {
 protected:
  Status run_line(const Tensor& x, const Tensor& y, Line line, std::uint32_t threads = 32) {
    const std::vector<KernelArgument> arguments = {x, y, line, std::uint32_t(x.size())};
    return launch(runtime_, {.kernel = "along_line",
                             .grid = {.x = 2},
                             .block = {.x = threads},
                             .arguments = arguments});
  }
  void add() { must(add_kernels(runtime_, image_of(text_))); }

  const std::string text_ = text_of("overlay");
  Runtime runtime_ = must(Runtime::open({.backend = Backend::Metal}));
  Tensor x_ = tensor_of(runtime_, {40}, DType::F32, Floats(40, 3));
  Tensor y_ = must(runtime_.tensor({40}, DType::F32));
};

TEST_F(MetalOverlay, TextFromMemoryAndFromAFileRuns) {
  EXPECT_EQ(must(add_kernels(runtime_, image_of(text_))),
            (std::vector<std::string>{"along_line", "write_places", "reverse_part"}));
  must(run_line(x_, y_, {2, 1}));
  EXPECT_EQ(floats_of(runtime_, y_), Floats(40, 7));
  EXPECT_EQ(runtime_.dispatch_count(), 1U);
  const auto path = std::filesystem::temp_directory_path() /
                    ("girih_overlay_" + std::to_string(runtime_.id()) + ".metal");
  std::ofstream(path) << text_;
  Runtime other = must(Runtime::open({.backend = Backend::Metal}));
  EXPECT_EQ(must(add_kernels(other, {.image = {}, .path = path.string()})).size(), 3U);
  std::filesystem::remove(path);
  EXPECT_TRUE(refused(add_kernels(other, {.image = {}, .path = path.string()}), Code::FileNotFound,
                      path.string()));
}

TEST_F(MetalOverlay, ExtentsOfThreeDimensionsArrive) {
  add();
  const Tensor out = must(runtime_.tensor({3, 4, 16}, DType::I32));
  const std::vector<KernelArgument> arguments = {out};
  must(launch(runtime_, {.kernel = "write_places",
                         .grid = {.x = 1, .y = 3},
                         .block = {.x = 16, .y = 4},
                         .arguments = arguments}));
  std::vector<std::int32_t> got(3 * 4 * 16);
  must(runtime_.download(out, std::span(got)));
  EXPECT_EQ(got[0], 0);
  EXPECT_EQ(got[2 * 64 + 3 * 16 + 15], 203);
}

TEST_F(MetalOverlay, LaunchesAreNodesOfAGraphBetweenOurs) {
  add();
  const Tensor z = must(runtime_.tensor({40}, DType::F32));
  Graph graph = must(capture(runtime_, [&]() -> Status {
    must(fill(runtime_, {.destination = x_, .value = 5}));
    must(run_line(x_, y_, {2, 0}));
    must(run_line(y_, x_, {1, -4}));
    return copy(runtime_, {.source = x_, .destination = z});
  }));
  for (int i = 0; i < 2; ++i) {
    must(fill(runtime_, {.destination = z, .value = 0}));
    must(graph.replay());
    EXPECT_EQ(floats_of(runtime_, z), Floats(40, 6));
  }
}

TEST_F(MetalOverlay, ThreadgroupMemoryIsAsLongAsTheLaunchAsks) {
  add();
  const Tensor out = must(runtime_.tensor({2, 33}, DType::I32));
  const std::vector<KernelArgument> arguments = {out};
  const auto reverse = [&](std::uint32_t threads, std::uint32_t bytes) {
    return launch(runtime_, {.kernel = "reverse_part",
                             .grid = {.x = 2},
                             .block = {.x = threads},
                             .shared_bytes = bytes,
                             .arguments = arguments});
  };
  must(reverse(33, 33 * 4));  // rounded up to 144 bytes
  Graph graph = must(capture(runtime_, [&] { return reverse(33, 33 * 4); }));
  for (int i = 0; i < 2; ++i) {
    std::vector<std::int32_t> got(66);
    must(runtime_.download(out, std::span(got)));
    EXPECT_EQ(got[0], 32);
    EXPECT_EQ(got[33 + 32], 0);
    must(fill(runtime_, {.destination = out, .value = 0}));
    must(graph.replay());
  }
  EXPECT_TRUE(succeeded(reverse(1, 32768)));
  EXPECT_TRUE(refused(reverse(1, 32769), Code::InvalidOption, "must be 1..32768"));
  EXPECT_TRUE(refused(reverse(1, 0), Code::InvalidOption, "must be 1..32768"));
  // None of it is left for the next kernel: 32 KiB would leave no room for a product's tiles.
  must(gemm(runtime_, {.a = must(x_.reshape({8, 5})),
                       .b = must(x_.reshape({5, 8})),
                       .c = must(runtime_.tensor({8, 8}, DType::F32))}));
  EXPECT_TRUE(succeeded(runtime_.synchronize()));
}

TEST_F(MetalOverlay, ThreadgroupMemoryOfAnotherIndexIsRefused) {
  EXPECT_TRUE(refused(add_kernels(runtime_, image_of(text_of("overlay_second"))),
                      Code::FileUnsupported, "threadgroup(1)"));
}

TEST_F(MetalOverlay, BuffersAreNumberedFromZeroWithoutAGapAndNotBeyond29) {
  EXPECT_TRUE(refused(add_kernels(runtime_, image_of(text_of("overlay_gap"))),
                      Code::FileUnsupported, "skips_one has no buffer 1, but a later one"));
  EXPECT_TRUE(refused(add_kernels(runtime_, image_of(text_of("overlay_many"))),
                      Code::FileUnsupported, "takes_last binds buffer 30, at most 29"));
}

TEST_F(MetalOverlay, TextDoesNotEndAtAZeroByte) {
  std::string text = text_;
  text += std::string("\0 broken {", 10);
  EXPECT_TRUE(refused(add_kernels(runtime_, image_of(text)), Code::FileFormat,
                      "byte " + std::to_string(text_.size()) + " of the text is 0"));
  EXPECT_TRUE(succeeded(add_kernels(runtime_, image_of(text_ + '\0'))));
}

TEST_F(MetalOverlay, TheCompilersTextComesBack) {
  constexpr const char* kMessage =
      "program_source:3:1: warning: unused\nprogram_source:9:5: error: use of undeclared 'y'\n"
      "  y = 3;\n  ^\n1 warning and 1 error";
  emulator::fail_library("overlay", kMessage);
  const auto added = add_kernels(runtime_, image_of(text_));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::FileFormat);
  EXPECT_EQ(added.error().message, std::string("add_kernels: ") + kMessage);
  emulator::fail_library("overlay", "");
  EXPECT_TRUE(
      refused(add_kernels(runtime_, image_of("kernel void f( {")), Code::FileFormat, "error: "));
  EXPECT_TRUE(refused(run_line(x_, y_, {1, 1}), Code::InvalidOption, "along_line"));
  EXPECT_TRUE(succeeded(runtime_.health()));
  add();
  EXPECT_TRUE(succeeded(run_line(x_, y_, {1, 1})));
}

TEST_F(MetalOverlay, NamesMustNotCollide) {
  add();
  EXPECT_TRUE(refused(add_kernels(runtime_, image_of(text_)), Code::InvalidOption, "added before"));
  EXPECT_TRUE(refused(add_kernels(runtime_, image_of(text_of("overlay_collision"))),
                      Code::InvalidOption, "metal_fill_any_1x512_simt' is taken"));
  EXPECT_TRUE(succeeded(run_line(x_, y_, {1, 1})));
}

TEST_F(MetalOverlay, LaunchesThatTheKernelCannotTakeAreRefused) {
  add();
  const std::uint32_t count = 40;
  constexpr const char* kName = "along_line";
  const auto try_launch = [&](std::vector<KernelArgument> arguments, KernelDesc desc) {
    desc.arguments = arguments;
    return launch(runtime_, desc);
  };
  const std::vector<KernelArgument> good = {x_, y_, Line{1, 1}, count};
  EXPECT_TRUE(
      refused(try_launch({x_, y_, Line{1, 1}}, {.kernel = kName}), Code::InvalidOption, "takes 4"));
  EXPECT_TRUE(refused(try_launch({x_, y_, 1.0F, count}, {.kernel = kName}), Code::InvalidOption,
                      "argument 2"));
  EXPECT_TRUE(refused(try_launch(good, {.kernel = kName, .block = {.x = 2048}}),
                      Code::InvalidOption, "threads"));
  EXPECT_TRUE(refused(try_launch(good, {.kernel = kName, .grid = {.x = 2}, .cluster = {.x = 2}}),
                      Code::InvalidOption, "clusters"));
  EXPECT_TRUE(refused(try_launch(good, {.kernel = kName, .shared_bytes = 16}), Code::InvalidOption,
                      "shared"));
  EXPECT_EQ(runtime_.dispatch_count(), 0U);
}

}  // namespace
}  // namespace girih::testing
