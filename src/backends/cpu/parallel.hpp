#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include <girih/executor.hpp>

#include "core/error.hpp"

namespace girih::inline v0::cpu {

namespace detail {

/// A number with no structure that sums of indices share: how a region tells that an executor
/// dropped one index and repeated another.
constexpr std::uint64_t fingerprint(std::int64_t index) noexcept {
  auto x = static_cast<std::uint64_t>(index) + 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace detail

/// Calls `work(task, slot)` once for each task in [0, tasks), on up to `threads` threads; no two
/// calls at one time have the same slot, and slots are below `threads`. Tasks are claimed one by
/// one, so uneven ones balance. One thread takes them in order, without the executor.
template <class Work>
Status parallel_tasks(Executor& executor, int threads, std::int64_t tasks, const Work& work) {
  const std::int64_t workers = std::min<std::int64_t>(threads, tasks);
  if (workers <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task) work(task, std::int64_t{0});
    return {};
  }
  struct Region {
    const Work& work;
    const std::int64_t tasks;
    const std::int64_t workers;
    alignas(64) std::atomic<std::int64_t> next{0};
    alignas(64) std::atomic<std::int64_t> arrivals{0};
    std::atomic<std::uint64_t> prints{0};
    std::atomic<std::int64_t> departures{0};

    /// An executor that returned, or threw, too early left bodies that still use all this.
    ~Region() {
      while (departures.load(std::memory_order_acquire) < arrivals.load()) {
        std::this_thread::yield();
      }
    }
  } region{work, tasks, workers};
  executor.parallel_for(
      workers,
      [](void* context, std::int64_t index) {
        Region& shared = *static_cast<Region*>(context);
        shared.prints.fetch_add(detail::fingerprint(index), std::memory_order_relaxed);
        const std::int64_t slot = shared.arrivals.fetch_add(1, std::memory_order_relaxed);
        while (slot < shared.workers) {
          const std::int64_t task = shared.next.fetch_add(1, std::memory_order_relaxed);
          if (task >= shared.tasks) break;
          shared.work(task, slot);
        }
        shared.departures.fetch_add(1, std::memory_order_release);
      },
      &region);
  const bool is_over = region.departures.load(std::memory_order_acquire) == workers;
  std::uint64_t expected = 0;
  for (std::int64_t i = 0; i < workers; ++i) expected += detail::fingerprint(i);
  if (region.arrivals.load() != workers || region.prints.load() != expected) {
    return error(Code::ExecutorFailed, "the executor dropped or repeated an index of {}", workers);
  }
  if (!is_over) {
    return error(Code::ExecutorFailed, "the executor returned before its {} bodies had", workers);
  }
  return {};
}

}  // namespace girih::inline v0::cpu
