#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <girih/executor.hpp>

namespace girih::inline v0 {

/// The default executor. A loop that begins while another one of the same pool is running (inside a
/// body, or from another thread) runs on its own caller alone, so bodies may nest loops freely and
/// runtimes may share a pool. Bodies must not throw.
///
/// After fork() the threads of a pool exist in the parent only. The child abandons them, untouched,
/// and starts others at its first loop.
class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads) noexcept : threads_(threads) {}
  ~ThreadPool() override;

  /// Starts the threads, which else the first loop does; OutOfMemory if the system gives none.
  Status start() noexcept;
  [[nodiscard]] int concurrency() const noexcept override { return threads_; }
  void parallel_for(std::int64_t count, Body body, void* context) noexcept override;

 private:
  class Team;
  Team* team_of_this_process() noexcept;

  const int threads_;
  std::atomic<Team*> team_{nullptr};
};

}  // namespace girih::inline v0
