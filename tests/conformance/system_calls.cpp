#include "support/system_calls.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/allocations.hpp"
#include "support/backends.hpp"
#include "support/gemm.hpp"
#include "support/sanitizers.hpp"

#if defined(__linux__) && !GIRIH_TEST_ASAN && !GIRIH_TEST_TSAN
#include <sys/syscall.h>

// In steady state a call of the cpu backend asks nothing of the system.

namespace girih::testing {
namespace {

/// Every kind of call, over operands that were made before.
class SteadyState {
 public:
  explicit SteadyState(std::shared_ptr<Executor> executor)
      : runtime_(open(Backend::Cpu, {.executor = std::move(executor)})) {}

  bool run(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      if (!round()) return false;
    }
    return true;
  }

 private:
  bool round() {
    const bool calls = gemm(runtime_, product_) && gemm(runtime_, halves_) &&
                       cast(runtime_, {.source = a_, .destination = half_}) &&
                       copy(runtime_, {.source = a_.transposed(), .destination = turned_}) &&
                       fill(runtime_, {.destination = c_, .value = 1}) && graph_.replay() &&
                       runtime_.upload(b_, std::span<const float>(host_)) &&
                       runtime_.download(b_, std::span(host_));
    const Result<Event> event = runtime_.submit();
    return calls && event && runtime_.completed(*event) && runtime_.wait(*event) &&
           runtime_.synchronize() && !gemm(runtime_, refused_);
  }

  Runtime runtime_;
  Tensor a_ = must(runtime_.tensor({130, 700}, DType::F32));
  Tensor b_ = must(runtime_.tensor({700, 90}, DType::F32));
  Tensor c_ = must(runtime_.tensor({130, 90}, DType::F32));
  Tensor half_ = must(runtime_.tensor({130, 700}, DType::BF16));
  Tensor turned_ = must(runtime_.tensor({700, 130}, DType::F32));
  Tensor square_ = must(runtime_.tensor({130, 130}, DType::F32));
  GemmDesc product_{.a = a_, .b = b_, .c = c_, .epilogue = {.activation = Activation::Silu}};
  GemmDesc halves_{.a = half_, .b = half_.transposed(), .c = square_};
  GemmDesc refused_{.a = a_, .b = a_, .c = c_};
  Graph graph_ = must(capture(runtime_, [this] { return gemm(runtime_, product_); }));
  std::vector<float> host_ = std::vector<float>(700 * 90, 1.0F);
};

/// The first system call of fifty steady rounds.
std::optional<int> first_call_on(const std::function<std::shared_ptr<Executor>()>& make_executor,
                                 std::initializer_list<int> allowed = {}) {
  std::optional<SteadyState> state;
  return first_system_call(
      [&] {
        state.emplace(make_executor());
        return state->run(3);
      },
      [&] { return state->run(50); }, allowed);
}

TEST(SteadyStateCalls, TheCounterFindsASystemCall) {
  const auto nothing = [] { return true; };
  EXPECT_EQ(first_system_call(nothing, nothing), kNone);
  EXPECT_EQ(first_system_call(nothing, [] { return syscall(SYS_getppid) > 0; }), SYS_getppid);
  EXPECT_EQ(first_system_call(nothing, [] { return syscall(SYS_getppid) > 0; }, {SYS_getppid}),
            kNone);
  EXPECT_EQ(first_system_call(nothing, [] { return false; }), std::nullopt);
}

TEST(SteadyStateCalls, MakeNoSystemCallOnOneThread) {
  EXPECT_EQ(first_call_on(make_sequential_executor), kNone);
  EXPECT_EQ(first_call_on([] { return must(make_thread_pool(1)); }), kNone);
}

TEST(SteadyStateCalls, WakeSleepingThreadsAndNothingElseOnAPool) {
  // A worker that found nothing to do for some 50 us sleeps: waking it is a futex call. A caller
  // that outran its workers yields to them.
  EXPECT_EQ(first_call_on([] { return must(make_thread_pool(2)); }, {SYS_futex, SYS_sched_yield}),
            kNone);
}

}  // namespace
}  // namespace girih::testing
#endif
