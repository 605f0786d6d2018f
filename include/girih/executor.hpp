#pragma once

#include <cstdint>
#include <memory>

#include <girih/export.hpp>
#include <girih/status.hpp>

namespace girih::inline v0 {

/// Runs the CPU backend's loops. One is chosen when a runtime is opened; the number of threads is
/// the runtime's property, never the process's. Results do not depend on it.
class GIRIH_API Executor {
 public:
  using Body = void (*)(void* context, std::int64_t index);

  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  /// How many calls of a body may run at once, >= 1 and constant. Work is cut to suit.
  [[nodiscard]] virtual int concurrency() const noexcept = 0;
  /// Calls `body(context, i)` exactly once for each i in [0, count), on any threads, in any order,
  /// and returns when all of them have returned. Bodies never block on one another.
  virtual void parallel_for(std::int64_t count, Body body, void* context) = 0;
};

/// The most threads that a pool can have.
inline constexpr int kMaxThreads = 1024;

/// The default: `threads` threads, the caller included, that spin for some microseconds between
/// loops and then sleep. A child of fork() gets threads of its own at its first loop.
/// `threads` = 0 takes the usable cores: affinity mask, capped by the control group's quota.
GIRIH_API Result<std::shared_ptr<Executor>> make_thread_pool(int threads = 0) noexcept;
/// Runs every loop on the calling thread.
GIRIH_API std::shared_ptr<Executor> make_sequential_executor() noexcept;

}  // namespace girih::inline v0
