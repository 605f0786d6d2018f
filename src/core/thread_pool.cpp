#include "core/thread_pool.hpp"

#include <algorithm>
#include <csignal>
#include <new>
#include <pthread.h>
#include <thread>
#include <vector>

#include "core/cores.hpp"
#include "core/error.hpp"

namespace girih::inline v0 {
namespace {

/// How often fork() made this process, counted from its first pool. The one process-wide variable:
/// nothing else tells a child that its threads are gone without a system call a loop.
std::atomic<std::uint64_t> fork_generation{0};

void watch_forks() noexcept {
  static const int watching = pthread_atfork(
      nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(watching);
}

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// Rounds of `relax` before a thread sleeps: 20 to 60 us, longer than the gap between two calls of
/// a decode loop and far shorter than a scheduler's tick.
constexpr int kSpins = 2000;

/// Threads that the program did not make must not run its signal handlers. Faults stay deliverable.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &old_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &old_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t old_{};
};

}  // namespace

/// The workers of one process. A loop is open from `run` until its caller finds no index left;
/// workers that see it join by a compare-and-swap on `state_` and the caller waits only for those
/// that joined: one that sleeps through a short loop delays nobody.
class ThreadPool::Team {
 public:
  explicit Team(std::uint64_t generation) noexcept : generation_(generation) {}
  ~Team() {
    stopping_.store(true, std::memory_order_relaxed);
    epoch_.fetch_add(1);
    epoch_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  [[nodiscard]] std::size_t size() const noexcept { return workers_.size(); }

  /// Starts up to `count` workers; fewer if the system gives no more.
  void start(int count) noexcept {
    try {
      const SignalsBlocked blocked;
      workers_.reserve(static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i) workers_.emplace_back(serve_team, static_cast<void*>(this));
    } catch (...) {
      // The caller of a loop does what missing workers would have done.
    }
  }

  /// False, with nothing done, if another loop is running.
  bool run(std::int64_t count, Body body, void* context) noexcept {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    body_ = body;
    context_ = context;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    state_.store(kOpen, std::memory_order_release);
    epoch_.fetch_add(1);
    wake(count - 1);
    take_indices();
    state_.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (int spins = 0; state_.load(std::memory_order_acquire) != 0; ++spins) {
      if (spins < kSpins) {
        relax();
      } else {
        std::this_thread::yield();
      }
    }
    busy_.store(false, std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::uint32_t kOpen = 1U << 31;  // the rest counts workers inside the loop

  void wake(std::int64_t wanted) noexcept {
    const std::int64_t sleepers = sleepers_.load();
    if (sleepers == 0) return;
    if (wanted >= sleepers) return epoch_.notify_all();
    for (std::int64_t i = 0; i < wanted; ++i) epoch_.notify_one();
  }

  void take_indices() noexcept {
    for (;;) {
      const std::int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= count_) return;
      body_(context_, index);
    }
  }

  bool join_loop() noexcept {
    std::uint32_t state = state_.load(std::memory_order_relaxed);
    while ((state & kOpen) != 0) {
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// A function of plain types: std::thread's own class for it, which every library of a process
  /// shares, then has nothing of girih in it.
  static void serve_team(void* team) noexcept { static_cast<Team*>(team)->serve(); }

  void serve() noexcept {
    std::uint32_t seen = 0;
    while (!stopping_.load(std::memory_order_relaxed)) {
      seen = next_epoch(seen);
      if (!join_loop()) continue;
      take_indices();
      state_.fetch_sub(1, std::memory_order_release);
    }
  }

  /// Waits until the epoch is not `seen`. `sleepers_` is raised before the epoch is read for the
  /// last time, and `run` changes the epoch before it reads `sleepers_`: one of the two sees the
  /// other.
  std::uint32_t next_epoch(std::uint32_t seen) noexcept {
    for (int spins = 0; spins < kSpins; ++spins) {
      const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed);
      if (epoch != seen) return epoch_.load(std::memory_order_acquire);
      relax();
    }
    sleepers_.fetch_add(1);
    epoch_.wait(seen);
    sleepers_.fetch_sub(1);
    return epoch_.load(std::memory_order_acquire);
  }

  const std::uint64_t generation_;
  std::vector<std::thread> workers_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> busy_{false};
  Body body_ = nullptr;
  void* context_ = nullptr;
  std::int64_t count_ = 0;
  // Apart: workers poll the epoch while the caller and others count on the rest.
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  std::atomic<std::int64_t> sleepers_{0};
  alignas(64) std::atomic<std::uint32_t> state_{0};
  alignas(64) std::atomic<std::int64_t> next_{0};
};

ThreadPool::~ThreadPool() {
  Team* const team = team_.load(std::memory_order_acquire);
  // A team of the parent process is left as it is: its threads cannot be joined here.
  if (team != nullptr && team->generation() == fork_generation.load()) delete team;
}

Status ThreadPool::start() noexcept {
  Team* const team = team_of_this_process();
  if (team == nullptr || team->size() + 1 < static_cast<std::size_t>(threads_)) {
    return error(Code::OutOfMemory, "the system refused to start {} threads", threads_ - 1);
  }
  return {};
}

ThreadPool::Team* ThreadPool::team_of_this_process() noexcept {
  const std::uint64_t generation = fork_generation.load(std::memory_order_relaxed);
  Team* team = team_.load(std::memory_order_acquire);
  if (team != nullptr && team->generation() == generation) return team;
  watch_forks();
  Team* const fresh = new (std::nothrow) Team(generation);
  if (fresh == nullptr) return nullptr;
  // Published before its threads start, so that of two callers only one starts threads.
  if (!team_.compare_exchange_strong(team, fresh, std::memory_order_acq_rel)) {
    delete fresh;
    return team;
  }
  fresh->start(threads_ - 1);
  return fresh;
}

void ThreadPool::parallel_for(std::int64_t count, Body body, void* context) noexcept {
  if (count > 1 && threads_ > 1) {
    Team* const team = team_of_this_process();
    if (team != nullptr && team->run(count, body, context)) return;
  }
  for (std::int64_t i = 0; i < count; ++i) body(context, i);
}

namespace {

class SequentialExecutor final : public Executor {
 public:
  [[nodiscard]] int concurrency() const noexcept override { return 1; }
  void parallel_for(std::int64_t count, Body body, void* context) override {
    for (std::int64_t i = 0; i < count; ++i) body(context, i);
  }
};

}  // namespace

Result<std::shared_ptr<Executor>> make_thread_pool(int threads) noexcept {
  if (threads < 0 || threads > kMaxThreads) {
    return error(Code::InvalidOption, "threads must be 0 (usable cores) to {}, not {}", kMaxThreads,
                 threads);
  }
  try {
    auto pool = std::make_shared<ThreadPool>(threads == 0 ? usable_cores() : threads);
    GIRIH_TRY(pool->start());
    return std::shared_ptr<Executor>(std::move(pool));
  } catch (const std::bad_alloc&) {
    return error(Code::OutOfMemory, "no memory for a pool of {} threads", threads);
  }
}

std::shared_ptr<Executor> make_sequential_executor() noexcept {
  try {
    return std::make_shared<SequentialExecutor>();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace girih::inline v0
