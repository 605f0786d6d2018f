#include <gtest/gtest.h>

#include "device/control.hpp"
#include "support/gemm.hpp"

// What a failure of the device leaves, and what recover() makes of it.

namespace girih::testing {
namespace {

class MetalRecovery : public ::testing::Test {
 protected:
  MetalRecovery() { must(runtime_.synchronize()); }  // the upload is in A
  ~MetalRecovery() override {
    emulator::stall(false);
    emulator::set_feedback_time(emulator::FeedbackTime::BeforeEvents);
  }
  Status multiply() { return gemm(runtime_, {.a = a_, .b = a_, .c = c_}); }
  void expect_works() {
    must(fill(runtime_, {.destination = c_, .value = 9}));
    must(multiply());
    EXPECT_EQ(floats_of(runtime_, c_), (std::vector<float>{7, 10, 15, 22}));
  }
  Runtime runtime_ = must(Runtime::open({.backend = Backend::Metal}));
  Tensor a_ = tensor_of(runtime_, {2, 2}, DType::F32, std::vector<float>{1, 2, 3, 4});
  Tensor c_ = must(runtime_.tensor({2, 2}, DType::F32));
};

TEST_F(MetalRecovery, AfterEveryKindOfFailure) {
  Graph graph = must(capture(runtime_, [&] { return multiply(); }));
  for (const auto& [code, text] :
       {std::pair{1L, "too long"}, {3L, "no memory"}, {4L, "unplugged"}, {6L, "nteractivity"}}) {
    must(multiply());
    emulator::fail_next_commit(code, text);
    const Result<Event> event = runtime_.submit();
    ASSERT_FALSE(runtime_.synchronize());
    EXPECT_TRUE(refused(runtime_.health(), Code::RuntimePoisoned, text));
    EXPECT_TRUE(refused(multiply(), Code::RuntimePoisoned, text));  // it stays failed
    EXPECT_TRUE(refused(runtime_.tensor({1}, DType::F32), Code::RuntimePoisoned, text));
    must(runtime_.recover());
    EXPECT_TRUE(succeeded(runtime_.health()));
    if (event) {
      EXPECT_TRUE(must(runtime_.completed(*event)));
    }
    expect_works();
    must(fill(runtime_, {.destination = c_, .value = 0}));
    must(graph.replay());
    EXPECT_EQ(floats_of(runtime_, c_), (std::vector<float>{7, 10, 15, 22}));
  }
}

TEST_F(MetalRecovery, TakesBackNothingThatWasNotCommitted) {
  must(multiply());
  emulator::fail_next_commit(6, "gone");
  ASSERT_FALSE(runtime_.synchronize());
  must(runtime_.recover());
  must(runtime_.recover());  // of a healthy runtime: nothing
  expect_works();
}

TEST_F(MetalRecovery, WaitsForWorkThatStillRuns) {
  must(multiply());
  const Event event = must(runtime_.submit());
  emulator::stall(true);
  ASSERT_TRUE(refused(runtime_.wait(event), Code::TimedOut, "60 s"));
  EXPECT_TRUE(refused(runtime_.recover(), Code::TimedOut, "still works"));
  EXPECT_TRUE(refused(multiply(), Code::RuntimePoisoned, "60 s"));
  emulator::stall(false);
  must(runtime_.recover());
  EXPECT_TRUE(must(runtime_.completed(event)));
  expect_works();
}

TEST_F(MetalRecovery, FailuresAreToldApart) {
  struct Case {
    long number;
    const char* text;
    Code code;
    const char* word;
  };
  for (const auto& [number, text, code, word] :
       {Case{1, "took too long", Code::TimedOut, "stopped the work"},
        Case{6, "Impacting Interactivity (0000000e)", Code::GpuInterrupted, "for the display"},
        Case{3, "no memory", Code::GpuOutOfMemory, "ran out of memory"},
        Case{4, "unplugged", Code::DeviceFailed, "code 4"}}) {
    must(multiply());
    emulator::fail_next_commit(number, text);
    EXPECT_TRUE(refused(runtime_.synchronize(), code, word));
    must(runtime_.recover());
  }
  expect_works();
}

TEST_F(MetalRecovery, AFailureThatIsReportedAfterTheEventIsNotMissed) {
  must(multiply());
  must(runtime_.synchronize());
  emulator::set_feedback_time(emulator::FeedbackTime::Late);
  must(multiply());
  EXPECT_TRUE(succeeded(runtime_.synchronize()));
  must(multiply());
  emulator::fail_next_commit(4, "unplugged");
  EXPECT_TRUE(refused(runtime_.synchronize(), Code::DeviceFailed, "unplugged"));
  must(runtime_.recover());
  expect_works();
  must(multiply());
  emulator::fail_next_commit(4, "unplugged");
  const Event event = must(runtime_.submit());
  Result<bool> is_done = false;
  while (is_done && !*is_done) is_done = runtime_.completed(event);
  EXPECT_TRUE(refused(is_done, Code::DeviceFailed, "unplugged"));
  must(runtime_.recover());
  expect_works();
}

TEST_F(MetalRecovery, WorkThatIsNeverReportedIsATimeOut) {
  must(multiply());
  emulator::set_feedback_time(emulator::FeedbackTime::Never);
  EXPECT_TRUE(refused(runtime_.synchronize(), Code::TimedOut, "did not report how"));
  emulator::set_feedback_time(emulator::FeedbackTime::BeforeEvents);
  must(runtime_.recover());
  expect_works();
}

TEST_F(MetalRecovery, AnAllocationThatIsRefusedIsNoFailureOfTheDevice) {
  EXPECT_TRUE(refused(runtime_.tensor({std::int64_t{1} << 40}, DType::I8), Code::OutOfMemory, ""));
  EXPECT_TRUE(succeeded(runtime_.health()));
  expect_works();
}

TEST_F(MetalRecovery, IsRefusedInsideACapture) {
  EXPECT_TRUE(refused(capture(runtime_, [&] { return runtime_.recover(); }), Code::CaptureMisuse,
                      "recover"));
}

TEST_F(MetalRecovery, AskingWhetherWorkIsDoneEndsWhereNoReportComes) {
  must(multiply());  // and what it loads and tries
  must(runtime_.synchronize());
  emulator::set_feedback_time(emulator::FeedbackTime::Never);
  must(multiply());
  const Event event = must(runtime_.submit());
  Result<bool> done = false;
  while (done && !*done) done = runtime_.completed(event);
  EXPECT_TRUE(refused(done, Code::TimedOut, "did not report"));
  emulator::set_feedback_time(emulator::FeedbackTime::BeforeEvents);
  must(runtime_.recover());
  // A new failure to report has its own time.
  emulator::set_feedback_time(emulator::FeedbackTime::Never);
  must(multiply());
  EXPECT_FALSE(must(runtime_.completed(must(runtime_.submit()))));
}

}  // namespace
}  // namespace girih::testing
