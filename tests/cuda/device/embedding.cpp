#include <atomic>
#include <chrono>
#include <cuda_runtime_api.h>
#include <optional>
#include <stdexcept>
#include <thread>

#include <girih/prepare.hpp>

#include "cuda/device/gpu_test.hpp"

// girih inside a program that has a stream, memory, events and captures of its own.

namespace girih::testing {
namespace {

void ok(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// A stream of the program around girih.
class CudaEmbedding : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    runtime_.emplace(must(Runtime::open({.backend = Backend::Cuda, .cuda = handles()})));
  }
  void TearDown() override {
    runtime_.reset();
    for (void* const block : blocks_) ok(cudaFree(block));
    ok(cudaStreamDestroy(stream_));
  }
  [[nodiscard]] CudaHandles handles() const { return {.stream = static_cast<void*>(stream_)}; }
  std::byte* device_memory(std::size_t bytes) {
    void* data = nullptr;
    ok(cudaMalloc(&data, bytes));
    blocks_.push_back(data);
    return static_cast<std::byte*>(data);
  }

  /// Everything that `body` launches, as a graph of the program's.
  template <class Body>
  cudaGraph_t capture_stream(const Body& body,
                             cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    cudaGraph_t graph = nullptr;
    ok(cudaStreamBeginCapture(stream_, mode));
    body();
    ok(cudaStreamEndCapture(stream_, &graph));
    return graph;
  }
  cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t result = nullptr;
    ok(cudaGraphInstantiate(&result, graph, 0));
    ok(cudaGraphDestroy(graph));
    return result;
  }

  cudaStream_t stream_ = nullptr;
  std::vector<void*> blocks_;
  std::optional<Runtime> runtime_;
};

TEST_P(CudaEmbedding, TheStreamIsTheQueue) {
  EXPECT_EQ(must(runtime_->native_handle(NativeObject::CudaStream)), static_cast<void*>(stream_));
  const Tensor x = must(runtime_->tensor({1000}, DType::F32));
  must(fill(*runtime_, {.destination = x, .value = 3}));
  std::vector<float> host(1000);
  ok(cudaMemcpyAsync(host.data(), must(runtime_->native_handle(x)).handle, 4000,
                     cudaMemcpyDeviceToHost, stream_));
  ok(cudaStreamSynchronize(stream_));
  EXPECT_EQ(host, std::vector<float>(1000, 3));
  for (const auto mode : {verify::Mode::Eager, verify::Mode::Captured, verify::Mode::Replayed}) {
    expect_passes(*runtime_, {.m = 65, .n = 130, .k = 200, .operands = DType::BF16}, mode);
  }
}

TEST_P(CudaEmbedding, HandlesThatDoNotBelongTogetherAreRefused) {
  const auto open_with = [](CudaHandles handles) {
    return Runtime::open({.backend = Backend::Cuda, .cuda = handles});
  };
  EXPECT_TRUE(refused(open_with({.context = nullptr}), Code::InvalidOption, "context is null"));
  EXPECT_TRUE(refused(open_with({.stream = static_cast<void*>(cudaStreamPerThread)}),
                      Code::InvalidOption, "per-thread"));
  EXPECT_TRUE(refused(open_with({.device = 99}), Code::BackendUnavailable, "99"));
  EXPECT_TRUE(refused(open_with({.device = -1}), Code::BackendUnavailable, "-1"));
  // The same context by name, and the default stream, are fine.
  void* const context = must(runtime_->native_handle(NativeObject::CudaContext));
  Runtime named = must(open_with({.context = context, .stream = static_cast<void*>(stream_)}));
  expect_passes(named, {.m = 8, .n = 8, .k = 8, .operands = DType::F16}, verify::Mode::Eager);
  Runtime on_default = must(open_with({.stream = nullptr}));
  expect_passes(on_default, {.m = 8, .n = 8, .k = 8, .operands = DType::F16},
                verify::Mode::Captured);
}

TEST_P(CudaEmbedding, TheCallersDeviceIsLeftCurrent) {
  ok(cudaSetDevice(0));
  const Tensor x = random_tensor(*runtime_, {64, 64}, DType::BF16, 1);
  product(*runtime_, x, x, DType::F32);
  int device = -1;
  ok(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
  std::thread([&] {  // a thread that never had a context
    const Tensor c = must(runtime_->tensor({64, 64}, DType::F32));
    must(gemm(*runtime_, {.a = x, .b = x, .c = c}));
    must(runtime_->synchronize());
  })
      .join();
}

TEST_P(CudaEmbedding, MemoryAtAnyOffsetIsUsedInPlace) {
  for (const DType dtype : {DType::BF16, DType::F16, DType::F32, DType::I8}) {
    const std::int64_t element = bit_width(dtype) / 8;
    const DType output = dtype == DType::I8 ? DType::I32 : dtype;
    const std::int64_t out_element = bit_width(output) / 8;
    const Tensor a = random_tensor(*runtime_, {67, 304}, dtype, 1);
    const Tensor b = random_tensor(*runtime_, {304, 48}, dtype, 2);
    const std::vector<std::byte> want = product(*runtime_, a, b, output);
    for (const std::int64_t offset : {0, 1, 2, 3, 5, 8}) {
      const auto wrapped = [&](const Tensor& x) {
        const std::vector<std::byte> bytes = bytes_of(*runtime_, x);
        const auto at = static_cast<std::size_t>(offset * element);
        std::byte* const data = device_memory(bytes.size() + at);
        // On the stream: others run beside it.
        ok(cudaMemcpyAsync(data + at, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream_));
        return must(runtime_->wrap({.handle = data, .bytes = bytes.size() + at, .byte_offset = at},
                                   x.shape(), dtype));
      };
      const auto at = static_cast<std::size_t>(offset * out_element);
      std::byte* const out = device_memory(want.size() + at + 64);
      ok(cudaMemsetAsync(out, 0x5A, want.size() + at + 64, stream_));
      const Tensor c = must(runtime_->wrap(
          {.handle = out, .bytes = want.size() + at, .byte_offset = at}, {67, 48}, output));
      must(gemm(*runtime_, {.a = wrapped(a), .b = wrapped(b), .c = c}));
      std::vector<std::byte> got(want.size() + at + 64);
      ok(cudaMemcpyAsync(got.data(), out, got.size(), cudaMemcpyDeviceToHost, stream_));
      ok(cudaStreamSynchronize(stream_));
      EXPECT_TRUE(std::equal(want.begin(), want.end(), got.begin() + static_cast<long>(at)))
          << name(dtype) << " at element " << offset;
      for (std::size_t i = 0; i < at; ++i) ASSERT_EQ(got[i], std::byte{0x5A});
      for (std::size_t i = want.size() + at; i < got.size(); ++i) {
        ASSERT_EQ(got[i], std::byte{0x5A});
      }
      EXPECT_EQ(must(runtime_->native_handle(c)).handle, out + at);
    }
  }
}

TEST_P(CudaEmbedding, MemoryThatTheDeviceCannotUseIsRefused) {
  std::vector<float> host(100);
  EXPECT_TRUE(refused(runtime_->wrap({.handle = host.data(), .bytes = 400}, {100}, DType::F32),
                      Code::Unwrappable, "not memory"));
  std::byte* const data = device_memory(400);
  EXPECT_TRUE(
      refused(runtime_->wrap({.handle = data, .bytes = std::uint64_t{1} << 45}, {100}, DType::F32),
              Code::Unwrappable, ""));
  EXPECT_TRUE(
      refused(runtime_->wrap({.handle = data, .bytes = 400, .byte_offset = 2}, {10}, DType::F32),
              Code::Unwrappable, "multiple"));
}

TEST_P(CudaEmbedding, DeletersRunOnceAfterTheLastUse) {
  std::atomic<int> deleted = 0;
  const auto wrap = [&] {
    return must(runtime_->wrap({.handle = device_memory(std::size_t{1} << 28),
                                .bytes = std::size_t{1} << 28,
                                .deleter = [&] { ++deleted; }},
                               {std::int64_t{1} << 26}, DType::F32));
  };
  Tensor x = wrap();
  for (int i = 0; i < 50; ++i) must(fill(*runtime_, {.destination = x, .value = 1}));
  x = Tensor();
  EXPECT_EQ(deleted.load(), 0);  // some milliseconds of work are left
  must(runtime_->synchronize());
  must(runtime_->submit());
  EXPECT_EQ(deleted.load(), 1);
  x = wrap();
  must(fill(*runtime_, {.destination = x, .value = 1}));
  runtime_.reset();
  x = Tensor();
  EXPECT_EQ(deleted.load(), 2);
}

TEST_P(CudaEmbedding, EventsOrderTheWork) {
  cudaStream_t other = nullptr;
  cudaEvent_t produced = nullptr, consumed = nullptr;
  ok(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  ok(cudaEventCreateWithFlags(&produced, cudaEventDisableTiming));
  ok(cudaEventCreateWithFlags(&consumed, cudaEventDisableTiming));
  const Tensor x = must(runtime_->tensor({1 << 24}, DType::F32, Memory::Hot));
  const Tensor y = must(runtime_->tensor({1 << 24}, DType::F32, Memory::Hot));
  must(runtime_->synchronize());
  std::vector<std::uint32_t> host(8);
  for (int round = 1; round <= 20; ++round) {
    ok(cudaMemsetAsync(must(runtime_->native_handle(x)).handle, round, std::size_t{1} << 26,
                       other));
    ok(cudaEventRecord(produced, other));
    must(runtime_->wait_for({.handle = produced}));
    must(copy(*runtime_, {.source = x, .destination = y}));
    must(runtime_->record({.handle = consumed}));
    ok(cudaStreamWaitEvent(other, consumed, 0));
    const auto* end = static_cast<std::byte*>(must(runtime_->native_handle(y)).handle) +
                      (std::size_t{1} << 26) - 32;
    ok(cudaMemcpyAsync(host.data(), end, 32, cudaMemcpyDeviceToHost, other));
    ok(cudaStreamSynchronize(other));
    ASSERT_EQ(host.back(), static_cast<std::uint32_t>(round) * 0x01010101U);
  }
  EXPECT_TRUE(refused(runtime_->record({}), Code::InvalidOption, "event"));
  EXPECT_TRUE(refused(runtime_->wait_for({}), Code::InvalidOption, "event"));
  EXPECT_TRUE(succeeded(runtime_->health()));
  ok(cudaEventDestroy(produced));
  ok(cudaEventDestroy(consumed));
  ok(cudaStreamDestroy(other));
}

TEST_P(CudaEmbedding, EveryLaunchIsLegalInTheCallersCapture) {
  for (const auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                          cudaStreamCaptureModeRelaxed}) {
    // Nothing was called before, so that the kernels are loaded inside the capture.
    runtime_.emplace(must(Runtime::open({.backend = Backend::Cuda, .cuda = handles()})));
    const SplitProduct split = SplitProduct::make(*runtime_, 64, 64, 1);
    const Tensor packed = random_tensor(*runtime_, {256, 511}, DType::BF16, 3);
    const Tensor w = random_tensor(*runtime_, {511, 96}, DType::BF16, 4);
    const Tensor y = must(runtime_->tensor({256, 96}, DType::BF16));
    const Tensor wide = must(runtime_->tensor({256, 96}, DType::F32));
    const auto calls = [&] {
      must(gemm(*runtime_, split.desc()));
      must(gemm(*runtime_, {.a = packed, .b = w, .c = y}));
      must(cast(*runtime_, {.source = y, .destination = wide}));
    };
    const cudaGraphExec_t graph = instantiate(capture_stream(calls, mode));
    EXPECT_EQ(runtime_->dispatch_count(), 3U);
    // Recorded, not run.
    must(runtime_->synchronize());
    EXPECT_EQ(floats_of(*runtime_, wide), std::vector<float>(256 * 96, 0));
    for (const std::uint64_t seed : {5U, 6U}) {  // changed contents
      must(copy(*runtime_, {.source = random_tensor(*runtime_, {256, 511}, DType::BF16, seed),
                            .destination = packed}));
      ok(cudaGraphLaunch(graph, stream_));
      ok(cudaStreamSynchronize(stream_));
      const std::vector<std::byte> got = bytes_of(*runtime_, wide);
      const std::vector<std::byte> got_split = bytes_of(*runtime_, split.c);
      calls();
      EXPECT_EQ(bytes_of(*runtime_, wide), got);
      EXPECT_EQ(bytes_of(*runtime_, split.c), got_split);
    }
    ok(cudaGraphExecDestroy(graph));
  }
}

TEST_P(CudaEmbedding, ACapturedGraphOwnsItsScratchAndWhatItBinds) {
  std::vector<std::byte> want;
  const Tensor c = must(runtime_->tensor({64, 64}, DType::F32));
  cudaGraphExec_t graph = nullptr;
  {
    const SplitProduct split = SplitProduct::make(*runtime_, 64, 64, 1);
    want = product(*runtime_, split.a, split.b, DType::F32);
    const cudaGraph_t captured =
        capture_stream([&] { must(gemm(*runtime_, {.a = split.a, .b = split.b, .c = c})); });
    graph = instantiate(captured);
  }
  EXPECT_GT(runtime_->memory().scratch, 0U);
  // Neither eager products nor new tensors get any of it.
  const SplitProduct other = SplitProduct::make(*runtime_, 64, 64, 9);
  std::vector<Tensor> squatters;
  for (int i = 0; i < 8; ++i) {
    squatters.push_back(must(runtime_->tensor({64, 16384}, DType::BF16)));
    must(fill(*runtime_, {.destination = squatters.back(), .value = 7}));
  }
  for (int i = 0; i < 100; ++i) {
    must(gemm(*runtime_, other.desc()));
    ok(cudaGraphLaunch(graph, stream_));
    must(gemm(*runtime_, other.desc()));
  }
  EXPECT_EQ(bytes_of(*runtime_, c), want);
  const std::uint64_t held = runtime_->memory().scratch;
  ok(cudaGraphExecDestroy(graph));
  for (int i = 0; i < 1000 && runtime_->memory().scratch == held; ++i) {
    must(runtime_->synchronize());  // CUDA lets go on a thread of its own
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LT(runtime_->memory().scratch, held);
}

TEST_P(CudaEmbedding, ACallersWorkspaceIsUsed) {
  const SplitProduct split = SplitProduct::make(*runtime_, 64, 64, 1);
  const auto bytes = static_cast<std::int64_t>(must(plan(*runtime_, split.desc())).workspace_bytes);
  ASSERT_GT(bytes, 0);
  const Tensor workspace = must(runtime_->tensor({bytes}, DType::I8));
  const std::uint64_t before = runtime_->memory().scratch;
  GemmDesc desc = split.desc();
  desc.workspace = workspace;
  const cudaGraphExec_t graph = instantiate(capture_stream([&] { must(gemm(*runtime_, desc)); }));
  ok(cudaGraphLaunch(graph, stream_));
  EXPECT_EQ(runtime_->memory().scratch, before);
  EXPECT_EQ(bytes_of(*runtime_, split.c), product(*runtime_, split.a, split.b, DType::F32));
  ok(cudaGraphExecDestroy(graph));
}

TEST_P(CudaEmbedding, WhatACaptureCannotHoldIsRefusedAndTheCaptureGoesOn) {
  const Tensor x = must(runtime_->tensor({64}, DType::F32));
  const Event earlier = must(runtime_->submit());
  must(runtime_->wait(earlier));
  Graph own = must(capture(*runtime_, [&] { return fill(*runtime_, {.destination = x}); }));
  std::vector<float> host(64);
  const cudaGraphExec_t graph = instantiate(capture_stream([&] {
    EXPECT_TRUE(refused(runtime_->synchronize(), Code::CaptureMisuse, "submit"));
    EXPECT_TRUE(refused(runtime_->submit(), Code::CaptureMisuse, "submit"));
    EXPECT_TRUE(refused(runtime_->download(x, std::span(host)), Code::CaptureMisuse, "download"));
    EXPECT_TRUE(
        refused(runtime_->upload(x, std::span<const float>(host)), Code::CaptureMisuse, "upload"));
    EXPECT_TRUE(refused(runtime_->tensor({64}, DType::F32), Code::CaptureMisuse, "tensor"));
    EXPECT_TRUE(refused(own.replay(), Code::CaptureMisuse, "replay"));
    EXPECT_TRUE(must(runtime_->completed(earlier)));  // of before: may be asked for
    must(fill(*runtime_, {.destination = x, .value = 4}));
  }));
  EXPECT_TRUE(succeeded(runtime_->health()));
  ok(cudaGraphLaunch(graph, stream_));
  EXPECT_EQ(floats_of(*runtime_, x), std::vector<float>(64, 4));
  ok(cudaGraphExecDestroy(graph));
}

TEST_P(CudaEmbedding, ACaptureThatSomebodyElseEndsIsMisuseAndNoFault) {
  const Tensor x = must(runtime_->tensor({64}, DType::F32));
  ok(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess);  // ends every capture of the process
  (void)cudaGetLastError();
  EXPECT_TRUE(refused(fill(*runtime_, {.destination = x, .value = 1}), Code::CaptureMisuse, ""));
  cudaGraph_t graph = nullptr;
  EXPECT_NE(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  (void)cudaGetLastError();
  EXPECT_TRUE(succeeded(runtime_->health()));
  must(fill(*runtime_, {.destination = x, .value = 2}));
  EXPECT_EQ(floats_of(*runtime_, x), std::vector<float>(64, 2));
}

TEST_P(CudaEmbedding, OurOwnCapturesDoNotMindAForeignRuntimeInside) {
  const Tensor x = must(runtime_->tensor({64}, DType::F32));
  Runtime other = open(Backend::Cuda);
  Graph graph = must(capture(*runtime_, [&]() -> Status {
    ok(cudaDeviceSynchronize());
    void* data = nullptr;
    ok(cudaMalloc(&data, 1024));
    ok(cudaFree(data));
    expect_passes(other, {.m = 20, .n = 30, .k = 40, .operands = DType::BF16},
                  verify::Mode::Replayed);
    return fill(*runtime_, {.destination = x, .value = 5});
  }));
  must(graph.replay());
  EXPECT_EQ(floats_of(*runtime_, x), std::vector<float>(64, 5));
}

/// Whatever a runtime may do, from its birth to its death.
void whole_life(std::uint64_t seed) {
  Runtime runtime = open(Backend::Cuda);
  const SplitProduct split = SplitProduct::make(runtime, 64, 64, seed);
  must(prepare(runtime, std::vector<OpDesc>{split.desc()}));
  must(gemm(runtime, split.desc()));
  const Event event = must(runtime.submit());
  while (!must(runtime.completed(event))) std::this_thread::yield();
  Graph graph = must(capture(runtime, [&] { return gemm(runtime, split.desc()); }));
  must(graph.replay());
  must(runtime.synchronize());
  must(runtime.trim());
}

TEST_P(CudaEmbedding, ACaptureOnAnotherThreadIsNotDisturbed) {
  const Tensor x = must(runtime_->tensor({64}, DType::F32));
  for (int round = 0; round < 3; ++round) {
    const cudaGraphExec_t graph = instantiate(capture_stream([&] {
      std::thread([&] { EXPECT_NO_THROW(whole_life(11)); }).join();
      must(fill(*runtime_, {.destination = x, .value = round + 1.0}));
      std::thread([&] { EXPECT_NO_THROW(whole_life(12)); }).join();
    }));
    ok(cudaGraphLaunch(graph, stream_));
    EXPECT_EQ(floats_of(*runtime_, x), std::vector<float>(64, static_cast<float>(round + 1)));
    ok(cudaGraphExecDestroy(graph));
  }
}

TEST_P(CudaEmbedding, WorkOnAnotherThreadDoesNotDisturbACapture) {
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) EXPECT_NO_THROW(whole_life(13));
  });
  const SplitProduct split = SplitProduct::make(*runtime_, 64, 64, 1);
  const std::vector<std::byte> want = product(*runtime_, split.a, split.b, DType::F32);
  for (int round = 0; round < 20; ++round) {
    const cudaGraphExec_t graph =
        instantiate(capture_stream([&] { must(gemm(*runtime_, split.desc())); }));
    ok(cudaGraphLaunch(graph, stream_));
    EXPECT_EQ(bytes_of(*runtime_, split.c), want);
    ok(cudaGraphExecDestroy(graph));
  }
  stop = true;
  busy.join();
}

TEST_P(CudaEmbedding, APreparedCallLoadsAndAllocatesNothing) {
  Runtime runtime = open(Backend::Cuda);
  const SplitProduct split = SplitProduct::make(runtime, 64, 64, 1);
  const Tensor packed = random_tensor(runtime, {256, 511}, DType::F16, 3);
  const Tensor w = random_tensor(runtime, {511, 96}, DType::F16, 4);
  const GemmDesc second{.a = packed, .b = w, .c = must(runtime.tensor({256, 96}, DType::F32))};
  const std::uint64_t dispatches = runtime.dispatch_count();
  must(prepare(runtime, std::vector<OpDesc>{split.desc(), second}));
  EXPECT_EQ(runtime.dispatch_count(), dispatches);
  const cuda::Counters before = counters_of(runtime);
  EXPECT_GT(before.functions_loaded, 4U);
  must(gemm(runtime, split.desc()));
  must(gemm(runtime, second));
  const cuda::Counters after = counters_of(runtime);
  EXPECT_EQ(after.functions_loaded, before.functions_loaded);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.synchronisations, before.synchronisations);
}

GIRIH_FOR_EVERY_GPU(CudaEmbedding);

}  // namespace
}  // namespace girih::testing
