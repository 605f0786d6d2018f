#include "cuda/device/gpu_test.hpp"
#include "support/allocations.hpp"

// After the first call of a kind, a call does nothing but launch.

namespace girih::testing {
namespace {

bool operator==(const cuda::Counters& x, const cuda::Counters& y) {
  return x.maps_encoded == y.maps_encoded && x.functions_loaded == y.functions_loaded &&
         x.allocations == y.allocations && x.synchronisations == y.synchronisations;
}

class CudaSteadyState : public BackendTest {
 protected:
  CudaSteadyState() {
    const auto half = [&](const Shape& shape, std::uint64_t seed) {
      return random_tensor(runtime_, shape, DType::BF16, seed);
    };
    const Tensor x = half({256, 512}, 1), w = half({512, 384}, 2), bias = half({384}, 3);
    const Tensor y = must(runtime_.tensor({256, 384}, DType::BF16));
    calls_.push_back({.a = x, .b = w, .c = y});
    calls_.push_back(
        {.a = x, .b = w, .c = y, .epilogue = {.bias = bias, .activation = Activation::GeluTanh}});
    // Rows of 511 elements: A is packed first.
    calls_.push_back(
        {.a = must(half({256, 511}, 4).slice(1, 0, 500)), .b = must(w.slice(0, 0, 500)), .c = y});
    calls_.push_back({.a = must(x.slice(0, 0, 3)), .b = w, .c = must(y.slice(0, 0, 3))});
    calls_.push_back(
        {.a = x, .b = w, .c = must(runtime_.tensor({384, 256}, DType::F32)).transposed()});
    calls_.push_back({.a = half({9, 40, 64}, 5),
                      .b = half({9, 64, 48}, 6),
                      .c = must(runtime_.tensor({9, 40, 48}, DType::F32))});
    // A gate in the epilogue, and in a kernel of its own.
    for (const DType output : {DType::BF16, DType::F32}) {
      calls_.push_back({.a = x,
                        .b = w,
                        .c = must(runtime_.tensor({256, 192}, output)),
                        .epilogue = {.gate = Gate{}}});
    }
    calls_.push_back(SplitProduct::make(runtime_, 64, 64, 7).desc());
    // f32: whole, in slices of K, and in bf16 parts.
    const auto single = [&](const Shape& shape, std::uint64_t seed) {
      return random_tensor(runtime_, shape, DType::F32, seed);
    };
    const Tensor z = must(runtime_.tensor({256, 384}, DType::F32));
    GemmDesc f32{.a = single({256, 512}, 8), .b = single({512, 384}, 9), .c = z};
    calls_.push_back(f32);
    f32.precision = Precision::Fast;
    f32.path = Path::Matrix;
    calls_.push_back(f32);
    calls_.push_back({.a = single({64, 20'000}, 10),
                      .b = single({20'000, 64}, 11),
                      .c = must(runtime_.tensor({64, 64}, DType::F32))});
  }

  void round() {
    for (const GemmDesc& call : calls_) must(gemm(runtime_, call));
  }

  std::vector<GemmDesc> calls_;
};

TEST_P(CudaSteadyState, NothingIsEncodedLoadedAllocatedOrWaitedFor) {
  // The first round grows the scratch, whose address is part of the second one's tensor maps.
  round();
  round();
  const cuda::Counters before = counters_of(runtime_);
  const std::uint64_t heap = heap_allocations();
  for (int i = 0; i < 50; ++i) round();
  const cuda::Counters after = counters_of(runtime_);
  EXPECT_EQ(after.maps_encoded, before.maps_encoded);
  EXPECT_EQ(after.functions_loaded, before.functions_loaded);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.synchronisations, before.synchronisations);
  EXPECT_EQ(heap_allocations(), heap);
  EXPECT_GT(before.maps_encoded, 0U);
  must(runtime_.synchronize());
}

TEST_P(CudaSteadyState, TheCountersCount) {
  round();
  const cuda::Counters before = counters_of(runtime_);
  const Tensor a = must(runtime_.tensor({64, 64}, DType::F16, Memory::Hot));
  const Tensor c = must(runtime_.tensor({64, 64}, DType::F32, Memory::Hot));
  must(gemm(runtime_, {.a = a, .b = a, .c = c}));
  must(runtime_.synchronize());
  const cuda::Counters after = counters_of(runtime_);
  EXPECT_EQ(after.maps_encoded, before.maps_encoded + 2);
  EXPECT_GT(after.functions_loaded, before.functions_loaded);
  EXPECT_GE(after.allocations, before.allocations + 2);
  EXPECT_EQ(after.synchronisations, before.synchronisations + 1);
}

TEST_P(CudaSteadyState, AReplayDoesNothingOnTheHostButLaunch) {
  Graph graph = must(capture(runtime_, [&]() -> Status {
    round();
    return {};
  }));
  must(graph.replay());
  const cuda::Counters before = counters_of(runtime_);
  const std::uint64_t heap = heap_allocations();
  for (int i = 0; i < 200; ++i) must(graph.replay());
  EXPECT_TRUE(counters_of(runtime_) == before);
  EXPECT_EQ(heap_allocations(), heap);
  must(runtime_.synchronize());
}

GIRIH_FOR_EVERY_GPU(CudaSteadyState);

class CudaGraphs : public BackendTest {};

TEST_P(CudaGraphs, TwoWithSplitProductsAlternateTenThousandTimes) {
  const SplitProduct first = SplitProduct::make(runtime_, 64, 64, 1);
  const SplitProduct second = SplitProduct::make(runtime_, 128, 96, 5);
  for (const SplitProduct* product : {&first, &second}) {
    const Plan choice = must(plan(runtime_, product->desc()));
    ASSERT_GT(choice.split_k, 1);
    ASSERT_GT(choice.workspace_bytes, 0U);
  }
  const auto eager = [&](const SplitProduct& x) {
    must(gemm(runtime_, x.desc()));
    return bytes_of(runtime_, x.c);
  };
  const std::vector<std::byte> want_first = eager(first), want_second = eager(second);
  Graph one = must(capture(runtime_, [&] { return gemm(runtime_, first.desc()); }));
  Graph two = must(capture(runtime_, [&] { return gemm(runtime_, second.desc()); }));
  must(fill(runtime_, {.destination = first.c, .value = -1}));
  must(fill(runtime_, {.destination = second.c, .value = -1}));
  for (int i = 0; i < 10'000; ++i) {
    must(one.replay());
    must(two.replay());
    if (i % 1000 != 999) continue;
    ASSERT_EQ(bytes_of(runtime_, first.c), want_first) << i;
    ASSERT_EQ(bytes_of(runtime_, second.c), want_second) << i;
    must(fill(runtime_, {.destination = first.c, .value = -1}));
    must(fill(runtime_, {.destination = second.c, .value = -1}));
  }
}

TEST_P(CudaGraphs, AChainOfMatrixKernelsEqualsEagerCalls) {
  // Neighbours that start before the last one has ended, with split products and packing between
  // them: every product reads what the one before it wrote.
  const Tensor w = random_tensor(runtime_, {512, 512}, DType::BF16, 1);
  const Tensor narrow = random_tensor(runtime_, {512, 511}, DType::BF16, 2);
  const Tensor start = random_tensor(runtime_, {96, 512}, DType::BF16, 3);
  const Tensor x = must(runtime_.tensor({96, 512}, DType::BF16));
  const Tensor y = must(runtime_.tensor({96, 512}, DType::BF16));
  const Tensor ragged = must(y.slice(1, 0, 511));
  const auto chain = [&]() -> Status {
    must(copy(runtime_, {.source = start, .destination = x}));
    for (int i = 0; i < 40; ++i) {
      must(gemm(runtime_, {.a = x, .b = w, .c = y, .alpha = 0.1F}));
      must(gemm(runtime_, {.a = x, .b = narrow, .c = ragged, .alpha = 0.05F, .beta = 1.0F}));
      must(gemm(runtime_, {.a = y, .b = w, .c = x, .alpha = 0.1F}));
    }
    return {};
  };
  must(chain());
  const std::vector<std::byte> want = bytes_of(runtime_, x);
  Graph graph = must(capture(runtime_, chain));
  for (int i = 0; i < 100; ++i) {
    must(fill(runtime_, {.destination = x, .value = 9}));
    must(fill(runtime_, {.destination = y, .value = 9}));
    must(graph.replay());
    ASSERT_EQ(bytes_of(runtime_, x), want) << "replay " << i;
  }
}

GIRIH_FOR_EVERY_GPU(CudaGraphs);

}  // namespace
}  // namespace girih::testing
