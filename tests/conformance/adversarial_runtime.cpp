#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/backends.hpp"
#include "support/gemm.hpp"

// The rest of the public surface under hostile arguments.

namespace girih::testing {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

class AdversarialRuntime : public BackendTest {
 protected:
  /// Every refusal leaves the runtime as it was, and working.
  void TearDown() override {
    EXPECT_TRUE(succeeded(runtime_.health()));
    EXPECT_EQ(runtime_.dispatch_count(), dispatches_);
    expect_passes(runtime_, {.m = 4, .n = 5, .k = 3}, verify::Mode::Eager);
  }

  Tensor tensor_ = must(runtime_.tensor({4, 3}, DType::F32));
  std::uint64_t dispatches_ = runtime_.dispatch_count();
};

TEST_P(AdversarialRuntime, Open) {
  const auto open_with = [&](RuntimeOptions options) {
    options.backend = GetParam();
    return Runtime::open(options);
  };
  EXPECT_TRUE(refused(open_with({.threads = -1}), Code::InvalidOption, "-1"));
  EXPECT_TRUE(refused(open_with({.threads = 1025}), Code::InvalidOption, "1025"));
  EXPECT_TRUE(
      refused(open_with({.force_kernel = "nonsense"}), Code::GemmUnknownKernel, "nonsense"));
  EXPECT_TRUE(refused(Runtime::open({.backend = Backend::None}), Code::InvalidOption, "backend"));
  EXPECT_TRUE(refused(Runtime::open({.backend = Backend::Rocm}), Code::BackendUnavailable, "rocm"));
  EXPECT_TRUE(
      refused(Runtime::open({.backend = static_cast<Backend>(77)}), Code::InvalidOption, "77"));
  EXPECT_TRUE(
      refused(Runtime::open({.policy = static_cast<Policy>(77)}), Code::InvalidOption, "77"));
  struct NoThreads final : Executor {
    [[nodiscard]] int concurrency() const noexcept override { return 0; }
    void parallel_for(std::int64_t, Body, void*) override {}
  };
  EXPECT_TRUE(
      refused(open_with({.executor = std::make_shared<NoThreads>()}), Code::InvalidOption, "0"));
}

TEST_P(AdversarialRuntime, HandlesThatWereMovedFromAreRefused) {
  Runtime first = open(GetParam());
  const Tensor x = must(first.tensor({2, 2}, DType::F32));
  const Tensor y = must(first.tensor({2, 2}, DType::F32));
  const GemmDesc desc{.a = x, .b = x, .c = y};
  Graph graph = must(capture(first, [&] { return gemm(first, desc); }));
  Graph kept = std::move(graph);
  Runtime second = std::move(first);
  // NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move): that is the point.
  EXPECT_TRUE(refused(first.tensor({2}, DType::F32), Code::MovedFrom, "moved"));
  EXPECT_TRUE(refused(gemm(first, desc), Code::MovedFrom, "moved"));
  EXPECT_TRUE(refused(plan(first, desc), Code::MovedFrom, "moved"));
  EXPECT_TRUE(refused(first.synchronize(), Code::MovedFrom, "moved"));
  EXPECT_TRUE(refused(first.health(), Code::MovedFrom, "moved"));
  EXPECT_TRUE(refused(capture(first, [] { return Status{}; }), Code::MovedFrom, "moved"));
  EXPECT_TRUE(refused(graph.replay(), Code::MovedFrom, "moved"));
  EXPECT_EQ(first.dispatch_count() + first.id() + graph.size() + first.memory().cold, 0U);
  // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
  must(kept.replay());
  must(gemm(second, desc));
}

TEST_P(AdversarialRuntime, ACaptureWhoseBodyMovesTheRuntimeIsKept) {
  Runtime first = open(GetParam());
  const Tensor x = must(first.tensor({2, 2}, DType::F32));
  const Tensor y = must(first.tensor({2, 2}, DType::F32));
  std::optional<Runtime> second;
  Graph graph = must(capture(first, [&] {
    second.emplace(std::move(first));
    return gemm(*second, {.a = x, .b = x, .c = y});
  }));
  EXPECT_EQ(graph.size(), 1U);
  must(graph.replay());
  must(second->synchronize());
}

TEST_P(AdversarialRuntime, TensorShapes) {
  EXPECT_TRUE(refused(runtime_.tensor({2}, static_cast<DType>(99)), Code::InvalidOption, "dtype"));
  EXPECT_TRUE(refused(runtime_.tensor({2}, DType::F32, static_cast<Memory>(7)), Code::InvalidOption,
                      "memory"));
  for (const Memory memory : {Memory::Cold, Memory::Hot, Memory::Bump}) {
    const auto make = [&](const Shape& shape, DType dtype = DType::F32) {
      return runtime_.tensor(shape, dtype, memory);
    };
    EXPECT_TRUE(refused(make({-1, 4}), Code::InvalidShape, "-1"));
    EXPECT_TRUE(
        refused(make({4, std::numeric_limits<std::uint64_t>::max()}), Code::InvalidShape, "1"));
    EXPECT_TRUE(refused(make({kMax, kMax}), Code::SizeOverflow, "tensor"));
    EXPECT_TRUE(refused(make({kMax, 2}, DType::I8), Code::SizeOverflow, "tensor"));
    EXPECT_TRUE(refused(make({kMax}), Code::SizeOverflow, "tensor"));
    EXPECT_TRUE(refused(make({std::int64_t{1} << 55}), Code::OutOfMemory, ""));
    EXPECT_TRUE(refused(make({std::int64_t{1} << 59}, DType::I8), Code::OutOfMemory, ""));
  }
  const std::vector<std::int64_t> seven(7, 1);
  EXPECT_TRUE(refused(runtime_.tensor(Shape::of(seven), DType::F32), Code::InvalidShape, ""));
  const Result<Tensor> empty = runtime_.tensor(
      {std::int64_t{1} << 40, std::int64_t{1} << 40, std::int64_t{1} << 40, 0}, DType::F32);
  ASSERT_TRUE(succeeded(empty));
  EXPECT_EQ(empty->size(), 0);
}

TEST_P(AdversarialRuntime, Views) {
  EXPECT_TRUE(refused(tensor_.slice(2, 0, 1), Code::InvalidShape, "2"));
  EXPECT_TRUE(refused(tensor_.slice(-1, 0, 1), Code::InvalidShape, "-1"));
  EXPECT_TRUE(refused(tensor_.slice(0, -1, 1), Code::InvalidShape, "-1"));
  EXPECT_TRUE(refused(tensor_.slice(0, 0, 5), Code::InvalidShape, "5"));
  EXPECT_TRUE(refused(tensor_.slice(0, 3, 2), Code::InvalidShape, "3"));
  EXPECT_TRUE(refused(tensor_.reshape({5, 3}), Code::InvalidShape, "15"));
  EXPECT_TRUE(refused(tensor_.reshape({-4, -3}), Code::InvalidShape, "-4"));
  EXPECT_TRUE(refused(tensor_.reshape({kMax, kMax}), Code::SizeOverflow, ""));
  EXPECT_TRUE(refused(tensor_.transposed().reshape({12}), Code::InvalidShape, "contiguous"));
  EXPECT_TRUE(refused(tensor_.view({4, 3}, {3, 1}, 1), Code::InvalidShape, ""));
  EXPECT_TRUE(refused(tensor_.view({13}, {1}, 0), Code::InvalidShape, ""));
  EXPECT_TRUE(refused(tensor_.view({2}, {-1}, 5), Code::InvalidShape, "-1"));
  EXPECT_TRUE(refused(tensor_.view({2}, {1}, -1), Code::InvalidShape, "-1"));
  EXPECT_TRUE(refused(tensor_.view({3}, {kMax}, 0), Code::SizeOverflow, ""));
  EXPECT_TRUE(refused(tensor_.view({1}, {1}, kMax), Code::SizeOverflow, ""));
  EXPECT_TRUE(refused(tensor_.repeated(kMax), Code::SizeOverflow, ""));
  EXPECT_TRUE(refused(Tensor().view({1}, {1}, 0), Code::InvalidTensor, ""));
  Tensor deep = must(tensor_.reshape({1, 1, 1, 1, 4, 3}));
  EXPECT_TRUE(refused(deep.repeated(2), Code::InvalidShape, "rank"));
  EXPECT_EQ(Tensor().transposed().rank(), 0);
  EXPECT_EQ(must(tensor_.slice(0, 4, 4)).size(), 0);
}

TEST_P(AdversarialRuntime, Transfers) {
  std::vector<float> host(13, 7.0F);
  EXPECT_TRUE(refused(runtime_.upload(tensor_, host.data(), 11 * 4), Code::SizeMismatch, "44"));
  EXPECT_TRUE(refused(runtime_.upload(tensor_, host.data(), 13 * 4), Code::SizeMismatch, "52"));
  EXPECT_TRUE(refused(runtime_.upload(tensor_, host.data(), 0), Code::SizeMismatch, "0"));
  EXPECT_TRUE(refused(runtime_.upload(tensor_, nullptr, 48), Code::SizeMismatch, "null"));
  EXPECT_TRUE(refused(runtime_.upload(Tensor(), host.data(), 4), Code::InvalidTensor, ""));
  EXPECT_TRUE(refused(runtime_.download(tensor_, host.data(), 52), Code::SizeMismatch, "52"));
  EXPECT_TRUE(refused(runtime_.download(tensor_, nullptr, 48), Code::SizeMismatch, "null"));
  EXPECT_TRUE(refused(runtime_.download(Tensor(), host.data(), 4), Code::InvalidTensor, ""));
  Runtime other = open(GetParam());
  const Tensor foreign = must(other.tensor({4, 3}, DType::F32));
  EXPECT_TRUE(refused(runtime_.upload(foreign, host.data(), 48), Code::ForeignTensor, ""));
  EXPECT_TRUE(refused(runtime_.download(foreign, host.data(), 48), Code::ForeignTensor, ""));
  const Tensor repeated = must(tensor_.view({4, 3}, {0, 1}, 0));
  EXPECT_TRUE(refused(runtime_.upload(repeated, host.data(), 48), Code::InvalidShape, ""));
  EXPECT_EQ(host, std::vector<float>(13, 7.0F));
  EXPECT_EQ(floats_of(runtime_, tensor_), std::vector<float>(12, 0.0F));
  EXPECT_TRUE(succeeded(runtime_.upload(must(runtime_.tensor({0}, DType::F32)), nullptr, 0)));
}

TEST_P(AdversarialRuntime, Elementwise) {
  Runtime other = open(GetParam());
  const Tensor foreign = must(other.tensor({4, 3}, DType::F32));
  const Tensor half = must(runtime_.tensor({4, 3}, DType::F16));
  const Tensor same = must(runtime_.tensor({4, 3}, DType::F32));
  const auto expect = [&](const auto& call, const auto& desc, Code code, const char* word) {
    EXPECT_TRUE(refused(call(runtime_, desc), code, word));
    EXPECT_TRUE(refused(plan(runtime_, desc), code, word));
  };
  expect(copy, CopyDesc{Tensor(), same}, Code::InvalidTensor, "source");
  expect(copy, CopyDesc{tensor_, Tensor()}, Code::InvalidTensor, "destination");
  expect(copy, CopyDesc{foreign, same}, Code::ForeignTensor, "source");
  expect(copy, CopyDesc{tensor_, foreign}, Code::ForeignTensor, "destination");
  expect(copy, CopyDesc{tensor_, half}, Code::UnsupportedConversion, "f16");
  expect(copy, CopyDesc{tensor_, same.transposed()}, Code::InvalidShape, "[3, 4]");
  expect(copy, CopyDesc{must(tensor_.slice(0, 0, 3)), must(tensor_.slice(0, 1, 4))},
         Code::InvalidShape, "overlap");
  expect(copy, CopyDesc{tensor_, must(same.view({4, 3}, {0, 1}, 0))}, Code::InvalidShape,
         "destination");
  expect(cast, CastDesc{tensor_, same}, Code::UnsupportedConversion, "f32");
  expect(cast, CastDesc{tensor_, must(runtime_.tensor({4, 3}, DType::I8))},
         Code::UnsupportedConversion, "i8");
  expect(cast, CastDesc{tensor_, must(runtime_.tensor({12}, DType::F16))}, Code::InvalidShape,
         "[12]");
  expect(cast, CastDesc{foreign, half}, Code::ForeignTensor, "source");
  expect(fill, FillDesc{Tensor(), 0}, Code::InvalidTensor, "destination");
  expect(fill, FillDesc{foreign, 0}, Code::ForeignTensor, "destination");
  expect(fill, FillDesc{must(runtime_.tensor({4}, DType::I8)), 0.5}, Code::InvalidOption, "0.5");
  EXPECT_EQ(floats_of(runtime_, same), std::vector<float>(12, 0.0F));
}

TEST_P(AdversarialRuntime, HugeStridesOfEmptyViewsAreNoOverflow) {
  const Tensor x = must(tensor_.view({5, 0, 7}, {kMax, kMax, kMax}, 0));
  const Tensor y = must(tensor_.view({5, 0, 7}, {1, kMax, kMax / 2}, 3));
  EXPECT_TRUE(succeeded(copy(runtime_, {.source = x, .destination = y})));
  EXPECT_TRUE(succeeded(fill(runtime_, {.destination = x, .value = 1})));
  EXPECT_TRUE(succeeded(plan(runtime_, CopyDesc{.source = x, .destination = y})));
  EXPECT_TRUE(succeeded(runtime_.upload(x, nullptr, 0)));
  EXPECT_TRUE(succeeded(runtime_.download(x, nullptr, 0)));
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(must(x.slice(0, 4, 5)).size(), 0);
}

TEST_P(AdversarialRuntime, EventsThatWereNeverSubmitted) {
  const Event known = must(runtime_.submit());
  EXPECT_TRUE(must(runtime_.completed(known)) || succeeded(runtime_.wait(known)));
  const Event later{known.runtime, known.value + 1};
  EXPECT_TRUE(refused(runtime_.wait(later), Code::InvalidOption, ""));
  EXPECT_TRUE(refused(runtime_.completed(later), Code::InvalidOption, ""));
  EXPECT_TRUE(refused(runtime_.wait(Event{}), Code::InvalidOption, ""));
  const Event foreign = must(open(GetParam()).submit());
  EXPECT_TRUE(refused(runtime_.wait(foreign), Code::InvalidOption, ""));
}

TEST_P(AdversarialRuntime, BumpMemory) {
  EXPECT_TRUE(refused(runtime_.tensor({1}, DType::F32, Memory::Bump), Code::OutOfMemory, "Bump"));
  EXPECT_TRUE(refused(runtime_.bump_reserve(std::numeric_limits<std::uint64_t>::max()),
                      Code::SizeOverflow, "bump_reserve"));
  EXPECT_TRUE(refused(runtime_.bump_reserve(std::uint64_t{1} << 62), Code::OutOfMemory, ""));
  must(runtime_.bump_reserve(1024));
  EXPECT_TRUE(refused(runtime_.tensor({257}, DType::F32, Memory::Bump), Code::OutOfMemory, "1028"));
  EXPECT_TRUE(succeeded(runtime_.tensor({256}, DType::F32, Memory::Bump)));
}

TEST_P(AdversarialRuntime, CaptureMisuse) {
  const auto in_capture = [&](const std::function<Status()>& body) {
    return capture(runtime_, body);
  };
  std::vector<float> host(12);
  Graph graph = must(capture(runtime_, [] { return Status(); }));
  EXPECT_EQ(graph.size(), 0U);
  const Event event = must(runtime_.submit());
  EXPECT_TRUE(refused(in_capture(nullptr), Code::CaptureMisuse, "empty"));
  EXPECT_TRUE(refused(in_capture([&] { return runtime_.upload(tensor_, host.data(), 48); }),
                      Code::CaptureMisuse, "upload"));
  EXPECT_TRUE(refused(in_capture([&] { return runtime_.download(tensor_, host.data(), 48); }),
                      Code::CaptureMisuse, "download"));
  EXPECT_TRUE(refused(in_capture([&] { return runtime_.synchronize(); }), Code::CaptureMisuse,
                      "synchronize"));
  EXPECT_TRUE(
      refused(in_capture([&] { return runtime_.wait(event); }), Code::CaptureMisuse, "wait"));
  EXPECT_TRUE(refused(in_capture([&]() -> Status {
                        const Result<Event> result = runtime_.submit();
                        return result ? Status() : Status(result.error());
                      }),
                      Code::CaptureMisuse, "submit"));
  EXPECT_TRUE(refused(in_capture([&] { return graph.replay(); }), Code::CaptureMisuse, "replay"));
  EXPECT_TRUE(refused(in_capture([&]() -> Status {
                        const Result<Graph> inner = capture(runtime_, [] { return Status(); });
                        return inner ? Status() : Status(inner.error());
                      }),
                      Code::CaptureMisuse, "capture"));
  EXPECT_TRUE(refused(in_capture([]() -> Status { throw std::runtime_error("thrown on purpose"); }),
                      Code::CaptureMisuse, "thrown on purpose"));
  EXPECT_TRUE(refused(in_capture([]() -> Status { throw 7; }), Code::CaptureMisuse, ""));
  EXPECT_TRUE(refused(in_capture([]() -> Status {
                        return Error{Code::FileWrite, "of the body's own"};
                      }),
                      Code::FileWrite, "own"));
}

TEST_P(AdversarialRuntime, ACallFromAnotherThreadDuringACaptureIsBusy) {
  Code code = Code::Ok;
  must(capture(runtime_, [&]() -> Status {
    std::thread intruder([&] {
      const Status status = fill(runtime_, {.destination = tensor_, .value = 1});
      code = status ? Code::Ok : status.error().code;
    });
    intruder.join();
    return {};
  }));
  EXPECT_EQ(code, Code::RuntimeBusy);
}

TEST_P(AdversarialRuntime, AnErrorIgnoredInACaptureKeepsNothingOfThatCall) {
  Graph graph = must(capture(runtime_, [&]() -> Status {
    const Status bad = fill(runtime_, {.destination = Tensor(), .value = 1});
    EXPECT_FALSE(bad);
    return fill(runtime_, {.destination = tensor_, .value = 2});
  }));
  EXPECT_EQ(graph.size(), 1U);
  must(graph.replay());
  dispatches_ += 1;
  EXPECT_EQ(floats_of(runtime_, tensor_), std::vector<float>(12, 2.0F));
}

GIRIH_FOR_ALL_BACKENDS(AdversarialRuntime);

}  // namespace
}  // namespace girih::testing
