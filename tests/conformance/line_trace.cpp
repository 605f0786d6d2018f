#include <array>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "ops/call_line.hpp"
#include "support/backends.hpp"
#include "support/gemm.hpp"
#include "support/scoped_variable.hpp"

// GIRIH_TRACE=line as the calls of a runtime write it.

namespace girih::testing {
namespace {

class LineTracing : public ::testing::TestWithParam<Backend> {
 protected:
  ~LineTracing() override { std::filesystem::remove(path_); }

  std::vector<CallLine> lines() const {
    std::ifstream file(path_);
    std::vector<CallLine> result;
    for (std::string line; std::getline(file, line);) result.push_back(must(parse_call_line(line)));
    return result;
  }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() /
      ("girih_lines_" + std::to_string(getpid()) + "_" + std::string(name(GetParam())));
  const ScopedVariable trace_{"GIRIH_TRACE", "line"};
  const ScopedVariable file_{"GIRIH_TRACE_FILE", path_.string()};
};

TEST_P(LineTracing, WritesOneLineACall) {
  Runtime runtime = open(GetParam());
  const Tensor a = must(runtime.tensor({8, 20}, DType::F32));
  const Tensor b = must(must(runtime.tensor({8, 21}, DType::F32)).slice(1, 1, 21)).transposed();
  const Tensor c = must(runtime.tensor({8, 8}, DType::F32));
  const Tensor one = must(runtime.tensor({1}, DType::F32));
  const GemmDesc desc{.a = a,
                      .b = b,
                      .c = c,
                      .alpha = one,
                      .beta = 0.25F,
                      .epilogue = {.activation = Activation::Silu, .residual = c}};
  must(gemm(runtime, desc));
  must(fill(runtime, {.destination = c, .value = -1.5}));
  EXPECT_FALSE(copy(runtime, {.source = a, .destination = c}));
  EXPECT_FALSE(cast(runtime, {.source = Tensor(), .destination = c}));
  Graph graph = must(capture(runtime, [&] { return gemm(runtime, desc); }));
  must(graph.replay());
  static_cast<void>(plan(runtime, desc));

  const std::vector<CallLine> got = lines();
  ASSERT_EQ(got.size(), 5U);
  EXPECT_EQ(got[0].op, Op::Gemm);
  EXPECT_EQ(got[0].backend, GetParam());
  EXPECT_EQ(got[0].b->shape, (Shape{20, 8}));
  EXPECT_EQ(got[0].b->strides, (Strides{1, 21}));
  EXPECT_EQ(got[0].b->alignment, 4);
  EXPECT_TRUE(got[0].alpha.on_device);
  EXPECT_EQ(got[0].beta.value, 0.25F);
  EXPECT_EQ(got[0].activation, Activation::Silu);
  EXPECT_TRUE(got[0].residual_is_c);
  EXPECT_EQ(got[0].kernel, must(plan(runtime, desc)).kernel);
  EXPECT_EQ(got[0].status, Code::Ok);
  EXPECT_GT(got[0].microseconds, 0);
  EXPECT_FALSE(got[0].captured);
  EXPECT_EQ(got[1].op, Op::Fill);
  EXPECT_EQ(got[1].value, -1.5);
  EXPECT_EQ(got[2].status, Code::InvalidShape);
  EXPECT_EQ(got[2].kernel, "");
  EXPECT_FALSE(got[3].source.has_value());
  EXPECT_TRUE(got[4].captured);
}

TEST_P(LineTracing, AGateIsWrittenWhole) {
  Runtime runtime = open(GetParam());
  const Gate gate{.activation = Activation::Silu,
                  .order = GateOrder::Interleaved,
                  .alpha = 1.702F,
                  .limit = 7,
                  .up_offset = 1};
  const GemmDesc desc{.a = must(runtime.tensor({4, 3}, DType::BF16)),
                      .b = must(runtime.tensor({3, 10}, DType::BF16)),
                      .c = must(runtime.tensor({4, 5}, DType::F32)),
                      .epilogue = {.gate = gate}};
  const Status status = gemm(runtime, desc);  // a backend may lack it: a refusal is traced too
  const std::vector<CallLine> got = lines();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].gate, gate);
  EXPECT_EQ(got[0].status, status ? Code::Ok : Code::GemmNoKernel);
}

TEST_P(LineTracing, GroupedProductsSayWhereTheirOffsetsLie) {
  Runtime runtime = open(GetParam());
  const GroupedGemmDesc desc{
      .a = must(runtime.tensor({8, 20}, DType::F32)),
      .b = must(runtime.tensor({3, 20, 5}, DType::F32)),
      .c = must(runtime.tensor({8, 5}, DType::F32)),
      .offsets = must(must(runtime.tensor({9}, DType::I32)).view({4}, {2}, 1))};
  static_cast<void>(grouped_gemm(runtime, desc));
  const std::vector<CallLine> got = lines();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].op, Op::GroupedGemm);
  EXPECT_EQ(got[0].b->shape, (Shape{3, 20, 5}));
  EXPECT_EQ(got[0].offsets->shape, Shape{4});
  EXPECT_EQ(got[0].offsets->strides, Strides{2});
  EXPECT_EQ(got[0].offsets->alignment, 4);
  EXPECT_EQ(got[0].status, GetParam() != Backend::Metal ? Code::Ok : Code::GemmNoKernel);
}

TEST_P(LineTracing, RoutingIsWrittenWhole) {
  Runtime runtime = open(GetParam());
  const Tensor chosen = must(runtime.tensor({6, 2}, DType::I32));
  const Tensor weights = must(runtime.tensor({6, 2}, DType::F32));
  const Tensor rows = must(runtime.tensor({6, 2}, DType::I32));
  const Tensor sources = must(runtime.tensor({12}, DType::I32));
  const Tensor x = must(runtime.tensor({6, 5}, DType::BF16));
  const Tensor sorted = must(runtime.tensor({12, 5}, DType::BF16));
  static_cast<void>(route(runtime, {.logits = must(runtime.tensor({6, 3}, DType::F16)),
                                    .chosen = chosen,
                                    .weights = weights,
                                    .offsets = must(runtime.tensor({4}, DType::I32)),
                                    .rows = rows,
                                    .sources = sources,
                                    .kind = RouterWeights::Sigmoid,
                                    .scale = 2.5F}));
  static_cast<void>(permute(runtime, {.x = x, .sources = sources, .y = sorted}));
  static_cast<void>(unpermute(runtime, {.x = sorted, .rows = rows, .y = x, .weights = weights}));
  const std::vector<CallLine> got = lines();
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].op, Op::Route);
  EXPECT_EQ(got[0].logits->shape, (Shape{6, 3}));
  EXPECT_EQ(got[0].chosen->shape, (Shape{6, 2}));
  EXPECT_EQ(got[0].weights->dtype, DType::F32);
  EXPECT_EQ(got[0].offsets->shape, Shape{4});
  EXPECT_EQ(got[0].rows->strides, (Strides{2, 1}));
  EXPECT_EQ(got[0].sources->shape, Shape{12});
  EXPECT_EQ(got[0].router_weights, RouterWeights::Sigmoid);
  EXPECT_EQ(got[0].scale, 2.5F);
  EXPECT_EQ(got[1].op, Op::Permute);
  EXPECT_EQ(got[1].x->shape, (Shape{6, 5}));
  EXPECT_EQ(got[1].sources->shape, Shape{12});
  EXPECT_EQ(got[1].y->shape, (Shape{12, 5}));
  EXPECT_EQ(got[2].op, Op::Unpermute);
  EXPECT_EQ(got[2].rows->shape, (Shape{6, 2}));
  EXPECT_EQ(got[2].weights->shape, (Shape{6, 2}));
  for (const CallLine& line : got) {
    EXPECT_EQ(line.status, GetParam() != Backend::Metal ? Code::Ok : Code::GemmNoKernel);
  }
}

TEST_P(LineTracing, WithoutItNothingIsWritten) {
  const ScopedVariable off("GIRIH_TRACE", "");
  Runtime runtime = open(GetParam());
  must(fill(runtime, {.destination = must(runtime.tensor({4}, DType::F32)), .value = 1}));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_P(LineTracing, RuntimesAppendToOneFile) {
  for (int i = 0; i < 2; ++i) {
    Runtime runtime = open(GetParam());
    must(fill(runtime, {.destination = must(runtime.tensor({4}, DType::F32)), .value = 1}));
  }
  std::ifstream file(path_);
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, 2);
}

TEST_P(LineTracing, AFileThatCannotBeOpenedIsAnErrorOfOpen) {
  const ScopedVariable nowhere("GIRIH_TRACE_FILE", "/nowhere/at/all");
  EXPECT_TRUE(refused(Runtime::open({.backend = GetParam()}), Code::InvalidOption, "/nowhere"));
}

TEST_P(LineTracing, AFullDeviceFailsNoCall) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const ScopedVariable full("GIRIH_TRACE_FILE", "/dev/full");
  Runtime runtime = open(GetParam());
  const Tensor x = must(runtime.tensor({4}, DType::F32));
  EXPECT_TRUE(succeeded(fill(runtime, {.destination = x, .value = 1})));
}

TEST_P(LineTracing, APipeThatNobodyReadsFailsNoCall) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const ScopedVariable closed("GIRIH_TRACE_FILE", "/dev/fd/" + std::to_string(ends[1]));
  Runtime runtime = open(GetParam());
  close(ends[0]);
  close(ends[1]);
  const Tensor x = must(runtime.tensor({4}, DType::F32));
  EXPECT_TRUE(succeeded(fill(runtime, {.destination = x, .value = 1})));
  sigset_t blocked, pending;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  sigpending(&pending);
  EXPECT_EQ(sigismember(&blocked, SIGPIPE), 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST_P(LineTracing, RefusedCallsReadBackToo) {
  Runtime runtime = open(GetParam());
  const Tensor x = must(runtime.tensor({4, 4}, DType::F32));
  const Tensor c = must(runtime.tensor({4, 4}, DType::F32));
  const Tensor bytes = must(must(runtime.tensor({640}, DType::U8)).view({10, 2}, {64, 3}, 1));
  EXPECT_FALSE(gemm(runtime, {.a = x,
                              .b = x,
                              .c = c,
                              .a_scale = Scale{x, static_cast<Granularity>(9)},
                              .epilogue = {.activation = static_cast<Activation>(77)},
                              .precision = static_cast<Precision>(200),
                              .path = static_cast<Path>(3),
                              .workspace = bytes}));
  EXPECT_FALSE(gemm(runtime, {.a = x, .b = x, .c = c, .workspace = Tensor()}));
  const std::vector<CallLine> got = lines();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(static_cast<int>(got[0].a_granularity), 9);
  EXPECT_EQ(static_cast<int>(got[0].activation), 77);
  EXPECT_EQ(static_cast<int>(got[0].precision), 200);
  EXPECT_EQ(static_cast<int>(got[0].path), 3);
  ASSERT_TRUE(got[0].workspace.has_value());
  EXPECT_EQ(got[0].workspace->strides, (Strides{64, 3}));
  EXPECT_EQ(got[1].status, Code::InvalidTensor);
}

GIRIH_FOR_ALL_BACKENDS(LineTracing);

}  // namespace
}  // namespace girih::testing
