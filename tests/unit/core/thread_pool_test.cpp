#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <girih/executor.hpp>

#include "support/expect.hpp"
#include "support/sanitizers.hpp"

namespace girih {
namespace {

using Counts = std::vector<std::atomic<int>>;

/// Runs a loop and checks that each index was visited once.
void expect_complete(Executor& executor, std::int64_t count) {
  Counts counts(static_cast<std::size_t>(count));
  executor.parallel_for(
      count,
      [](void* context, std::int64_t i) {
        (*static_cast<Counts*>(context))[static_cast<std::size_t>(i)]++;
      },
      &counts);
  for (const auto& visits : counts) ASSERT_EQ(visits.load(), 1);
}

class ThreadPoolTest : public ::testing::TestWithParam<int> {
 protected:
  std::shared_ptr<Executor> pool_ = testing::must(make_thread_pool(GetParam()));
};

TEST_P(ThreadPoolTest, StatesItsConcurrency) {
  EXPECT_EQ(pool_->concurrency(), GetParam());
}

TEST_P(ThreadPoolTest, VisitsEachIndexOnce) {
  for (const std::int64_t count : {0, 1, 2, 3, 7, 8, 64, 1000, 20'000}) {
    expect_complete(*pool_, count);
  }
}

TEST_P(ThreadPoolTest, SurvivesManyShortLoops) {
  std::atomic<std::int64_t> sum = 0;
  for (int loop = 0; loop < 20'000; ++loop) {
    pool_->parallel_for(
        3,
        [](void* context, std::int64_t i) {
          *static_cast<std::atomic<std::int64_t>*>(context) += i;
        },
        &sum);
  }
  EXPECT_EQ(sum.load(), 60'000);
}

TEST_P(ThreadPoolTest, WakesAfterSleeping) {
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    expect_complete(*pool_, 100);
  }
}

TEST_P(ThreadPoolTest, NeverRunsMoreBodiesAtOnceThanItStates) {
  struct State {
    std::atomic<int> running = 0, most = 0;
  } state;
  pool_->parallel_for(
      200,
      [](void* context, std::int64_t) {
        auto& s = *static_cast<State*>(context);
        const int now = ++s.running;
        int most = s.most;
        while (now > most && !s.most.compare_exchange_weak(most, now)) {
        }
        std::this_thread::yield();
        --s.running;
      },
      &state);
  EXPECT_LE(state.most.load(), GetParam());
}

TEST_P(ThreadPoolTest, LoopsMayNest) {
  struct State {
    Executor* executor;
    std::atomic<int> inner = 0;
  } state{pool_.get(), {}};
  pool_->parallel_for(
      9,
      [](void* context, std::int64_t) {
        auto& s = *static_cast<State*>(context);
        s.executor->parallel_for(
            5, [](void* inner, std::int64_t) { ++static_cast<State*>(inner)->inner; }, &s);
      },
      &state);
  EXPECT_EQ(state.inner.load(), 45);
}

TEST_P(ThreadPoolTest, SeveralThreadsMayShareIt) {
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) expect_complete(*pool_, 50);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_P(ThreadPoolTest, CallersThatMeetDoNotMixTheirLoops) {
  struct Loop {
    std::atomic<int> visits = 0;
    bool wrong = false;
  };
  std::atomic<int> ready = 0, wrong = 0;
  const auto call = [&] {
    for (int round = 1; round <= 500; ++round) {
      ++ready;
      while (ready.load() < 2 * round) std::this_thread::yield();  // both begin at once
      Loop loop;
      pool_->parallel_for(
          4,
          [](void* context, std::int64_t index) {
            auto& own = *static_cast<Loop*>(context);
            own.visits += 1 << (4 * index);
          },
          &loop);
      if (loop.visits != 0x1111) ++wrong;
    }
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_EQ(wrong.load(), 0);
}

#if !GIRIH_TEST_TSAN
TEST_P(ThreadPoolTest, AChildAfterForkComputes) {
  expect_complete(*pool_, 100);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // a hang is a failure, not a hung suite
    std::atomic<int> visits = 0;
    for (int loop = 0; loop < 3; ++loop) {
      pool_->parallel_for(
          100, [](void* context, std::int64_t) { ++*static_cast<std::atomic<int>*>(context); },
          &visits);
    }
    _exit(visits == 300 ? 0 : 1);
  }
  expect_complete(*pool_, 100);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expect_complete(*pool_, 100);
}
#endif

#if !GIRIH_TEST_TSAN
TEST_P(ThreadPoolTest, AChildMayDropThePoolOfItsParent) {
  expect_complete(*pool_, 100);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    pool_.reset();  // its threads are the parent's: nothing to join
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
#endif

TEST_P(ThreadPoolTest, ItsThreadsTakeNoSignalsButFaults) {
  struct State {
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> wrong = 0, workers = 0;
  } state;
  const auto look = [](void* context, std::int64_t) {
    State& shared = *static_cast<State*>(context);
    if (std::this_thread::get_id() == shared.caller) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // leaves indices to the others
      return;
    }
    ++shared.workers;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD}) {
      if (sigismember(&blocked, number) != 1) ++shared.wrong;
    }
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
      if (sigismember(&blocked, fault) != 0) ++shared.wrong;
    }
  };
  for (int i = 0; i < 500 && state.workers == 0 && pool_->concurrency() > 1; ++i) {
    pool_->parallel_for(20, look, &state);
  }
  EXPECT_EQ(state.workers > 0, pool_->concurrency() > 1);
  EXPECT_EQ(state.wrong.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, ::testing::Values(1, 2, 3, 7));

TEST(ExecutorTest, TheSequentialOneStaysOnItsThread) {
  const std::shared_ptr<Executor> executor = make_sequential_executor();
  ASSERT_NE(executor, nullptr);
  EXPECT_EQ(executor->concurrency(), 1);
  expect_complete(*executor, 100);
  std::vector<std::thread::id> ids;
  executor->parallel_for(
      5,
      [](void* context, std::int64_t) {
        static_cast<std::vector<std::thread::id>*>(context)->push_back(std::this_thread::get_id());
      },
      &ids);
  EXPECT_EQ(ids, std::vector<std::thread::id>(5, std::this_thread::get_id()));
}

TEST(ExecutorTest, TheDefaultPoolTakesTheUsableCores) {
  const auto pool = testing::must(make_thread_pool());
  EXPECT_GE(pool->concurrency(), 1);
  EXPECT_LE(pool->concurrency(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(ExecutorTest, RefusesANegativeCount) {
  EXPECT_TRUE(testing::refused(make_thread_pool(-1), Code::InvalidOption, "-1"));
}

}  // namespace
}  // namespace girih
