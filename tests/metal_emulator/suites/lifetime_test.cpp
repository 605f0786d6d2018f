#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <optional>
#include <thread>

#include "device/control.hpp"
#include "suites/pages.hpp"
#include "suites/raw_device.hpp"
#include "support/gemm.hpp"

// What goes while the GPU, or another graph, still needs something of it.

namespace girih::testing {
namespace {

using metal::Ref;

class MetalLifetime : public ::testing::Test {
 protected:
  Result<Graph> capture_fill(const Tensor& x, double value) {
    return capture(runtime_, [&] { return fill(runtime_, {.destination = x, .value = value}); });
  }

  const metal::Pool pool_;
  Ref device_{MTLCreateSystemDefaultDevice()};
  Runtime runtime_ = must(Runtime::open({.backend = Backend::Metal}));
};

TEST_F(MetalLifetime, GraphsMayGoOnAnotherThreadWhileCallsAreEncoded) {
  const Tensor x = must(runtime_.tensor({64}, DType::F32));
  std::atomic<bool> is_over = false;
  std::mutex mutex;
  std::vector<Graph> handed;
  std::thread other([&] {
    while (!is_over) {
      std::vector<Graph> mine;
      {
        const std::lock_guard lock(mutex);
        mine.swap(handed);
      }
      mine.clear();
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 500; ++i) {
    Graph graph = must(capture_fill(x, 1));
    must(graph.replay());
    for (int j = 0; j < 5; ++j) must(fill(runtime_, {.destination = x, .value = 2}));
    const std::lock_guard lock(mutex);
    handed.push_back(std::move(graph));
  }
  is_over = true;
  other.join();
  must(runtime_.synchronize());
  EXPECT_EQ(floats_of(runtime_, x), std::vector<float>(64, 2));
}

TEST_F(MetalLifetime, DroppingAGraphCommitsNothingAndKeepsItsTablesUntilTheGpuIsDone) {
  const Tensor x = must(runtime_.tensor({64}, DType::F32));
  must(runtime_.synchronize());
  const auto tables = [] { return emulator::live_objects()["MTL4ArgumentTable"]; };
  const int before = tables();
  std::optional<Graph> graph = must(capture_fill(x, 1));
  const Ref gate(metal::device::new_shared_event(device_.get()));
  must(runtime_.wait_for({.handle = gate.get(), .value = 1}));
  must(graph->replay());
  const int commits = emulator::commits();
  graph.reset();  // the GPU still waits for the gate
  EXPECT_EQ(emulator::commits(), commits);
  EXPECT_EQ(tables(), before + 1);
  metal::event::set_value(gate.get(), 1);
  must(runtime_.synchronize());
  EXPECT_EQ(floats_of(runtime_, x), std::vector<float>(64, 1));
  EXPECT_EQ(tables(), before);
}

TEST_F(MetalLifetime, AGraphOutlivesABufferThatHoldsItsMemoryToo) {
  Pages pages;
  constexpr std::size_t kPage = Pages::kPage;
  const Ref first = pages.buffer_over(device_, 0, 1);
  Ref all = pages.buffer_over(device_, 0, 8);
  const Tensor small =
      must(runtime_.wrap({.handle = first.get(), .bytes = kPage}, {kPage / 4}, DType::F32));
  std::optional<Tensor> whole =
      must(runtime_.wrap({.handle = all.get(), .bytes = 8 * kPage}, {2 * kPage}, DType::F32));
  Graph graph = must(capture_fill(small, 3));
  must(fill(runtime_, {.destination = small, .value = 4}));
  must(runtime_.synchronize());
  whole.reset();
  all = Ref();
  must(runtime_.synchronize());
  must(graph.replay());
  must(runtime_.synchronize());
  EXPECT_EQ(pages.at(0), 3);
}

TEST_F(MetalLifetime, UploadsToABusyQueueWaitWhereNoKernelCopies) {
  emulator::fail_library("elementwise", "program_source:7:3: error: broken");
  constexpr std::int64_t kBytes = 131072;
  const Tensor x = must(runtime_.tensor({kBytes}, DType::I8));
  static_cast<void>(must(runtime_.submit()));  // the fill is under way, nothing is open
  std::vector<std::int8_t> values(kBytes);
  for (int i = 0; i < 5; ++i) {
    values.assign(values.size(), static_cast<std::int8_t>(i));
    must(runtime_.upload(x, values.data(), values.size()));
    must(runtime_.submit());
  }
  std::vector<std::int8_t> got(kBytes);
  must(runtime_.download(x, got.data(), got.size()));
  EXPECT_EQ(got, values);
  emulator::fail_library("elementwise", "");
}

}  // namespace
}  // namespace girih::testing
