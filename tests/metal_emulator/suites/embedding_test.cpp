#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <optional>

#include "suites/pages.hpp"
#include "suites/raw_device.hpp"
#include "support/gemm.hpp"

// The backend among the caller's Metal objects.

namespace girih::testing {
namespace {

using metal::id;
using metal::Ref;
namespace buffer = metal::buffer;
namespace event = metal::event;
namespace queue = metal::queue;

const std::vector<std::uint16_t> kOneToFour = {0x3F80, 0x4000, 0x4040, 0x4080};  // in bf16

class MetalEmbedding : public ::testing::Test {
 protected:
  Ref make_buffer(unsigned long bytes) {
    return Ref(metal::device::new_buffer(device_.get(), bytes, metal::kStorageShared));
  }
  Result<Runtime> open(MetalHandles handles) {
    return Runtime::open({.backend = Backend::Metal, .metal = handles});
  }
  MetalHandles mine() { return {.device = device_.get(), .queue = queue_.get()}; }

  const metal::Pool pool_;
  Ref device_{MTLCreateSystemDefaultDevice()};
  Ref queue_{metal::device::new_queue(device_.get())};
};

TEST_F(MetalEmbedding, TheCallersDeviceAndQueueAreUsed) {
  {
    Runtime runtime = must(open(mine()));
    EXPECT_EQ(must(runtime.native_handle(NativeObject::MetalDevice)), device_.get());
    EXPECT_EQ(must(runtime.native_handle(NativeObject::MetalQueue)), queue_.get());
    const Tensor x = tensor_of(runtime, {2, 2}, DType::F32, std::vector<float>{1, 2, 3, 4});
    const Tensor c = must(runtime.tensor({2, 2}, DType::F32));
    must(gemm(runtime, {.a = x, .b = x, .c = c}));
    EXPECT_EQ(floats_of(runtime, c), (std::vector<float>{7, 10, 15, 22}));
  }
  // The queue is as it was: no memory of the runtime's is resident on it.
  const Ref mark(metal::device::new_shared_event(device_.get()));
  queue::signal(queue_.get(), mark.get(), 1);
  EXPECT_TRUE(event::wait(mark.get(), 1, 1000));
  Runtime runtime = must(open({.device = {}, .queue = queue_.get()}));
  EXPECT_EQ(must(runtime.native_handle(NativeObject::MetalDevice)), device_.get());
  Runtime own = must(open({.device = device_.get(), .queue = {}}));
  EXPECT_NE(must(own.native_handle(NativeObject::MetalQueue)), queue_.get());
}

TEST_F(MetalEmbedding, WorkOfTheCallerInThatQueueIsBeforeAndAfterOurs) {
  Runtime runtime = must(open(mine()));
  const Ref gate(metal::device::new_shared_event(device_.get()));
  const Ref done(metal::device::new_shared_event(device_.get()));
  const Tensor x = must(runtime.tensor({8}, DType::F32));
  must(runtime.synchronize());
  queue::wait(queue_.get(), gate.get(), 1);
  must(fill(runtime, {.destination = x, .value = 3}));
  const Event ours = must(runtime.submit());
  queue::signal(queue_.get(), done.get(), 1);
  EXPECT_FALSE(event::wait(done.get(), 1, 1));
  EXPECT_FALSE(must(runtime.completed(ours)));
  event::set_value(gate.get(), 1);
  EXPECT_TRUE(event::wait(done.get(), 1, 1000));
  EXPECT_TRUE(must(runtime.completed(ours)));
}

TEST_F(MetalEmbedding, WhatIsNoQueueOfThatDeviceIsRefused) {
  const Ref other(MTLCreateSystemDefaultDevice());
  const Ref classic = make_buffer(16);  // an object that does not take command buffers
  EXPECT_TRUE(refused(open({.device = other.get(), .queue = queue_.get()}), Code::InvalidOption,
                      "another device"));
  EXPECT_TRUE(
      refused(open({.device = {}, .queue = classic.get()}), Code::InvalidOption, "MTL4Command"));
  EXPECT_TRUE(
      refused(open({.device = {}, .queue = nullptr}), Code::InvalidOption, "queue is null"));
  EXPECT_TRUE(
      refused(open({.device = nullptr, .queue = {}}), Code::InvalidOption, "device is null"));
}

TEST_F(MetalEmbedding, ABufferIsUsedInPlaceAndHandedBackOnce) {
  Runtime runtime = must(open(mine()));
  const Ref memory = make_buffer(256);
  auto* const values = static_cast<float*>(buffer::contents(memory.get()));
  std::iota(values, values + 64, 0.0F);
  int returned = 0;
  {
    const Tensor x = must(runtime.wrap(
        {.handle = memory.get(), .bytes = 256, .byte_offset = 64, .deleter = [&] { ++returned; }},
        {4, 4}, DType::F32));
    EXPECT_EQ(floats_of(runtime, x)[5], 21.0F);
    must(fill(runtime, {.destination = x, .value = 2}));
    must(runtime.synchronize());
    EXPECT_EQ(values[16], 2.0F);
    EXPECT_EQ(values[15], 15.0F);
    EXPECT_EQ(values[32], 32.0F);
    const NativeMemory back = must(runtime.native_handle(must(x.slice(0, 1, 2))));
    EXPECT_EQ(back.handle, memory.get());
    EXPECT_EQ(back.byte_offset, 64U + 16U);
    must(fill(runtime, {.destination = x, .value = 5}));
    EXPECT_EQ(runtime.memory().wrapped, 192U);
  }
  EXPECT_EQ(returned, 0);  // queued work uses it
  must(runtime.synchronize());
  EXPECT_EQ(returned, 1);
  EXPECT_EQ(values[16], 5.0F);
}

TEST_F(MetalEmbedding, TwoTensorsMayLieInOneBuffer) {
  Runtime runtime = must(open(mine()));
  const Ref memory = make_buffer(512);
  const Tensor a = must(runtime.wrap({.handle = memory.get(), .bytes = 512}, {16}, DType::F32));
  Tensor b = must(
      runtime.wrap({.handle = memory.get(), .bytes = 512, .byte_offset = 256}, {16}, DType::F32));
  must(fill(runtime, {.destination = a, .value = 1}));
  must(copy(runtime, {.source = a, .destination = b}));
  EXPECT_EQ(floats_of(runtime, b), std::vector<float>(16, 1.0F));
  b = Tensor();
  must(runtime.synchronize());
  must(fill(runtime, {.destination = a, .value = 2}));  // still resident
  EXPECT_EQ(floats_of(runtime, a), std::vector<float>(16, 2.0F));
}

TEST_F(MetalEmbedding, BuffersMayOverlap) {
  Pages pages;
  Runtime runtime = must(open(mine()));
  constexpr std::size_t kPage = Pages::kPage;
  const Ref first = pages.buffer_over(device_, 0, 1), inner = pages.buffer_over(device_, 2, 1);
  const Ref all = pages.buffer_over(device_, 0, 8);
  int deleted = 0;
  const auto wrap = [&](const Ref& buffer, std::size_t bytes, std::size_t offset) {
    return must(runtime.wrap({.handle = buffer.get(),
                              .bytes = bytes,
                              .byte_offset = offset,
                              .deleter = [&] { ++deleted; }},
                             {static_cast<std::int64_t>((bytes - offset) / 4)}, DType::F32));
  };
  const Tensor small = wrap(first, kPage, 0), middle = wrap(inner, kPage, 0);
  std::optional<Tensor> whole = wrap(all, 8 * kPage, 0);
  std::optional<Tensor> end = wrap(all, 8 * kPage, 2 * kPage);
  must(fill(runtime, {.destination = *whole, .value = 1}));
  must(fill(runtime, {.destination = *end, .value = 2}));
  must(fill(runtime, {.destination = middle, .value = 3}));
  const int barriers = emulator::encoded_barriers();
  must(copy(runtime, {.source = middle, .destination = small}));  // of what two others wrote
  EXPECT_GT(emulator::encoded_barriers(), barriers);
  must(runtime.synchronize());
  EXPECT_EQ(pages.at(0), 3);
  EXPECT_EQ(pages.at(kPage / 4), 1);
  EXPECT_EQ(pages.at(3 * kPage / 4), 2);
  EXPECT_EQ(pages.at(8 * kPage / 4 - 1), 2);
  whole.reset();
  end.reset();
  must(runtime.synchronize());
  EXPECT_EQ(deleted, 2);
  must(fill(runtime, {.destination = small, .value = 5}));  // the short ones are still there
  must(fill(runtime, {.destination = middle, .value = 6}));
  must(runtime.synchronize());
  EXPECT_EQ(pages.at(0), 5);
  EXPECT_EQ(pages.at(2 * kPage / 4), 6);
}

TEST_F(MetalEmbedding, WhatIsWrappedCountsAgainstTheWorkingSet) {
  const emulator::DeviceProperties properties = emulator::device_properties();
  emulator::device_properties().working_set = 4 << 20;  // a quarter is constants
  {
    Runtime runtime = must(open(mine()));
    const Ref large = make_buffer(2 << 20), more = make_buffer(2 << 20);
    const auto wrap = [&](const Ref& buffer) {
      return runtime.wrap({.handle = buffer.get(), .bytes = 2 << 20}, {2 << 20}, DType::I8);
    };
    std::optional<Tensor> x = must(wrap(large));
    EXPECT_TRUE(succeeded(wrap(large)));  // again the same memory
    EXPECT_TRUE(refused(wrap(more), Code::OutOfMemory, "working set"));
    EXPECT_TRUE(refused(runtime.tensor({2 << 20}, DType::I8), Code::OutOfMemory, "working set"));
    x.reset();
    EXPECT_TRUE(succeeded(wrap(more)));
  }
  emulator::device_properties() = properties;
}

TEST_F(MetalEmbedding, ABufferOfTheRuntimesOwnMayBeWrappedAndOutlivesEither) {
  Runtime runtime = must(open(mine()));
  std::optional<Tensor> own = must(runtime.tensor({64}, DType::F32, Memory::Hot));
  const auto wrap = [&] {
    const NativeMemory memory = must(runtime.native_handle(*own));
    return must(
        runtime.wrap({.handle = memory.handle, .bytes = 256, .byte_offset = memory.byte_offset},
                     {64}, DType::F32));
  };
  std::optional<Tensor> again = wrap();
  again.reset();
  must(runtime.synchronize());
  must(fill(runtime, {.destination = *own, .value = 3}));
  EXPECT_EQ(floats_of(runtime, *own), std::vector<float>(64, 3));
  again = wrap();
  own.reset();
  must(runtime.synchronize());
  must(fill(runtime, {.destination = *again, .value = 4}));
  EXPECT_EQ(floats_of(runtime, *again), std::vector<float>(64, 4));
}

TEST_F(MetalEmbedding, AfterAFailureDeletersRunAndNothingIsReleasedInUse) {
  const Ref memory = make_buffer(256);
  int deleted = 0;
  for (const bool recovers : {false, true}) {
    Runtime runtime = must(open(mine()));
    std::optional<Tensor> x = must(runtime.wrap(
        {.handle = memory.get(), .bytes = 256, .deleter = [&] { ++deleted; }}, {64}, DType::F32));
    std::optional<Graph> graph =
        must(capture(runtime, [&] { return fill(runtime, {.destination = *x, .value = 7}); }));
    must(fill(runtime, {.destination = *x, .value = 1}));
    const Event first = must(runtime.submit());
    must(graph->replay());  // open while the failure comes in
    emulator::fail_next_commit(4, "unplugged");
    static_cast<void>(runtime.wait(first));
    static_cast<void>(runtime.synchronize());
    ASSERT_FALSE(runtime.health());
    graph.reset();
    x.reset();
    if (recovers) must(runtime.recover());
    runtime = must(open(mine()));
    EXPECT_EQ(deleted, recovers ? 2 : 1);
  }
}

TEST_F(MetalEmbedding, AnAllocatorIsRefused) {
  const Allocator allocator{
      .allocate = [](void*, std::size_t, std::size_t) noexcept -> void* { return nullptr; },
      .release = [](void*, void*, std::size_t) noexcept {}};
  EXPECT_TRUE(refused(Runtime::open({.backend = Backend::Metal, .allocator = allocator}),
                      Code::BackendLacks, "allocator"));
}

TEST_F(MetalEmbedding, WhatCannotBeWrappedIsRefused) {
  Runtime runtime = must(open(mine()));
  const Ref memory = make_buffer(64);
  bool was_called = false;
  const auto wrap = [&](void* handle, std::uint64_t bytes, std::uint64_t offset) {
    return runtime.wrap({.handle = handle,
                         .bytes = bytes,
                         .byte_offset = offset,
                         .deleter = [&] { was_called = true; }},
                        {8}, DType::F32);
  };
  EXPECT_TRUE(refused(wrap(memory.get(), 128, 0), Code::Unwrappable, "64 bytes, 128"));
  EXPECT_TRUE(refused(wrap(nullptr, 64, 0), Code::Unwrappable, "null"));
  EXPECT_TRUE(refused(wrap(memory.get(), 64, 48), Code::Unwrappable, "offset 48"));
  EXPECT_TRUE(refused(wrap(memory.get(), 64, 2), Code::Unwrappable, ""));
  EXPECT_FALSE(was_called);
  EXPECT_TRUE(succeeded(wrap(memory.get(), 64, 32)));
}

TEST_F(MetalEmbedding, EventsOfTheCallerOrderWork) {
  Runtime runtime = must(open({.device = device_.get(), .queue = {}}));
  const Ref gate(metal::device::new_shared_event(device_.get()));
  const Ref done(metal::device::new_shared_event(device_.get()));
  const Tensor x = must(runtime.tensor({8}, DType::F32));
  must(runtime.synchronize());
  must(runtime.wait_for({.handle = gate.get(), .value = 4}));
  must(fill(runtime, {.destination = x, .value = 3}));
  must(runtime.record({.handle = done.get(), .value = 9}));
  EXPECT_FALSE(event::wait(done.get(), 9, 1));
  EXPECT_EQ(event::value(done.get()), 0U);
  event::set_value(gate.get(), 3);  // one short
  EXPECT_FALSE(event::wait(done.get(), 9, 1));
  event::set_value(gate.get(), 4);
  EXPECT_TRUE(event::wait(done.get(), 9, 1000));
  EXPECT_EQ(floats_of(runtime, x), std::vector<float>(8, 3.0F));
}

TEST_F(MetalEmbedding, AnUploadDoesNotWaitForWhatIsQueued) {
  Runtime runtime = must(open({.device = device_.get(), .queue = {}}));
  const Ref gate(metal::device::new_shared_event(device_.get()));
  for (const std::int64_t bytes : {1, 7, 12, 1000, 100'000, 131'072}) {
    std::vector<std::uint8_t> values(static_cast<std::size_t>(bytes));
    std::iota(values.begin(), values.end(), std::uint8_t{1});
    for (const std::int64_t begin : {0, 3}) {
      const Tensor all = must(runtime.tensor({bytes + 4}, DType::I8));
      const Tensor part = must(all.slice(0, begin, begin + bytes));
      const Tensor before = must(runtime.tensor({bytes}, DType::I8));
      must(runtime.synchronize());
      event::set_value(gate.get(), 0);
      must(runtime.wait_for({.handle = gate.get(), .value = 1}));
      must(copy(runtime, {.source = part, .destination = before}));
      ASSERT_TRUE(succeeded(runtime.upload(part, values.data(), values.size())));
      const Event end = must(runtime.submit());
      EXPECT_FALSE(must(runtime.completed(end)));
      event::set_value(gate.get(), 1);
      const auto got = bytes_of(runtime, all);
      EXPECT_EQ(std::memcmp(got.data() + begin, values.data(), values.size()), 0);
      EXPECT_EQ(got[static_cast<std::size_t>(begin + bytes)], std::byte{0});
      EXPECT_EQ(bytes_of(runtime, before),
                std::vector<std::byte>(values.size()));  // queued before the upload
    }
  }
}

TEST_F(MetalEmbedding, ADownloadWaitsForTheCallersEvent) {
  Runtime runtime = must(open(mine()));
  const Ref gate(metal::device::new_shared_event(device_.get()));
  const Tensor x = must(runtime.tensor({4}, DType::F32));
  must(runtime.synchronize());
  must(runtime.wait_for({.handle = gate.get(), .value = 1}));
  std::vector<float> got(4);
  EXPECT_TRUE(refused(runtime.download(x, std::span(got)), Code::TimedOut, "60 s"));
  event::set_value(gate.get(), 1);
  must(runtime.recover());
  must(runtime.download(x, std::span(got)));
}

TEST_F(MetalEmbedding, ATrialDoesNotWaitForWhatTheCallerWaitsFor) {
  Runtime runtime = must(open(mine()));
  const Tensor a = tensor_of(runtime, {2, 2}, DType::BF16, kOneToFour);
  const Tensor c = must(runtime.tensor({2, 2}, DType::F32));
  const Ref gate(metal::device::new_shared_event(device_.get()));
  must(runtime.synchronize());
  must(runtime.wait_for({.handle = gate.get(), .value = 1}));
  ASSERT_TRUE(succeeded(gemm(runtime, {.a = a, .b = a, .c = c})));  // its first, so it is tried
  const Event product = must(runtime.submit());
  EXPECT_FALSE(must(runtime.completed(product)));
  event::set_value(gate.get(), 1);
  EXPECT_EQ(floats_of(runtime, c), (std::vector<float>{7, 10, 15, 22}));
}

TEST_F(MetalEmbedding, ATrialThatDoesNotRunLeavesTheRuntimeWell) {
  Runtime runtime = must(open(mine()));
  const Tensor a = tensor_of(runtime, {2, 2}, DType::BF16, kOneToFour);
  const Tensor c = must(runtime.tensor({2, 2}, DType::F32));
  must(runtime.synchronize());
  emulator::fail_next_commit(1, "too long");
  EXPECT_TRUE(refused(gemm(runtime, {.a = a, .b = a, .c = c}), Code::BackendUnavailable,
                      "its trial product did not run"));
  ASSERT_TRUE(succeeded(runtime.health()));
  must(gemm(runtime, {.a = a, .b = a, .c = c}));
  EXPECT_EQ(floats_of(runtime, c), (std::vector<float>{7, 10, 15, 22}));
}

TEST_F(MetalEmbedding, PrepareCompilesAndQueuesNothing) {
  Runtime runtime = must(open(mine()));
  const Tensor x = must(runtime.tensor({64, 64}, DType::BF16));
  const Tensor c = must(runtime.tensor({64, 64}, DType::F32));
  must(runtime.synchronize());
  const std::vector<OpDesc> calls = {GemmDesc{.a = x, .b = x, .c = c},
                                     FillDesc{.destination = c, .value = 1}};
  must(prepare(runtime, calls));
  EXPECT_EQ(runtime.dispatch_count(), 0U);
  EXPECT_EQ(floats_of(runtime, c), std::vector<float>(64 * 64, 0.0F));
  const std::map<std::string, int> made = emulator::live_objects();
  must(gemm(runtime, {.a = x, .b = x, .c = c}));
  must(fill(runtime, {.destination = c, .value = 1}));
  must(runtime.synchronize());
  EXPECT_EQ(emulator::live_objects(), made);  // no library, no pipeline, no buffer more
  Runtime fresh = must(open(mine()));
  const Tensor y = must(fresh.tensor({64, 64}, DType::BF16));
  const Tensor d = must(fresh.tensor({64, 64}, DType::F32));
  must(fresh.synchronize());
  const std::map<std::string, int> before = emulator::live_objects();
  must(gemm(fresh, {.a = y, .b = y, .c = d}));  // unprepared, the same call makes some
  EXPECT_NE(emulator::live_objects(), before);
  emulator::fail_library("gemm_tensor", "program_source:1:1: error: broken");
  Runtime broken = must(open(mine()));
  const Tensor z = must(broken.tensor({64, 64}, DType::BF16));
  const Tensor e = must(broken.tensor({64, 64}, DType::F32));
  const std::vector<OpDesc> one = {GemmDesc{.a = z, .b = z, .c = e}};
  EXPECT_TRUE(refused(prepare(broken, one), Code::BackendUnavailable, "error: broken"));
  emulator::fail_library("gemm_tensor", "");
}

}  // namespace
}  // namespace girih::testing
