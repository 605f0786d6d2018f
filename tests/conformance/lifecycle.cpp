#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <optional>
#include <thread>

#include "support/allocations.hpp"
#include "support/backends.hpp"
#include "support/gemm.hpp"
#include "support/sanitizers.hpp"

// Memory, lifetimes and threads over many calls.

namespace girih::testing {
namespace {

bool equal(const MemoryInfo& a, const MemoryInfo& b) {
  return a.hot == b.hot && a.cold == b.cold && a.cold_cached == b.cold_cached &&
         a.bump_capacity == b.bump_capacity && a.bump_used == b.bump_used &&
         a.bump_held == b.bump_held && a.scratch == b.scratch &&
         a.system_allocations == b.system_allocations;
}

class Lifecycle : public BackendTest {
 protected:
  /// Tensors whose elements all are `value`.
  Tensor filled(const Shape& shape, float value, Memory memory = Memory::Cold) {
    Tensor tensor = must(runtime_.tensor(shape, DType::F32, memory));
    must(fill(runtime_, {.destination = tensor, .value = static_cast<double>(value)}));
    return tensor;
  }
  void expect_all(const Tensor& tensor, float value) {
    EXPECT_EQ(floats_of(runtime_, tensor),
              std::vector<float>(static_cast<std::size_t>(tensor.size()), value));
  }
};

/// One of many kinds of step, chosen by a seed, over tensors that die at its end.
void mixed_step(Runtime& runtime, std::uint64_t step) {
  verify::Random random(99, step % 50);
  const std::int64_t m = random.integer(1, 40), n = random.integer(1, 40),
                     k = random.integer(1, 40);
  const Tensor a = must(runtime.tensor({m, k}, DType::F32));
  const Tensor b = must(runtime.tensor({n, k}, DType::F32)).transposed();
  const Tensor c = must(runtime.tensor({m, n}, DType::F32));
  switch (step % 8) {
    case 0:
    case 1:
      return must(gemm(runtime, {.a = a, .b = b, .c = c}));
    case 2:
      return must(gemm(
          runtime,
          {.a = a, .b = b, .c = c, .beta = 0.5F, .epilogue = {.activation = Activation::Silu}}));
    case 3:
      return must(fill(runtime, {.destination = a, .value = 2}));
    case 4: {
      const Tensor half = must(runtime.tensor({m, k}, DType::BF16));
      return must(cast(runtime, {.source = a, .destination = half}));
    }
    case 5: {
      const Tensor hot = must(runtime.tensor({k, m}, DType::F32, Memory::Hot));
      return must(copy(runtime, {.source = a.transposed(), .destination = hot}));
    }
    case 6: {
      EXPECT_FALSE(gemm(runtime, {.a = a, .b = c, .c = Tensor()}));  // a refusal in between
      Graph graph = must(capture(runtime, [&] { return gemm(runtime, {.a = a, .b = b, .c = c}); }));
      must(graph.replay());
      return must(graph.replay());
    }
    default: {
      std::vector<float> host(static_cast<std::size_t>(m * k), 1.0F);
      must(runtime.upload(a.transposed(), std::span<const float>(host)));
      must(runtime.download(a.transposed(), std::span(host)));
      return must(runtime.synchronize());
    }
  }
}

TEST_P(Lifecycle, TenThousandMixedCallsLeaveMemoryWhereItWas) {
  const auto steps = [&](std::uint64_t count) {
    for (std::uint64_t step = 0; step < count; ++step) mixed_step(runtime_, step);
  };
  steps(400);  // every kind and shape once
  const MemoryInfo before = runtime_.memory();
  const std::uint64_t dispatches = runtime_.dispatch_count();
  const auto count = static_cast<std::uint64_t>(repeats(GetParam(), 10'000));
  steps(count);
  const MemoryInfo after = runtime_.memory();
  EXPECT_EQ(after.hot, 0U);
  EXPECT_EQ(after.cold, 0U);
  EXPECT_EQ(after.cold, before.cold);
  EXPECT_EQ(after.scratch, before.scratch);
  EXPECT_EQ(after.cold_cached, before.cold_cached);
  EXPECT_GT(runtime_.dispatch_count(), dispatches + count * 8 / 10);
  // Hot memory always comes from the system; nothing else does once the shapes are known.
  const std::uint64_t hot_steps = count / 8;
  EXPECT_EQ(after.system_allocations - before.system_allocations, hot_steps);
}

TEST_P(Lifecycle, RepeatedCallsAllocateNothing) {
  const Tensor a = filled({130, 700}, 1), b = filled({700, 90}, 1), c = filled({130, 90}, 0);
  const Tensor half = must(runtime_.tensor({130, 700}, DType::BF16));
  const GemmDesc desc{.a = a, .b = b, .c = c, .epilogue = {.activation = Activation::Relu}};
  const GemmDesc halves{
      .a = half, .b = half.transposed(), .c = must(runtime_.tensor({130, 130}, DType::F32))};
  const CastDesc convert{.source = a, .destination = half};
  const FillDesc reset{.destination = c};
  Graph graph = must(capture(runtime_, [&]() -> Status {
    const Status first = gemm(runtime_, desc);
    return first ? cast(runtime_, convert) : first;
  }));
  const auto round = [&] {
    must(gemm(runtime_, desc));
    must(cast(runtime_, convert));
    must(gemm(runtime_, halves));
    must(fill(runtime_, reset));
    must(graph.replay());
    must(runtime_.wait(must(runtime_.submit())));
    must(runtime_.synchronize());
  };
  round();
  const MemoryInfo before = runtime_.memory();
  const std::uint64_t heap = heap_allocations();
  for (int i = 0; i < 50; ++i) round();
  EXPECT_EQ(heap_allocations(), heap);
  EXPECT_TRUE(equal(runtime_.memory(), before));
#if !GIRIH_TEST_ASAN && !GIRIH_TEST_TSAN
  ::operator delete(::operator new(4));  // the counter does count
  EXPECT_GT(heap_allocations(), heap);
#endif
}

TEST_P(Lifecycle, ColdMemoryIsRecycledAndZeroed) {
  { expect_all(filled({1000}, 7), 7); }
  const MemoryInfo idle = runtime_.memory();
  EXPECT_GT(idle.cold_cached, 0U);
  const Tensor again = must(runtime_.tensor({1000}, DType::F32));
  EXPECT_EQ(runtime_.memory().system_allocations, idle.system_allocations);
  EXPECT_LT(runtime_.memory().cold_cached, idle.cold_cached);
  expect_all(again, 0);
}

TEST_P(Lifecycle, ACacheOfNothingKeepsNothing) {
  Runtime runtime = open(GetParam(), {.cold_cache_bytes = 0});
  const std::uint64_t before = runtime.memory().system_allocations;
  for (int i = 0; i < 5; ++i) {
    must(runtime.tensor({1000}, DType::F32));
    EXPECT_EQ(runtime.memory().cold_cached, 0U);
    EXPECT_EQ(runtime.memory().cold, 0U);
  }
  EXPECT_EQ(runtime.memory().system_allocations, before + 5);
}

TEST_P(Lifecycle, TheCacheStaysUnderItsCapAndIsTrimmed) {
  constexpr std::uint64_t kCap = 1 << 20;
  Runtime runtime = open(GetParam(), {.cold_cache_bytes = kCap});
  for (int round = 0; round < 3; ++round) {
    std::vector<Tensor> live;
    for (int i = 0; i < 20; ++i) live.push_back(must(runtime.tensor({50'000}, DType::F32)));
    EXPECT_GE(runtime.memory().cold, 20U * 200'000);
    live.clear();
    EXPECT_LE(runtime.memory().cold_cached, kCap);
    EXPECT_GT(runtime.memory().cold_cached, 0U);
  }
  must(runtime.trim(300'000));
  EXPECT_LE(runtime.memory().cold_cached, 300'000U);
  must(runtime.trim());
  EXPECT_EQ(runtime.memory().cold_cached, 0U);
}

TEST_P(Lifecycle, HotMemoryGoesBackAtOnce) {
  const MemoryInfo before = runtime_.memory();
  {
    const Tensor hot = filled({1000}, 1, Memory::Hot);
    EXPECT_GE(runtime_.memory().hot, 4000U);
  }
  EXPECT_EQ(runtime_.memory().hot, 0U);
  EXPECT_EQ(runtime_.memory().cold_cached, before.cold_cached);
}

TEST_P(Lifecycle, BumpMemoryIsRewoundAndLiveViewsKeepTheirs) {
  must(runtime_.bump_reserve(4096));
  EXPECT_EQ(runtime_.memory().bump_capacity, 4096U);
  {
    const Tensor step = filled({500}, 3, Memory::Bump);
    EXPECT_GE(runtime_.memory().bump_used, 2000U);
    EXPECT_TRUE(
        refused(runtime_.tensor({600}, DType::F32, Memory::Bump), Code::OutOfMemory, "Bump"));
    expect_all(step, 3);
  }
  const std::uint64_t allocations = runtime_.memory().system_allocations;
  for (int step = 0; step < 100; ++step) {
    must(runtime_.bump_reset());
    expect_all(must(runtime_.tensor({900}, DType::F32, Memory::Bump)), 0);
  }
  EXPECT_EQ(runtime_.memory().system_allocations, allocations);

  must(runtime_.bump_reset());
  const Tensor live = filled({300}, 5, Memory::Bump);
  const Tensor view = must(live.slice(0, 10, 20));
  must(runtime_.bump_reset());  // `live` still holds its memory
  const Tensor next = filled({300}, 6, Memory::Bump);
  expect_all(live, 5);
  expect_all(view, 5);
  expect_all(next, 6);
  must(runtime_.bump_reserve(1 << 20));  // grows; nothing moves
  EXPECT_GE(runtime_.memory().bump_capacity, std::uint64_t{1} << 20);
  expect_all(live, 5);
  expect_all(next, 6);
  must(runtime_.bump_reserve(16));  // never shrinks
  EXPECT_GE(runtime_.memory().bump_capacity, std::uint64_t{1} << 20);
}

TEST_P(Lifecycle, HandlesMayBeDroppedOnOtherThreads) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> droppers;
  std::mutex mutex;
  std::vector<Tensor> handed_over;
  for (int t = 0; t < 2; ++t) {
    droppers.emplace_back([&] {
      while (!stop) {
        std::vector<Tensor> mine;
        {
          const std::lock_guard lock(mutex);
          mine.swap(handed_over);
        }
        mine.clear();
        std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    Tensor x =
        must(runtime_.tensor({1 + i % 97}, DType::F32, i % 5 == 0 ? Memory::Hot : Memory::Cold));
    if (i % 3 == 0) must(fill(runtime_, {.destination = x, .value = 1}));
    const std::lock_guard lock(mutex);
    handed_over.push_back(std::move(x));
  }
  stop = true;
  for (std::thread& dropper : droppers) dropper.join();
  handed_over.clear();
  EXPECT_EQ(runtime_.memory().cold, 0U);
  EXPECT_EQ(runtime_.memory().hot, 0U);
}

TEST_P(Lifecycle, TensorsAndGraphsOutliveTheirRuntime) {
  std::optional<Runtime> runtime = open(GetParam());
  Tensor tensor = must(runtime->tensor({100}, DType::F32));
  Tensor hot = must(runtime->tensor({100}, DType::F32, Memory::Hot));
  must(runtime->bump_reserve(1000));
  Tensor bump = must(runtime->tensor({10}, DType::F32, Memory::Bump));
  std::optional<Graph> graph =
      must(capture(*runtime, [&] { return fill(*runtime, {.destination = tensor, .value = 4}); }));
  runtime.reset();
  EXPECT_TRUE(succeeded(graph->replay()));
  EXPECT_EQ(must(tensor.slice(0, 1, 3)).size(), 2);
  graph.reset();
  tensor = hot = bump = Tensor();
}

GIRIH_FOR_ALL_BACKENDS(Lifecycle);

class Graphs : public BackendTest {};

TEST_P(Graphs, KeepWhatTheyBindAlive) {
  const Tensor c = must(runtime_.tensor({20, 30}, DType::F32));
  std::vector<std::byte> want;
  std::optional<Graph> graph;
  {
    const Tensor a = random_tensor(runtime_, {20, 40}, DType::F32, 1);
    const Tensor b = random_tensor(runtime_, {40, 30}, DType::F32, 2);
    const Tensor bias = random_tensor(runtime_, {30}, DType::F32, 3);
    const Tensor alpha = tensor_of(runtime_, {1}, DType::F32, std::vector<float>{0.5F});
    const auto call = [&] {
      return gemm(runtime_, {.a = a, .b = b, .c = c, .alpha = alpha, .epilogue = {.bias = bias}});
    };
    must(call());
    want = bytes_of(runtime_, c);
    graph = must(capture(runtime_, call));
  }
  std::vector<Tensor> squatters;  // would get the operands' memory if it were free
  for (const std::int64_t size : {800, 1200, 30, 1, 600}) {
    for (int i = 0; i < 4; ++i) {
      squatters.push_back(must(runtime_.tensor({size}, DType::F32)));
      must(fill(runtime_, {.destination = squatters.back(), .value = 1e30}));
    }
  }
  must(fill(runtime_, {.destination = c, .value = -1}));
  must(graph->replay());
  EXPECT_EQ(bytes_of(runtime_, c), want);
  const std::uint64_t held = runtime_.memory().cold;
  graph.reset();
  EXPECT_LT(runtime_.memory().cold, held);
}

TEST_P(Graphs, CountTheirOperationsAtEachReplay) {
  const Tensor x = must(runtime_.tensor({8}, DType::F32));
  Graph graph = must(capture(runtime_, [&]() -> Status {
    for (int i = 0; i < 3; ++i) must(fill(runtime_, {.destination = x, .value = i + 0.0}));
    return {};
  }));
  EXPECT_EQ(graph.size(), 3U);
  const std::uint64_t before = runtime_.dispatch_count();
  must(graph.replay());
  must(graph.replay());
  EXPECT_EQ(runtime_.dispatch_count(), before + 6);
  EXPECT_EQ(floats_of(runtime_, x), std::vector<float>(8, 2.0F));
}

TEST_P(Graphs, OperationsThatDoNothingAreNotRecorded) {
  const Tensor none = must(runtime_.tensor({0}, DType::F32));
  const Graph graph =
      must(capture(runtime_, [&] { return fill(runtime_, {.destination = none, .value = 1}); }));
  EXPECT_EQ(graph.size(), 0U);
}

TEST_P(Graphs, RunAChainInOrder) {
  // x <- x W, 64 times in one graph, against the same calls made eagerly.
  const Tensor w = random_tensor(runtime_, {16, 16}, DType::F32, 5);
  const auto chain = [&](const Tensor& x, const Tensor& y) -> Status {
    for (int i = 0; i < 32; ++i) {
      must(gemm(runtime_, {.a = x, .b = w, .c = y, .alpha = 0.5F}));
      must(gemm(runtime_, {.a = y, .b = w, .c = x, .alpha = 0.5F}));
    }
    return {};
  };
  const Tensor x = random_tensor(runtime_, {4, 16}, DType::F32, 6);
  const Tensor eager = random_tensor(runtime_, {4, 16}, DType::F32, 6);
  const Tensor y = must(runtime_.tensor({4, 16}, DType::F32));
  must(chain(eager, y));
  Graph graph = must(capture(runtime_, [&] { return chain(x, y); }));
  EXPECT_EQ(graph.size(), 64U);
  must(graph.replay());
  EXPECT_EQ(bytes_of(runtime_, x), bytes_of(runtime_, eager));
}

TEST_P(Graphs, TwoOfThemAlternatingDoNotShareScratch) {
  const Tensor a = random_tensor(runtime_, {37, 3000}, DType::F32, 1);
  const Tensor b = random_tensor(runtime_, {3000, 50}, DType::F32, 2);
  const Tensor c1 = must(runtime_.tensor({37, 50}, DType::F32));
  const Tensor c2 = must(runtime_.tensor({50, 50}, DType::F32));
  const GemmDesc small{.a = a, .b = b, .c = c1};
  const GemmDesc other{.a = b.transposed(), .b = b, .c = c2};
  const std::vector<std::byte> want1 = product(runtime_, a, b, DType::F32);
  const std::vector<std::byte> want2 = product(runtime_, b.transposed(), b, DType::F32);
  Graph first = must(capture(runtime_, [&] { return gemm(runtime_, small); }));
  Graph second = must(capture(runtime_, [&] { return gemm(runtime_, other); }));
  const int count = repeats(GetParam(), 300);
  for (int i = 0; i < count; ++i) {
    must(first.replay());
    must(second.replay());
    if (i % (count / 6) == 0) {
      EXPECT_EQ(bytes_of(runtime_, c1), want1);
      EXPECT_EQ(bytes_of(runtime_, c2), want2);
    }
  }
  first = std::move(second);
  must(first.replay());
}

TEST_P(Graphs, ScratchThatACaptureOutgrewIsNotHandedOut) {
  // Rows that begin between two alignments are packed on every backend, where they are more
  // than 16.
  const Tensor padded = random_tensor(runtime_, {64, 2001}, DType::BF16, 1);
  const Tensor a = must(padded.slice(1, 1, 2001));
  const Tensor b = random_tensor(runtime_, {2000, 64}, DType::BF16, 2);
  const Tensor c = must(runtime_.tensor({64, 64}, DType::F32));
  const Tensor little = must(runtime_.tensor({20, 20}, DType::F32));
  const GemmDesc small{.a = must(must(a.slice(0, 0, 20)).slice(1, 0, 400)),
                       .b = must(must(b.slice(0, 0, 400)).slice(1, 0, 20)),
                       .c = little};
  const auto workspace = static_cast<std::int64_t>(must(plan(runtime_, small)).workspace_bytes);
  ASSERT_GT(workspace, 0);
  Graph graph = must(capture(runtime_, [&]() -> Status {
    must(gemm(runtime_, small));
    return gemm(runtime_, {.a = a, .b = b, .c = c});
  }));
  // Whatever the pool gives out now must not be the graph's older, smaller scratch.
  std::vector<Tensor> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(must(runtime_.tensor({workspace}, DType::I8)));
    must(fill(runtime_, {.destination = others.back(), .value = 7}));
  }
  must(graph.replay());
  const std::vector<std::byte> want(static_cast<std::size_t>(workspace), std::byte{7});
  for (const Tensor& other : others) EXPECT_EQ(bytes_of(runtime_, other), want);
}

TEST_P(Graphs, ScratchThatGrowsWithinACaptureStaysValid) {
  const Tensor a = random_tensor(runtime_, {40, 2000}, DType::F32, 1);
  const Tensor b = random_tensor(runtime_, {2000, 60}, DType::F32, 2);
  const Tensor little = must(runtime_.tensor({3, 4}, DType::F32));
  const Tensor large = must(runtime_.tensor({40, 60}, DType::F32));
  const Tensor slice_a = must(must(a.slice(0, 0, 3)).slice(1, 0, 5));
  const Tensor slice_b = must(must(b.slice(0, 0, 5)).slice(1, 0, 4));
  Graph graph = must(capture(runtime_, [&]() -> Status {
    must(gemm(runtime_, {.a = slice_a, .b = slice_b, .c = little}));
    return gemm(runtime_, {.a = a, .b = b, .c = large});
  }));
  must(graph.replay());
  EXPECT_EQ(bytes_of(runtime_, little), product(runtime_, slice_a, slice_b, DType::F32));
  EXPECT_EQ(bytes_of(runtime_, large), product(runtime_, a, b, DType::F32));
}

GIRIH_FOR_ALL_BACKENDS(Graphs);

}  // namespace
}  // namespace girih::testing
