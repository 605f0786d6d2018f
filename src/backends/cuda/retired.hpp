#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/cuda/home.hpp"
#include "backends/device.hpp"

namespace girih::inline v0::cuda {

/// What was dropped and is given back later, by the thread that is inside the runtime: handles may
/// be dropped on any thread, while the stream is being captured, or by CUDA at the end of a graph,
/// where no call of CUDA is allowed.
class Retired {
 public:
  /// A block of the pool, for after what is queued now.
  void add_block(std::byte* data) noexcept;
  /// The caller's memory: `done` is called when nothing that is queued now uses it any more.
  void add_import(Device::Done done, void* context) noexcept;
  /// What a captured graph kept alive.
  void add_held(std::shared_ptr<void> held) noexcept;

  /// Gives back what can be; does nothing while the stream is captured.
  void collect(const Home& home) noexcept;
  /// Gives back everything: the stream has finished, or it never will.
  void finish(const Home& home) noexcept;

 private:
  struct Import {
    Device::Done done = nullptr;
    void* context = nullptr;
    cudaEvent_t after = nullptr;  ///< null: not recorded yet
  };

  [[nodiscard]] static bool is_over(Import& import, const Home& home) noexcept;

  std::mutex mutex_;
  std::atomic<bool> has_any_ = false;
  std::vector<std::byte*> blocks_;
  std::vector<Import> imports_;
  std::vector<std::shared_ptr<void>> held_;
};

}  // namespace girih::inline v0::cuda
