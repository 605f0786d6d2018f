#include <atomic>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "backends/cpu/parallel.hpp"
#include "support/backends.hpp"
#include "support/gemm.hpp"
#include "support/sanitizers.hpp"

// Executors, overlapping calls, fork, and memory beyond 2^31 elements: what only a backend that
// computes on the host can be asked.

namespace girih::testing {
namespace {

/// An executor that a test controls.
class TestExecutor final : public Executor {
 public:
  using Loop = std::function<void(std::int64_t, Body, void*)>;

  explicit TestExecutor(int threads) : threads_(threads) {}
  [[nodiscard]] int concurrency() const noexcept override { return threads_; }
  void parallel_for(std::int64_t count, Body body, void* context) override {
    ++loops;
    if (loop) return loop(count, body, context);
    for (std::int64_t i = 0; i < count; ++i) body(context, i);
  }

  Loop loop;
  std::atomic<int> loops = 0;

 private:
  const int threads_;
};

class HostThreads : public ::testing::Test {
 protected:
  /// A product large enough to be spread over threads.
  std::vector<std::byte> large_product(Runtime& runtime) {
    const Tensor a = random_tensor(runtime, {300, 300}, DType::F32, 1);
    const Tensor b = random_tensor(runtime, {300, 300}, DType::F32, 2);
    return product(runtime, a, b, DType::F32);
  }

  std::shared_ptr<TestExecutor> executor_ = std::make_shared<TestExecutor>(4);
  Runtime runtime_ = open(Backend::Cpu, {.executor = executor_});
  Runtime plain_ = open(Backend::Cpu);
};

TEST_F(HostThreads, TheCallersExecutorRunsTheLoopsInAnyOrder) {
  const std::vector<std::byte> want = large_product(plain_);
  EXPECT_EQ(large_product(runtime_), want);
  EXPECT_GT(executor_->loops.load(), 0);
  executor_->loop = [](std::int64_t count, Executor::Body body, void* context) {
    for (std::int64_t i = count - 1; i >= 0; --i) body(context, i);
  };
  EXPECT_EQ(large_product(runtime_), want);
  executor_->loop = [](std::int64_t count, Executor::Body body, void* context) {
    std::vector<std::thread> threads;
    for (std::int64_t i = 0; i < count; ++i) threads.emplace_back([=] { body(context, i); });
    for (std::thread& thread : threads) thread.join();
  };
  EXPECT_EQ(large_product(runtime_), want);
}

TEST_F(HostThreads, AnExecutorWithoutALimitGetsTheKernelsOfTheMostThreads) {
  const auto kernel = [](int threads) {
    Runtime runtime = open(Backend::Cpu, {.executor = std::make_shared<TestExecutor>(threads)});
    const Tensor x = must(runtime.tensor({700, 700}, DType::F32));
    const Tensor c = must(runtime.tensor({700, 700}, DType::F32));
    return must(plan(runtime, {.a = x, .b = x, .c = c})).kernel;
  };
  EXPECT_EQ(kernel(std::numeric_limits<int>::max()), kernel(kMaxThreads));
  EXPECT_EQ(kernel(kMaxThreads), kernel(4));
}

TEST_F(HostThreads, AnOverlappingCallIsBusyAndChangesNothing) {
  const Tensor x = must(runtime_.tensor({64}, DType::F32));
  std::vector<Code> codes;
  const auto intrude = [&] {
    const auto note = [&](const auto& result) {
      codes.push_back(result ? Code::Ok : result.error().code);
    };
    note(fill(runtime_, {.destination = x, .value = 9}));
    note(runtime_.tensor({4}, DType::F32));
    note(runtime_.synchronize());
    note(runtime_.submit());
    note(runtime_.trim());
    note(plan(runtime_, FillDesc{.destination = x, .value = 9}));
    note(capture(runtime_, [] { return Status(); }));
    std::vector<float> host(64);
    note(runtime_.download(x, std::span(host)));
  };
  executor_->loop = [&](std::int64_t count, Executor::Body body, void* context) {
    if (codes.empty()) std::thread(intrude).join();
    for (std::int64_t i = 0; i < count; ++i) body(context, i);
  };
  EXPECT_EQ(large_product(runtime_), large_product(plain_));
  EXPECT_EQ(codes, std::vector<Code>(8, Code::RuntimeBusy));
  EXPECT_EQ(floats_of(runtime_, x), std::vector<float>(64, 0.0F));
  EXPECT_TRUE(succeeded(runtime_.health()));
}

struct BadLoop {
  const char* name;
  TestExecutor::Loop loop;
};

class BrokenExecutor : public ::testing::TestWithParam<BadLoop> {};

TEST_P(BrokenExecutor, PoisonsTheRuntime) {
  const auto executor = std::make_shared<TestExecutor>(4);
  Runtime runtime = open(Backend::Cpu, {.executor = executor});
  const Tensor a = random_tensor(runtime, {300, 300}, DType::F32, 1);
  const Tensor c = must(runtime.tensor({300, 300}, DType::F32));
  const GemmDesc desc{.a = a, .b = a, .c = c};
  must(gemm(runtime, desc));
  Graph graph = must(capture(runtime, [&] { return gemm(runtime, desc); }));
  const std::uint64_t dispatches = runtime.dispatch_count();
  executor->loop = GetParam().loop;
  const Status failed = gemm(runtime, desc);
  EXPECT_TRUE(refused(failed, Code::ExecutorFailed, "executor"));
  EXPECT_EQ(failed.error().kind(), ErrorKind::Failed);
  executor->loop = nullptr;
  EXPECT_TRUE(refused(runtime.health(), Code::RuntimePoisoned, failed.error().message));
  EXPECT_TRUE(refused(gemm(runtime, desc), Code::RuntimePoisoned, "executor"));
  EXPECT_TRUE(refused(graph.replay(), Code::RuntimePoisoned, "executor"));
  EXPECT_TRUE(refused(runtime.tensor({4}, DType::F32), Code::RuntimePoisoned, ""));
  EXPECT_TRUE(refused(runtime.synchronize(), Code::RuntimePoisoned, ""));
  EXPECT_EQ(runtime.dispatch_count(), dispatches);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, BrokenExecutor,
    ::testing::Values(BadLoop{"Throws", [](std::int64_t, Executor::Body,
                                           void*) { throw std::runtime_error("x"); }},
                      BadLoop{"ThrowsHalfWay",
                              [](std::int64_t, Executor::Body body, void* context) {
                                body(context, 0);
                                throw 7;
                              }},
                      BadLoop{"DropsAll", [](std::int64_t, Executor::Body, void*) {}},
                      BadLoop{"DropsOne",
                              [](std::int64_t count, Executor::Body body, void* context) {
                                for (std::int64_t i = 1; i < count; ++i) body(context, i);
                              }},
                      BadLoop{"RepeatsOne",
                              [](std::int64_t count, Executor::Body body, void* context) {
                                for (std::int64_t i = 0; i < count; ++i) body(context, i);
                                body(context, 0);
                              }},
                      BadLoop{"RepeatsOneForAnother",
                              [](std::int64_t count, Executor::Body body, void* context) {
                                for (std::int64_t i = 1; i < count; ++i) body(context, i);
                                body(context, count - 1);
                              }}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(EarlyExecutor, IsNoticedAndItsBodiesAreWaitedFor) {
  for (const bool throws : {false, true}) {
    TestExecutor executor(2);
    std::atomic<bool> begun = false, left = false, finished = false;
    std::thread straggler;
    executor.loop = [&](std::int64_t, Executor::Body body, void* context) {
      straggler = std::thread([body, context] { body(context, 0); });
      while (!begun) std::this_thread::yield();
      body(context, 1);
      left = true;
      if (throws) throw 7;
    };
    const auto run = [&]() -> Status {
      try {
        return cpu::parallel_tasks(executor, 2, 2, [&](std::int64_t, std::int64_t) {
          if (begun.exchange(true)) return;
          while (!left) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
          finished = true;
        });
      } catch (int) {
        return error(Code::ExecutorFailed, "threw");
      }
    };
    EXPECT_TRUE(refused(run(), Code::ExecutorFailed, throws ? "threw" : "returned before"));
    EXPECT_TRUE(finished);
    straggler.join();
  }
}

#if !GIRIH_TEST_TSAN
TEST_F(HostThreads, AChildAfterForkMultiplies) {
  Runtime runtime = open(Backend::Cpu, {.threads = 3});
  const std::vector<std::byte> want = large_product(runtime);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // a hang is a failure, not a hung suite
    bool right = large_product(runtime) == want;
    Runtime fresh = open(Backend::Cpu, {.threads = 2});
    right = right && large_product(fresh) == want;
    _exit(right ? 0 : 1);
  }
  EXPECT_EQ(large_product(runtime), want);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

#if !GIRIH_TEST_TSAN
TEST_F(HostThreads, AChildAfterForkMultipliesOnTheCallersExecutor) {
  executor_->loop = [](std::int64_t count, Executor::Body body, void* context) {
    std::vector<std::thread> threads;
    for (std::int64_t i = 0; i < count; ++i) threads.emplace_back([=] { body(context, i); });
    for (std::thread& thread : threads) thread.join();
  };
  const std::vector<std::byte> want = large_product(runtime_);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    const int loops = executor_->loops;
    const bool right = large_product(runtime_) == want && executor_->loops > loops;
    _exit(right ? 0 : 1);
  }
  EXPECT_EQ(large_product(runtime_), want);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

#if !GIRIH_TEST_ASAN && !GIRIH_TEST_TSAN
/// Address space that takes memory only where it is touched.
class HugeMemory : public HostThreads {
 protected:
  static constexpr std::size_t kBytes = std::size_t{40} << 30;

  void SetUp() override {
    memory_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) GTEST_SKIP() << "no address space of 40 GiB";
  }
  void TearDown() override {
    if (memory_ != MAP_FAILED) munmap(memory_, kBytes);
  }

  /// A view with these strides, `offset` elements into the memory.
  Tensor view(const Shape& shape, DType dtype, const Strides& strides, std::int64_t offset = 0) {
    const Tensor all = must(plain_.wrap({.handle = memory_, .bytes = kBytes}, {1}, dtype));
    return must(all.view(shape, strides, offset));
  }
  Tensor moved(const Tensor& x, const Strides& strides, std::int64_t offset = 0) {
    const Tensor far = view(x.shape(), x.dtype(), strides, offset);
    must(copy(plain_, {.source = x, .destination = far}));
    return far;
  }

  void* memory_ = MAP_FAILED;
};

constexpr std::int64_t kFar = (std::int64_t{1} << 31) + 4096;

TEST_F(HugeMemory, RowsOfEveryOperandBeyond31Bits) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::I8}) {
    const Tensor a = random_tensor(plain_, {3, 40}, dtype, 1);
    const Tensor b = random_tensor(plain_, {40, 5}, dtype, 2);
    const std::vector<std::byte> want = product(plain_, a, b, DType::F32);
    const Tensor far_a = moved(a, {kFar, 1});
    EXPECT_EQ(product(plain_, far_a, b, DType::F32), want) << name(dtype);
    const Tensor far_b = moved(b, {1, kFar / 2}, 64);  // columns 2^30 apart: the last is past 2^32
    EXPECT_EQ(product(plain_, a, far_b, DType::F32), want) << name(dtype);
    const Tensor far_c = view({3, 5}, DType::F32, {kFar, 1}, 512);
    must(gemm(plain_, {.a = a, .b = b, .c = far_c}));
    EXPECT_EQ(bytes_of(plain_, far_c), want) << name(dtype);
  }
}

TEST_F(HugeMemory, BatchesBeyond31Bits) {
  const Tensor a = random_tensor(plain_, {3, 7, 9}, DType::BF16, 1);
  const Tensor b = random_tensor(plain_, {3, 9, 11}, DType::BF16, 2);
  const std::vector<std::byte> want = product(plain_, a, b, DType::BF16);
  const Tensor far_a = moved(a, {kFar, 9, 1});
  const Tensor far_b = moved(b, {kFar, 11, 1}, 1024);
  const Tensor far_c = view({3, 7, 11}, DType::BF16, {kFar, 11, 1}, 2048);
  must(gemm(plain_, {.a = far_a, .b = far_b, .c = far_c}));
  EXPECT_EQ(bytes_of(plain_, far_c), want);
}

TEST_F(HugeMemory, TermsOfTheEpilogueBeyond31Bits) {
  const Tensor a = random_tensor(plain_, {3, 8}, DType::F32, 1);
  const Tensor b = random_tensor(plain_, {8, 4}, DType::F32, 2);
  const Tensor bias = random_tensor(plain_, {4}, DType::F32, 3);
  const Tensor residual = random_tensor(plain_, {3, 4}, DType::F32, 4);
  const Tensor scale = random_tensor(plain_, {3}, DType::F32, 5);
  const Tensor c = must(plain_.tensor({3, 4}, DType::F32));
  GemmDesc desc{.a = a,
                .b = b,
                .c = c,
                .a_scale = Scale{scale, Granularity::PerRow},
                .epilogue = {.bias = bias, .residual = residual}};
  must(gemm(plain_, desc));
  const std::vector<std::byte> want = bytes_of(plain_, c);
  desc.epilogue.bias = moved(bias, {kFar});
  desc.epilogue.residual = moved(residual, {kFar, 1}, 1024);
  desc.a_scale = Scale{moved(scale, {kFar}, 2048), Granularity::PerRow};
  must(gemm(plain_, desc));
  EXPECT_EQ(bytes_of(plain_, c), want);
}
#endif

}  // namespace
}  // namespace girih::testing
