#include <cstdlib>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include <girih/girih.hpp>

#include "core/storage.hpp"
#include "ops/gemm.hpp"
#include "support/allocations.hpp"
#include "support/backends.hpp"
#include "support/gemm.hpp"

// Memory, workspaces and objects of the program that girih lives in, on the cpu.

namespace girih::testing {
namespace {

class Wrapping : public ::testing::Test {
 protected:
  /// Memory of the caller, its first byte at a multiple of 64 plus `shift`.
  std::byte* memory(std::size_t bytes, std::size_t shift = 0) {
    blocks_.push_back(std::make_unique<std::byte[]>(bytes + shift + 64));
    const auto begin = reinterpret_cast<std::uintptr_t>(blocks_.back().get());
    return blocks_.back().get() + (64 - begin % 64) % 64 + shift;
  }
  /// A wrapped copy of a tensor's elements.
  Tensor wrapped(const Tensor& tensor, std::uint64_t byte_offset) {
    const std::vector<std::byte> bytes = bytes_of(runtime_, tensor);
    std::byte* const data = memory(bytes.size() + byte_offset);
    std::memcpy(data + byte_offset, bytes.data(), bytes.size());
    return must(runtime_.wrap(
        {.handle = data, .bytes = bytes.size() + byte_offset, .byte_offset = byte_offset},
        tensor.shape(), tensor.dtype()));
  }
  /// A wrap of `floats` floats whose deleter counts.
  Tensor counted(std::int64_t floats) {
    return must(runtime_.wrap({.handle = memory(static_cast<std::size_t>(floats) * 4),
                               .bytes = static_cast<std::uint64_t>(floats) * 4,
                               .deleter = [this] { ++deleted_; }},
                              {floats}, DType::F32));
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::atomic<int> deleted_ = 0;
  Runtime runtime_ = open(Backend::Cpu);
};

TEST_F(Wrapping, OperandsAtAnyByteOffsetOfTheirTypeGiveTheSameBits) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16, DType::I8}) {
    const Tensor a = random_tensor(runtime_, {67, 300}, dtype, 1);
    const Tensor b = random_tensor(runtime_, {300, 45}, dtype, 2);
    const Tensor bias = random_tensor(runtime_, {45}, DType::BF16, 3);
    const auto run = [&](const Tensor& x, const Tensor& y, const Tensor& z) {
      const Tensor c = must(runtime_.tensor({67, 45}, DType::F32));
      must(gemm(runtime_, {.a = x, .b = y, .c = c, .epilogue = {.bias = z}}));
      return bytes_of(runtime_, c);
    };
    const std::vector<std::byte> want = run(a, b, bias);
    const auto element = static_cast<std::uint64_t>(bit_width(dtype) / 8);
    for (std::uint64_t i : {0, 1, 3, 5, 16, 33}) {
      EXPECT_EQ(run(wrapped(a, i * element), wrapped(b, (i + 1) * element), wrapped(bias, i * 2)),
                want)
          << name(dtype) << " at element " << i;
    }
  }
}

TEST_F(Wrapping, ResultsAppearInTheCallersMemoryAndItsChangesAreSeen) {
  const Tensor a = random_tensor(runtime_, {9, 20}, DType::F32, 1);
  const Tensor b = random_tensor(runtime_, {20, 7}, DType::F32, 2);
  const std::vector<std::byte> want = product(runtime_, a, b, DType::F32);
  std::byte* const data = memory(4 + 9 * 7 * 4 + 4, 2);  // the pointer itself is odd
  std::memset(data, 0x5A, 4 + 9 * 7 * 4 + 4);
  const Tensor c = must(runtime_.wrap(
      {.handle = data, .bytes = 4 + 9 * 7 * 4 + 4, .byte_offset = 2}, {9, 7}, DType::F32));
  EXPECT_EQ(must(runtime_.native_handle(c)).handle, data + 2);
  must(gemm(runtime_, {.a = a, .b = b, .c = c}));
  EXPECT_EQ(std::memcmp(data + 2, want.data(), want.size()), 0);
  for (const std::size_t i : {0U, 1U, 254U, 255U, 256U, 259U}) {
    EXPECT_EQ(data[i], std::byte{0x5A}) << "byte " << i;
  }
  const float changed = 8;
  std::memcpy(data + 2, &changed, 4);
  EXPECT_EQ(floats_of(runtime_, c).front(), changed);
}

TEST_F(Wrapping, ViewsOfItKnowItsEnd) {
  const Tensor x = must(
      runtime_.wrap({.handle = memory(40), .bytes = 40, .byte_offset = 8}, {2, 3}, DType::F32));
  EXPECT_EQ(x.offset(), 0);
  EXPECT_EQ(must(x.view({8}, {1}, 0)).size(), 8);  // the memory goes on behind the tensor
  EXPECT_TRUE(refused(x.view({9}, {1}, 0), Code::InvalidShape, "32"));
  must(fill(runtime_, {.destination = must(x.slice(1, 1, 3)).transposed(), .value = 3}));
  EXPECT_EQ(floats_of(runtime_, x), (std::vector<float>{0, 3, 3, 0, 3, 3}));
}

TEST_F(Wrapping, IsCounted) {
  const MemoryInfo before = runtime_.memory();
  Tensor x = counted(100);
  EXPECT_EQ(runtime_.memory().wrapped, before.wrapped + 400);
  EXPECT_EQ(runtime_.memory().cold, before.cold);
  EXPECT_EQ(runtime_.memory().system_allocations, before.system_allocations);
  x = Tensor();
  EXPECT_EQ(runtime_.memory().wrapped, before.wrapped);
  EXPECT_EQ(runtime_.memory().cold_cached, before.cold_cached);
}

TEST_F(Wrapping, TheDeleterRunsOnceAfterTheLastUse) {
  Tensor x = counted(8);
  Tensor view = must(x.slice(0, 2, 4));
  std::optional<Graph> graph =
      must(capture(runtime_, [&] { return fill(runtime_, {.destination = view, .value = 1}); }));
  x = Tensor();
  view = Tensor();
  EXPECT_EQ(deleted_.load(), 0);
  must(graph->replay());
  std::thread([&] { graph.reset(); }).join();
  EXPECT_EQ(deleted_.load(), 1);
}

TEST_F(Wrapping, TheDeleterOutlivesTheRuntime) {
  Tensor x = counted(8);
  runtime_ = open(Backend::Cpu);
  EXPECT_EQ(deleted_.load(), 0);
  x = Tensor();
  EXPECT_EQ(deleted_.load(), 1);
}

TEST_F(Wrapping, TheDeleterOfAPoisonedRuntimeRuns) {
  struct Dropping final : Executor {
    [[nodiscard]] int concurrency() const noexcept override { return 4; }
    void parallel_for(std::int64_t, Body, void*) override {}
  };
  runtime_ = open(Backend::Cpu, {.executor = std::make_shared<Dropping>()});
  Tensor x = counted(1 << 20);
  EXPECT_TRUE(
      refused(fill(runtime_, {.destination = x, .value = 1}), Code::ExecutorFailed, "executor"));
  x = Tensor();
  EXPECT_EQ(deleted_.load(), 1);
}

TEST_F(Wrapping, ADeleterMayDropOtherHandlesAndThrow) {
  std::optional<Tensor> other = counted(8);
  Tensor x = must(runtime_.wrap({.handle = memory(4),
                                 .bytes = 4,
                                 .deleter =
                                     [&] {
                                       other.reset();
                                       EXPECT_TRUE(succeeded(runtime_.tensor({4}, DType::F32)));
                                       throw 7;
                                     }},
                                {1}, DType::F32));
  x = Tensor();
  EXPECT_EQ(deleted_.load(), 1);
  EXPECT_EQ(runtime_.memory().wrapped, 0U);
}

TEST_F(Wrapping, WhatCannotBeWrappedIsRefusedAndStaysTheCallers) {
  std::byte* const data = memory(64);
  const auto wrap = [&](void* handle, std::uint64_t bytes, std::uint64_t offset, const Shape& shape,
                        DType dtype = DType::F32) {
    return runtime_.wrap({.handle = handle,
                          .bytes = bytes,
                          .byte_offset = offset,
                          .deleter = [this] { ++deleted_; }},
                         shape, dtype);
  };
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  EXPECT_TRUE(refused(wrap(nullptr, 64, 0, {4}), Code::Unwrappable, "null"));
  EXPECT_TRUE(refused(wrap(data, 0, 0, {4}), Code::Unwrappable, "0 bytes"));
  EXPECT_TRUE(refused(wrap(data, 63, 0, {4, 4}), Code::Unwrappable, "63"));
  EXPECT_TRUE(refused(wrap(data, 64, 4, {4, 4}), Code::Unwrappable, "64 bytes, the memory 60"));
  EXPECT_TRUE(refused(wrap(data, 64, 64, {1}), Code::Unwrappable, "64"));
  EXPECT_TRUE(refused(wrap(data, 64, kAll, {1}), Code::Unwrappable, "offset"));
  EXPECT_TRUE(refused(wrap(data, kAll, 0, {1}), Code::Unwrappable, "2^63"));
  EXPECT_TRUE(refused(wrap(reinterpret_cast<void*>(kAll - 63), 256, 0, {4}), Code::Unwrappable,
                      "address space"));
  EXPECT_TRUE(refused(wrap(data, 64, 2, {4}), Code::Unwrappable, "multiple of 4"));
  EXPECT_TRUE(refused(wrap(data + 1, 32, 0, {4}), Code::Unwrappable, "f32"));
  EXPECT_TRUE(refused(wrap(data, 64, 1, {4}, DType::BF16), Code::Unwrappable, "bf16"));
  EXPECT_TRUE(refused(wrap(data, 64, 0, {-1}), Code::InvalidShape, "-1"));
  EXPECT_TRUE(refused(wrap(data, 64, 0, {std::int64_t{1} << 62, 4}), Code::SizeOverflow, "wrap"));
  EXPECT_TRUE(
      refused(wrap(data, 64, 0, {4}, static_cast<DType>(99)), Code::InvalidOption, "dtype"));
  EXPECT_TRUE(succeeded(wrap(data, 64, 3, {61}, DType::I8)));
  EXPECT_EQ(deleted_.load(), 1);  // of the one that was wrapped
  EXPECT_EQ(runtime_.memory().wrapped, 0U);
  EXPECT_EQ(runtime_.dispatch_count(), 0U);
}

TEST_F(Wrapping, SelectionSeesTheTrueAlignment) {
  std::byte* const data = memory(256);
  const auto alignment = [&](std::uint64_t offset, std::int64_t first) {
    const Tensor x = must(
        must(runtime_.wrap({.handle = data, .bytes = 256, .byte_offset = offset}, {40}, DType::F32))
            .view({2, 2}, {2, 1}, first));
    const Tensor c = must(runtime_.tensor({2, 2}, DType::F32));
    return must(check(GemmDesc{.a = x, .b = x, .c = c}, {.runtime = runtime_.id()})).a.alignment;
  };
  EXPECT_EQ(alignment(0, 0), 64);
  EXPECT_EQ(alignment(0, 4), 16);
  EXPECT_EQ(alignment(4, 0), 4);
  EXPECT_EQ(alignment(32, 2), 8);
  EXPECT_EQ(alignment(8, 16), 8);
}

TEST_F(Wrapping, TensorsOfOthersAreRefused) {
  Runtime other = open(Backend::Cpu);
  const Tensor x = counted(4);
  EXPECT_TRUE(refused(fill(other, {.destination = x, .value = 1}), Code::ForeignTensor, ""));
  EXPECT_TRUE(refused(other.native_handle(x), Code::ForeignTensor, "native_handle"));
  EXPECT_TRUE(refused(runtime_.native_handle(Tensor()), Code::InvalidTensor, "native_handle"));
}

TEST_F(Wrapping, OverlapIsFoundByAddress) {
  std::byte* const data = memory(4 * 100);
  const auto at = [&](std::uint64_t first, const Shape& shape) {
    return must(
        runtime_.wrap({.handle = data, .bytes = 400, .byte_offset = first * 4}, shape, DType::F32));
  };
  const Tensor a = at(0, {5, 5}), b = at(25, {5, 5});
  EXPECT_TRUE(succeeded(gemm(runtime_, {.a = a, .b = b, .c = at(50, {5, 5})})));
  EXPECT_TRUE(
      refused(gemm(runtime_, {.a = a, .b = b, .c = at(24, {5, 5})}), Code::GemmAliasing, "A"));
  EXPECT_TRUE(
      refused(gemm(runtime_, {.a = a, .b = b, .c = at(49, {5, 5})}), Code::GemmAliasing, "B"));
  // The same elements under two handles: one view.
  const GemmDesc twice{
      .a = a, .b = b, .c = at(50, {5, 5}), .epilogue = {.residual = at(50, {5, 5})}};
  EXPECT_TRUE(succeeded(gemm(runtime_, twice)));
  EXPECT_TRUE(succeeded(copy(runtime_, {.source = a, .destination = at(0, {5, 5})})));
  EXPECT_TRUE(refused(copy(runtime_, {.source = a, .destination = at(1, {5, 5})}),
                      Code::InvalidShape, "overlaps"));
  // Columns of one matrix, wrapped twice.
  const auto columns = [&](std::uint64_t first, std::int64_t count) {
    return must(at(first, {1}).view({5, count}, {10, 1}, 0));
  };
  EXPECT_TRUE(succeeded(copy(runtime_, {.source = columns(0, 4), .destination = columns(4, 4)})));
  EXPECT_TRUE(refused(copy(runtime_, {.source = columns(0, 4), .destination = columns(3, 4)}),
                      Code::InvalidShape, "overlaps"));
  // The runtime's own memory, wrapped again.
  const Tensor own = must(runtime_.tensor({4, 4}, DType::F32));
  const Tensor again = must(runtime_.wrap(
      {.handle = must(runtime_.native_handle(must(own.slice(0, 1, 2)))).handle, .bytes = 48},
      {3, 4}, DType::F32));
  EXPECT_TRUE(refused(copy(runtime_, {.source = must(own.slice(0, 0, 3)), .destination = again}),
                      Code::InvalidShape, "overlaps"));
}

TEST_F(Wrapping, OverlapNeverMissesASharedByte) {
  std::byte* const data = memory(64);
  verify::Random random(7);
  const auto bytes_of_view = [](const Tensor& x) {
    std::set<std::uintptr_t> bytes;
    const auto begin = reinterpret_cast<std::uintptr_t>(detail::TensorAccess::address(x));
    const auto element = static_cast<std::uintptr_t>(bit_width(x.dtype()) / 8);
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      for (std::int64_t j = 0; j < x.extent(1); ++j) {
        const auto at = static_cast<std::uintptr_t>(i * x.strides()[0] + j * x.strides()[1]);
        for (std::uintptr_t k = 0; k < element; ++k) bytes.insert(begin + at * element + k);
      }
    }
    return bytes;
  };
  const auto any_view = [&]() -> Tensor {
    static constexpr auto kTypes = std::to_array<DType>({DType::F32, DType::BF16, DType::I8});
    for (;;) {
      const DType dtype = random.pick(kTypes);
      const auto offset = static_cast<std::uint64_t>(random.integer(0, 40)) *
                          static_cast<std::uint64_t>(bit_width(dtype) / 8);
      const Result<Tensor> base =
          runtime_.wrap({.handle = data, .bytes = 64, .byte_offset = offset}, {1}, dtype);
      if (!base) continue;
      const Result<Tensor> view = base->view({random.integer(1, 3), random.integer(1, 3)},
                                             {random.integer(0, 6), random.integer(0, 3)}, 0);
      if (view) return *view;
    }
  };
  int shared = 0, apart = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Tensor a = any_view(), b = any_view();
    const std::set<std::uintptr_t> x = bytes_of_view(a), y = bytes_of_view(b);
    const bool shares =
        std::any_of(x.begin(), x.end(), [&](std::uintptr_t byte) { return y.count(byte) != 0; });
    EXPECT_EQ(may_overlap(a, b), may_overlap(b, a));
    if (shares) {
      ASSERT_TRUE(may_overlap(a, b));
      ++shared;
    } else if (!may_overlap(a, b)) {
      ++apart;
    }
  }
  EXPECT_GT(shared, 1000);
  EXPECT_GT(apart, 1000);
}

/// An allocator of the caller that can fail, and knows what it gave.
struct TestAllocator {
  std::map<void*, std::size_t> blocks;
  int calls = 0;
  int failures = 0;             ///< to come
  std::size_t shift = 0;        ///< from a multiple of the alignment
  std::size_t wrong_sizes = 0;  ///< releases of a size that was not asked

  [[nodiscard]] Allocator callbacks() {
    return {.allocate =
                [](void* self, std::size_t bytes, std::size_t alignment) noexcept {
                  return static_cast<TestAllocator*>(self)->allocate(bytes, alignment);
                },
            .release =
                [](void* self, void* block, std::size_t bytes) noexcept {
                  static_cast<TestAllocator*>(self)->release(block, bytes);
                },
            .context = this};
  }
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
    ++calls;
    if (failures > 0 && failures-- > 0) return nullptr;
    auto* const memory = static_cast<std::byte*>(
        ::operator new (bytes + alignment, std::align_val_t{256}, std::nothrow));
    if (memory == nullptr) return nullptr;
    blocks[memory + shift] = bytes;
    return memory + shift;
  }
  void release(void* block, std::size_t bytes) noexcept {
    const auto found = blocks.find(block);
    if (found == blocks.end() || found->second != bytes) {
      ++wrong_sizes;
      return;
    }
    blocks.erase(found);
    ::operator delete (static_cast<std::byte*>(block) - shift, std::align_val_t{256});
  }
  [[nodiscard]] bool holds(const void* address) const {
    return std::any_of(blocks.begin(), blocks.end(), [&](const auto& block) {
      const auto* begin = static_cast<const std::byte*>(block.first);
      return address >= begin && address < begin + block.second;
    });
  }
};

TEST(CallersAllocator, GivesAllDeviceMemoryAndGetsAllOfItBack) {
  TestAllocator allocator;
  {
    Runtime runtime = open(Backend::Cpu, {.allocator = allocator.callbacks()});
    must(runtime.bump_reserve(4096));
    std::optional<Graph> graph;
    {
      const Tensor a = random_tensor(runtime, {60, 400}, DType::F32, 1);
      const Tensor b = random_tensor(runtime, {400, 50}, DType::F32, 2);
      const Tensor c = must(runtime.tensor({60, 50}, DType::F32, Memory::Hot));
      const Tensor bump = must(runtime.tensor({10}, DType::F32, Memory::Bump));
      for (const Tensor& x : {a, b, c, bump}) {
        EXPECT_TRUE(allocator.holds(must(runtime.native_handle(x)).handle));
      }
      const GemmDesc desc{.a = a, .b = b, .c = c};
      must(gemm(runtime, desc));
      graph = must(capture(runtime, [&] { return gemm(runtime, desc); }));
      must(graph->replay());
    }
    EXPECT_EQ(runtime.memory().system_allocations, static_cast<std::uint64_t>(allocator.calls));
    std::size_t held = 0;
    for (const auto& [block, bytes] : allocator.blocks) held += bytes;
    const MemoryInfo info = runtime.memory();
    EXPECT_EQ(held, info.hot + info.cold + info.cold_cached + info.bump_held + info.scratch);
  }
  EXPECT_TRUE(allocator.blocks.empty());
  EXPECT_EQ(allocator.wrong_sizes, 0U);
}

TEST(CallersAllocator, ItsFailureIsOutOfMemoryAndTheRuntimeGoesOn) {
  TestAllocator allocator;
  Runtime runtime = open(Backend::Cpu, {.allocator = allocator.callbacks()});
  allocator.failures = 1;
  EXPECT_TRUE(refused(runtime.tensor({100}, DType::F32), Code::OutOfMemory, "allocator"));
  const Tensor a = must(runtime.tensor({100, 100}, DType::F32));
  const Tensor c = must(runtime.tensor({100, 100}, DType::F32));
  allocator.failures = 1;  // of the workspace
  EXPECT_TRUE(refused(gemm(runtime, {.a = a, .b = a, .c = c}), Code::OutOfMemory, "allocator"));
  EXPECT_EQ(runtime.dispatch_count(), 0U);
  EXPECT_TRUE(succeeded(gemm(runtime, {.a = a, .b = a, .c = c})));
  must(runtime.tensor({5000}, DType::F32));  // dropped: cached
  ASSERT_GT(runtime.memory().cold_cached, 0U);
  allocator.failures = 1;  // the cache is given back, and the block asked for again
  EXPECT_TRUE(succeeded(runtime.tensor({9000}, DType::F32)));
  EXPECT_TRUE(succeeded(runtime.health()));
}

TEST(CallersAllocator, AMisalignedBlockIsRefusedAndGivenBack) {
  TestAllocator allocator;
  allocator.shift = 64;
  Runtime runtime = open(Backend::Cpu, {.allocator = allocator.callbacks()});
  EXPECT_TRUE(refused(runtime.tensor({100}, DType::F32), Code::InvalidOption, "256"));
  EXPECT_TRUE(allocator.blocks.empty());
}

TEST(CallersObjects, OfOtherBackendsAreRefused) {
  const auto open_cpu = [](RuntimeOptions options) {
    options.backend = Backend::Cpu;
    return Runtime::open(options);
  };
  EXPECT_TRUE(
      refused(open_cpu({.cuda = CudaHandles{.stream = nullptr}}), Code::InvalidOption, "CUDA"));
  EXPECT_TRUE(refused(open_cpu({.metal = MetalHandles{}}), Code::InvalidOption, "Metal"));
  TestAllocator allocator;
  Allocator half = allocator.callbacks();
  half.release = nullptr;
  EXPECT_TRUE(refused(open_cpu({.allocator = half}), Code::InvalidOption, "release"));
  half = {.allocate = nullptr, .release = allocator.callbacks().release};
  EXPECT_TRUE(refused(open_cpu({.allocator = half}), Code::InvalidOption, "allocate"));
}

TEST(CallersObjects, TheCpuHasNoEventsAndNoHandlesButAddresses) {
  Runtime runtime = open(Backend::Cpu);
  int event = 0;
  for (void* const handle : {static_cast<void*>(nullptr), static_cast<void*>(&event)}) {
    EXPECT_TRUE(refused(runtime.record({.handle = handle}), Code::BackendLacks, "events"));
    EXPECT_TRUE(refused(runtime.wait_for({.handle = handle}), Code::BackendLacks, "events"));
  }
  for (const NativeObject object : {NativeObject::CudaContext, NativeObject::CudaStream,
                                    NativeObject::MetalDevice, NativeObject::MetalQueue}) {
    EXPECT_TRUE(refused(runtime.native_handle(object), Code::BackendLacks, "cpu"));
  }
  EXPECT_TRUE(refused(runtime.native_handle(static_cast<NativeObject>(9)), Code::InvalidOption,
                      "native object"));
  EXPECT_TRUE(succeeded(runtime.health()));
  EXPECT_TRUE(
      refused(capture(runtime, [&] { return runtime.record({}); }), Code::CaptureMisuse, "record"));
  const Tensor x = must(runtime.tensor({3, 4}, DType::F32));
  const NativeMemory all = must(runtime.native_handle(x));
  const NativeMemory part = must(runtime.native_handle(must(x.slice(0, 2, 3))));
  EXPECT_EQ(static_cast<std::byte*>(part.handle), static_cast<std::byte*>(all.handle) + 32);
}

class Workspaces : public ::testing::Test {
 protected:
  Tensor workspace(std::int64_t bytes) { return must(runtime_.tensor({bytes}, DType::U8)); }

  Runtime runtime_ = open(Backend::Cpu);
  Tensor a_ = random_tensor(runtime_, {70, 900}, DType::F32, 1);
  Tensor b_ = random_tensor(runtime_, {900, 60}, DType::F32, 2);
  Tensor c_ = must(runtime_.tensor({70, 60}, DType::F32));
  GemmDesc desc_{.a = a_, .b = b_, .c = c_};
  std::int64_t needed_ = static_cast<std::int64_t>(must(plan(runtime_, desc_)).workspace_bytes);
};

TEST_F(Workspaces, TheCallersIsUsedInsteadOfOurs) {
  ASSERT_GT(needed_, 0);
  Runtime plain = open(Backend::Cpu);
  const std::vector<std::byte> want =
      product(plain, random_tensor(plain, {70, 900}, DType::F32, 1),
              random_tensor(plain, {900, 60}, DType::F32, 2), DType::F32);
  desc_.workspace = workspace(needed_);
  must(fill(runtime_, {.destination = *desc_.workspace, .value = 255}));  // NaN in every type
  const MemoryInfo before = runtime_.memory();
  must(gemm(runtime_, desc_));
  EXPECT_EQ(bytes_of(runtime_, c_), want);
  EXPECT_EQ(runtime_.memory().scratch, 0U);
  EXPECT_EQ(runtime_.memory().system_allocations, before.system_allocations);
  // It was worked in.
  std::vector<std::byte> contents = bytes_of(runtime_, *desc_.workspace);
  EXPECT_NE(contents, std::vector<std::byte>(contents.size(), std::byte{255}));
  // A graph keeps it.
  Graph graph = must(capture(runtime_, [&] { return gemm(runtime_, desc_); }));
  desc_.workspace.reset();
  must(fill(runtime_, {.destination = c_, .value = 0}));
  must(graph.replay());
  EXPECT_EQ(bytes_of(runtime_, c_), want);
  EXPECT_EQ(runtime_.memory().scratch, 0U);
}

TEST_F(Workspaces, OneByteTooFewIsAnErrorThatNamesBothSizes) {
  const std::uint64_t dispatches = runtime_.dispatch_count();
  desc_.workspace = workspace(needed_ - 1);
  const std::string sizes = std::to_string(needed_ - 1) + " bytes";
  EXPECT_TRUE(refused(gemm(runtime_, desc_), Code::WorkspaceTooSmall, sizes));
  EXPECT_TRUE(
      refused(gemm(runtime_, desc_), Code::WorkspaceTooSmall, "needs " + std::to_string(needed_)));
  EXPECT_TRUE(refused(plan(runtime_, desc_), Code::WorkspaceTooSmall, sizes));
  EXPECT_EQ(runtime_.memory().scratch, 0U);
  EXPECT_EQ(runtime_.dispatch_count(), dispatches);
  EXPECT_EQ(floats_of(runtime_, c_), std::vector<float>(70 * 60, 0.0F));
}

TEST_F(Workspaces, WhatIsNoWorkspaceIsRefused) {
  const Tensor large = workspace(needed_ + 4096);
  const auto expect = [&](const Tensor& workspace, Code code, const char* word) {
    desc_.workspace = workspace;
    EXPECT_TRUE(refused(gemm(runtime_, desc_), code, word));
    EXPECT_TRUE(refused(plan(runtime_, desc_), code, word));
  };
  expect(Tensor(), Code::InvalidTensor, "workspace");
  expect(must(open(Backend::Cpu).tensor({needed_}, DType::U8)), Code::ForeignTensor, "workspace");
  expect(must(large.slice(0, 1, needed_ + 1)), Code::InvalidTensor, "multiple of 64");
  expect(must(large.view({needed_ / 2, 1}, {2, 1}, 0)), Code::InvalidTensor, "contiguous");
  expect(a_, Code::GemmAliasing, "workspace overlaps A");
  expect(b_, Code::GemmAliasing, "workspace overlaps B");
  expect(c_, Code::GemmAliasing, "workspace overlaps C");
  desc_.workspace = must(large.slice(0, 64, needed_ + 64));
  EXPECT_TRUE(succeeded(gemm(runtime_, desc_)));
}

TEST_F(Workspaces, WhatLiesInOneIsNoTermOfTheProduct) {
  const Tensor whole = workspace(needed_ + 70 * 60 * 4);
  void* const memory = must(runtime_.native_handle(whole)).handle;
  const auto inside = [&](const Shape& shape, std::int64_t past_its_end) {
    return must(runtime_.wrap(
        {.handle = memory,
         .bytes = static_cast<std::uint64_t>(whole.size()),
         .byte_offset = static_cast<std::uint64_t>((past_its_end > 0 ? needed_ : needed_ - 4))},
        shape, DType::F32));
  };
  desc_.workspace = must(whole.slice(0, 0, needed_));
  ASSERT_EQ(needed_ % 64, 0);
  const auto expect = [&](const char* word, const std::function<void(GemmDesc&, int)>& set) {
    GemmDesc desc = desc_;
    set(desc, 0);
    EXPECT_TRUE(refused(gemm(runtime_, desc), Code::GemmAliasing, "workspace overlaps")) << word;
    EXPECT_TRUE(refused(plan(runtime_, desc), Code::GemmAliasing, word));
    set(desc, 1);
    EXPECT_TRUE(succeeded(gemm(runtime_, desc))) << word;
  };
  expect("bias", [&](GemmDesc& d, int past) { d.epilogue.bias = inside({60}, past); });
  expect("residual", [&](GemmDesc& d, int past) { d.epilogue.residual = inside({70, 60}, past); });
  expect("alpha", [&](GemmDesc& d, int past) { d.alpha = inside({1}, past); });
  expect("beta", [&](GemmDesc& d, int past) { d.beta = inside({1}, past); });
  expect("a_scale", [&](GemmDesc& d, int past) {
    d.a_scale = Scale{inside({70}, past), Granularity::PerRow};
  });
  expect("b_scale", [&](GemmDesc& d, int past) {
    d.b_scale = Scale{inside({60}, past), Granularity::PerColumn};
  });
}

TEST(Prepare, LeavesNothingToAllocate) {
  Runtime runtime = open(Backend::Cpu);
  const Tensor a = must(runtime.tensor({130, 700}, DType::F32));
  const Tensor b = must(runtime.tensor({700, 90}, DType::F32));
  const Tensor c = must(runtime.tensor({130, 90}, DType::F32));
  const Tensor half = must(runtime.tensor({130, 700}, DType::BF16));
  const Tensor wide = must(runtime.tensor({130, 130}, DType::F32));
  const std::vector<OpDesc> calls = {
      GemmDesc{.a = a, .b = b, .c = c}, CastDesc{.source = a, .destination = half},
      GemmDesc{.a = half, .b = half.transposed(), .c = wide},
      CopyDesc{.source = b, .destination = b}, FillDesc{.destination = c, .value = 1}};
  must(prepare(runtime, calls));
  EXPECT_EQ(runtime.dispatch_count(), 0U);
  EXPECT_EQ(floats_of(runtime, c), std::vector<float>(130 * 90, 0.0F));
  const std::uint64_t system = runtime.memory().system_allocations;
  const std::uint64_t heap = heap_allocations();
  for (const OpDesc& call : calls) {
    if (const auto* desc = std::get_if<GemmDesc>(&call)) must(gemm(runtime, *desc));
    if (const auto* desc = std::get_if<CastDesc>(&call)) must(cast(runtime, *desc));
    if (const auto* desc = std::get_if<CopyDesc>(&call)) must(copy(runtime, *desc));
    if (const auto* desc = std::get_if<FillDesc>(&call)) must(fill(runtime, *desc));
  }
  EXPECT_EQ(runtime.memory().system_allocations, system);
  EXPECT_EQ(heap_allocations(), heap);
  // Unprepared, the same calls do reach the system.
  Runtime fresh = open(Backend::Cpu);
  const Tensor x = must(fresh.tensor({130, 130}, DType::F32));
  const Tensor y = must(fresh.tensor({130, 130}, DType::F32));
  const std::uint64_t before = fresh.memory().system_allocations;
  must(gemm(fresh, {.a = x, .b = x, .c = y}));
  EXPECT_GT(fresh.memory().system_allocations, before);
}

TEST(Prepare, ReportsTheMemoryItDoesNotGet) {
  TestAllocator allocator;
  Runtime runtime = open(Backend::Cpu, {.allocator = allocator.callbacks()});
  const Tensor a = must(runtime.tensor({130, 700}, DType::F32));
  const Tensor b = must(runtime.tensor({700, 90}, DType::F32));
  const Tensor c = must(runtime.tensor({130, 90}, DType::F32));
  const std::vector<OpDesc> calls = {FillDesc{.destination = c, .value = 1},
                                     GemmDesc{.a = a, .b = b, .c = c}};
  allocator.failures = 1;
  EXPECT_TRUE(refused(prepare(runtime, calls), Code::OutOfMemory, "call 1"));
  EXPECT_TRUE(succeeded(runtime.health()));
  EXPECT_TRUE(succeeded(prepare(runtime, calls)));
}

TEST(Prepare, FailsAsTheFirstCallThatWould) {
  Runtime runtime = open(Backend::Cpu);
  const Tensor x = must(runtime.tensor({4, 4}, DType::F32));
  const Tensor y = must(runtime.tensor({4, 5}, DType::F32));
  const FillDesc good{.destination = x, .value = 1};
  EXPECT_TRUE(succeeded(prepare(runtime, {})));
  const std::vector<OpDesc> calls = {good, GemmDesc{.a = x, .b = x, .c = y},
                                     FillDesc{.destination = Tensor()}};
  EXPECT_TRUE(refused(prepare(runtime, calls), Code::GemmShapeMismatch, "call 1"));
  const Tensor little = must(runtime.tensor({1}, DType::U8));
  const Tensor z = must(runtime.tensor({4, 4}, DType::F32));
  const std::vector<OpDesc> small = {GemmDesc{.a = x, .b = x, .c = z, .workspace = little}};
  EXPECT_TRUE(refused(prepare(runtime, small), Code::WorkspaceTooSmall, "1 bytes"));
  const std::vector<OpDesc> one = {good};
  EXPECT_TRUE(refused(capture(runtime, [&] { return prepare(runtime, one); }), Code::CaptureMisuse,
                      "prepare"));
  EXPECT_EQ(runtime.dispatch_count(), 0U);
  Runtime moved = std::move(runtime);
  // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): that is the point.
  EXPECT_TRUE(refused(prepare(runtime, one), Code::MovedFrom, "moved"));
}

}  // namespace
}  // namespace girih::testing
