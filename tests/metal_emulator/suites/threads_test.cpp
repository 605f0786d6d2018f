#include <array>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

#include "support/gemm.hpp"

// The thread contract, and graphs in flight, on the emulated device.

namespace girih::testing {
namespace {

using Floats = std::vector<float>;

Runtime open_metal() {
  return must(Runtime::open({.backend = Backend::Metal}));
}

/// Squares [[1, scale], [3, 4]], eagerly and as a graph.
bool squares(Runtime& runtime, float scale) {
  const Tensor a = tensor_of(runtime, {2, 2}, DType::F32, Floats{1, scale, 3, 4});
  const Tensor c = must(runtime.tensor({2, 2}, DType::F32));
  const Floats want = {1 + 3 * scale, 5 * scale, 15, 3 * scale + 16};
  const auto call = [&] { return gemm(runtime, {.a = a, .b = a, .c = c}); };
  must(call());
  if (floats_of(runtime, c) != want) return false;
  Graph graph = must(capture(runtime, call));
  must(fill(runtime, {.destination = c, .value = 0}));
  must(graph.replay());
  return floats_of(runtime, c) == want;
}

TEST(MetalThreads, RuntimesOnSeveralThreadsShareNothing) {
  std::array<int, 3> right{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < right.size(); ++t) {
      threads.emplace_back([&right, t] {
        Runtime runtime = open_metal();
        for (int i = 0; i < 10; ++i) right[t] += squares(runtime, float(t + 2)) ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(right, (std::array<int, 3>{10, 10, 10}));
}

TEST(MetalThreads, ARuntimeGoesFromThreadToThread) {
  std::optional<Runtime> runtime = open_metal();
  for (int i = 0; i < 4; ++i) {
    bool is_right = false;
    std::jthread([&] { is_right = squares(*runtime, 2); }).join();
    EXPECT_TRUE(is_right);
  }
  std::jthread([&] { runtime.reset(); }).join();
}

TEST(MetalThreads, TwoGraphsInFlightForTenThousandReplays) {
  Runtime runtime = open_metal();
  const Tensor x = must(runtime.tensor({4}, DType::F32)), y = must(runtime.tensor({4}, DType::F32));
  Graph ones = must(capture(runtime, [&] {
    must(fill(runtime, {.destination = x, .value = 1}));
    return copy(runtime, {.source = x, .destination = y});
  }));
  Graph twos =
      must(capture(runtime, [&] { return fill(runtime, {.destination = y, .value = 2}); }));
  const MemoryInfo before = runtime.memory();
  for (int i = 0; i < 5000; ++i) {
    must(ones.replay());
    if (i % 1000 == 7) {
      EXPECT_EQ(floats_of(runtime, y), Floats(4, 1));
    }
    static_cast<void>(must(runtime.submit()));  // each in a command buffer of its own
    must(twos.replay());
    static_cast<void>(must(runtime.submit()));
    if (i % 1000 == 8) {
      EXPECT_EQ(floats_of(runtime, y), Floats(4, 2));
    }
  }
  must(runtime.synchronize());
  EXPECT_EQ(floats_of(runtime, y), Floats(4, 2));
  EXPECT_EQ(runtime.memory().system_allocations, before.system_allocations);
}

}  // namespace
}  // namespace girih::testing
