#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "blas.hpp"
#include "support/allocations.hpp"
#include "support/sanitizers.hpp"
#include "support/system_calls.hpp"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

// The library in a process: threads that call at once, fork, memory.

namespace girih_blas_test {
namespace {

/// Before the first call, which reads it.
constexpr int kThreads = 3;
const bool threads_are_set = setenv("GIRIH_THREADS", "3", 1) == 0;

/// Large enough to be spread over threads.
constexpr std::int64_t kLarge = 260;

void multiply_many(std::uint32_t seed, int rounds, std::atomic<int>& failures) {
  ExactProduct small('N', 'T', 9, 7, 5, 1, 1, 1, seed);
  ExactProduct large('T', 'N', kLarge, 120, 90, 2, 0, 3, seed + 50);
  for (int i = 0; i < rounds; ++i) {
    if (small.run(Interface::Fortran) != small.want) ++failures;
    if (large.run(Interface::RowMajor) != large.want) ++failures;
  }
}

int failures_of_threads(int threads, int rounds) {
  std::atomic<int> failures = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < threads; ++t) {
    callers.emplace_back(
        [&, t] { multiply_many(static_cast<std::uint32_t>(t + 1), rounds, failures); });
  }
  for (std::thread& caller : callers) caller.join();
  return failures.load();
}

TEST(BlasProcess, ManyThreadsMultiplyAtOnceFromTheFirstCallOn) {
  EXPECT_EQ(failures_of_threads(8, 100), 0);
}

#if !GIRIH_TEST_TSAN  // it does not follow a fork of a process with threads

/// Whether `body` holds in a child, which is killed if it hangs.
template <class Body>
bool holds_in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

bool multiplies() {
  std::atomic<int> failures = 0;
  multiply_many(99, 5, failures);
  return failures == 0;
}

bool multiplies_on_threads() {
  return failures_of_threads(4, 10) == 0;
}

std::int64_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

/// None before a product that is worth them.
bool starts_threads() {
  ExactProduct small('N', 'N', 8, 8, 8, 1, 0, 0, 1);
  return small.run(Interface::Fortran) == small.want && threads_of_this_process() == 1 &&
         multiplies() && threads_of_this_process() == kThreads;
}

TEST(BlasProcess, EveryProcessStartsThreadsAtItsFirstLargeProduct) {
  ASSERT_TRUE(threads_are_set);
  EXPECT_TRUE(holds_in_child([] { return starts_threads() && holds_in_child(starts_threads); }));
}

TEST(BlasProcess, AChildForkedBeforeTheFirstCallMultiplies) {
  EXPECT_TRUE(holds_in_child(multiplies_on_threads));
  EXPECT_TRUE(multiplies());
}

TEST(BlasProcess, ChildrenForkedAfterUseMultiplyAndForkAgain) {
  ASSERT_TRUE(multiplies());
  EXPECT_TRUE(holds_in_child(multiplies_on_threads));
  EXPECT_TRUE(holds_in_child(
      [] { return multiplies() && holds_in_child(multiplies_on_threads) && multiplies(); }));
  EXPECT_TRUE(multiplies());
}

TEST(BlasProcess, ChildrenForkedWhileOtherThreadsMultiplyMultiply) {
  std::atomic<bool> stop = false;
  std::atomic<int> failures = 0;
  std::vector<std::thread> callers;
  for (std::uint32_t t = 1; t <= 3; ++t) {
    callers.emplace_back([&, t] {
      while (!stop) multiply_many(t, 1, failures);
    });
  }
  int lost = 0;
  for (int i = 0; i < 20; ++i) lost += holds_in_child(multiplies) ? 0 : 1;
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(failures, 0);
}

#endif

#if !GIRIH_TEST_ASAN && !GIRIH_TEST_TSAN  // they own the allocator and the address space

void call_in_place(ExactProduct& product, std::vector<float>& c) {
  Call call = product.call;
  call.a = product.a.data();
  call.b = product.b.data();
  call.c = c.data();
  call_fortran<std::int32_t>(sgemm_, call);
}

TEST(BlasProcess, SteadyStateAllocatesNothing) {
  ExactProduct small('N', 'N', 8, 8, 8, 1, 0, 0, 1);
  ExactProduct large('N', 'N', kLarge, kLarge, kLarge, 1, 0, 0, 2);
  std::vector<float> small_c = small.c, large_c = large.c;
  const std::uint64_t before = girih::testing::heap_allocations();
  call_in_place(large, large_c);
  const std::uint64_t warm = girih::testing::heap_allocations();
  EXPECT_GT(warm, before);  // the count sees inside the library
  for (int i = 0; i < 20; ++i) {
    call_in_place(small, small_c);
    call_in_place(large, large_c);
  }
  EXPECT_EQ(girih::testing::heap_allocations(), warm);
}

#if defined(__linux__) && !GIRIH_TEST_ASAN
TEST(BlasProcess, SteadyStateWakesThreadsAndAsksNothingElseOfTheSystem) {
  ExactProduct small('N', 'N', 8, 8, 8, 1, 0, 0, 1);
  ExactProduct large('N', 'N', kLarge, kLarge, kLarge, 1, 0, 0, 2);
  std::vector<float> small_c = small.c, large_c = large.c;
  const auto run = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      call_in_place(small, small_c);
      call_in_place(large, large_c);
    }
    return small_c == small.want && large_c == large.want;
  };
  EXPECT_EQ(girih::testing::first_system_call([&] { return run(3); }, [&] { return run(30); },
                                              {SYS_futex, SYS_sched_yield}),
            girih::testing::kNone);
}
#endif

TEST(BlasProcess, WithoutMemoryForAWorkspaceTheProductIsExactAllTheSame) {
  ExactProduct shapes[] = {{'N', 'N', 500, 400, 700, 2, 3, 1, 1},
                           {'T', 'T', 400, 500, 700, 1, 0, 1, 2},
                           {'N', 'T', 1, 1, 90000, 1, 1, 0, 3},
                           {'T', 'N', 3, 2, 90000, -1, 2, 0, 4}};
  ASSERT_TRUE(multiplies());
  EXPECT_TRUE(holds_in_child([&shapes] {
    std::vector<std::vector<float>> results;
    for (ExactProduct& product : shapes) results.push_back(product.c);
    const rlimit none{.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &none) != 0) return false;
    // What the heap still has free is used up, down to pieces smaller than a workspace.
    for (std::size_t bytes = std::size_t{1} << 24; bytes >= 32 * 1024; bytes /= 2) {
      while (::operator new(bytes, std::nothrow) != nullptr) continue;
    }
    for (std::size_t i = 0; i < std::size(shapes); ++i) call_in_place(shapes[i], results[i]);
    bool all_equal = true;
    for (std::size_t i = 0; i < std::size(shapes); ++i) {
      all_equal = all_equal && results[i] == shapes[i].want;
    }
    return all_equal;
  }));
}

#endif

}  // namespace
}  // namespace girih_blas_test
