#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <girih/runtime.hpp>

#include "backends/device.hpp"
#include "core/storage.hpp"
#include "runtime/gemm_choices.hpp"
#include "runtime/line_trace.hpp"
#include "runtime/memory_pool.hpp"

namespace girih::inline v0::detail {

using StoragePtr = std::shared_ptr<Storage>;

/// What a capture has gathered so far, and what keeps it valid.
struct Recording {
  std::vector<Call> calls;
  std::vector<StoragePtr> held;
  StoragePtr scratch;  ///< the newest; older, smaller ones are in `held`
};

/// The inside of a `Runtime`. Everything but the pool and the counters belongs to whichever thread
/// holds the `Entry`.
class RuntimeState {
 public:
  static Result<std::shared_ptr<RuntimeState>> open(const RuntimeOptions& options) noexcept;
  RuntimeState(std::shared_ptr<Device> device, std::uint64_t id, const RuntimeOptions& options,
               const KernelInfo* forced, std::unique_ptr<LineTrace> trace);
  ~RuntimeState();
  RuntimeState(const RuntimeState&) = delete;
  RuntimeState& operator=(const RuntimeState&) = delete;

  [[nodiscard]] Device& device() noexcept { return *device_; }
  [[nodiscard]] MemoryPool& memory() noexcept { return *memory_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] CheckContext check_context() const noexcept { return {id_, reproducibility_}; }
  /// What selection for `op` may use; the forced kernel binds only the operation that it serves.
  [[nodiscard]] SelectionContext selection_context(Op op) const noexcept;
  /// `select` with that, remembered.
  [[nodiscard]] Result<GemmSelection> choose(const GemmProblem& problem) noexcept {
    return choices_.choose(problem, selection_context(Op::Gemm));
  }

  /// Queues `call`, or records it; `tensors` are what it binds. Sets its scratch. On failure
  /// nothing was queued, or the runtime is poisoned.
  Status dispatch(GemmCall& call, std::span<const Tensor* const> tensors) noexcept;
  Status dispatch(GroupedGemmCall& call, std::span<const Tensor* const> tensors) noexcept;
  Status dispatch(RouteCall& call, std::span<const Tensor* const> tensors) noexcept;
  Status dispatch(PermuteCall& call, std::span<const Tensor* const> tensors) noexcept;
  Status dispatch(UnpermuteCall& call, std::span<const Tensor* const> tensors) noexcept;
  Status dispatch(ElementwiseCall& call, std::span<const Tensor* const> tensors) noexcept;
  Status dispatch(KernelCall& call, std::span<const Tensor* const> tensors) noexcept;
  /// Loads and sizes what `call` will need.
  Status prepare(const GemmCall& call) noexcept;
  Status prepare(const GroupedGemmCall& call) noexcept;
  Status prepare(const RouteCall& call) noexcept;
  Status prepare(const PermuteCall& call) noexcept;
  Status prepare(const UnpermuteCall& call) noexcept;
  Status prepare(const ElementwiseCall& call) noexcept;
  /// Queues a call of the runtime's own, uncounted and never recorded.
  Status launch(const Call& call) noexcept;
  Status zero(std::byte* data, std::int64_t bytes) noexcept;
  Status write(std::byte* destination, const void* source, std::int64_t bytes) noexcept;
  Status read(void* destination, const std::byte* source, std::int64_t bytes) noexcept;
  /// Queues a captured sequence.
  Status replay(Executable& executable, std::size_t operations) noexcept;

  Result<Event> submit() noexcept;
  Result<bool> completed(const Event& event) noexcept;
  Status wait(const Event& event) noexcept;
  Status synchronize() noexcept;
  Status record(const ForeignEvent& event) noexcept;
  Status wait_for(const ForeignEvent& event) noexcept;

  /// Starts recording; fails if it is on already.
  Status begin_capture() noexcept;
  /// Stops recording and hands over what was recorded.
  Recording end_capture() noexcept;

  /// Null unless calls are to be traced.
  [[nodiscard]] LineTrace* trace() const noexcept { return trace_.get(); }
  [[nodiscard]] bool is_capturing() const noexcept { return recording_.has_value(); }
  [[nodiscard]] std::uint64_t dispatch_count() const noexcept {
    return dispatches_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] Status health() const noexcept;
  Status recover() noexcept;

 private:
  friend class Entry;

  Status finish_dispatch(const Call& call, std::span<const Tensor* const> tensors) noexcept;
  Status record(const Call& call, std::span<const Tensor* const> tensors) noexcept;
  Result<std::byte*> scratch(std::int64_t bytes) noexcept;
  /// The caller's workspace, or one of the runtime's if any is needed.
  Result<std::byte*> scratch_or(std::byte* workspace, std::int64_t bytes) noexcept;
  /// For a call that the caller is capturing: owned by his graph.
  Result<std::byte*> caller_scratch(std::uint64_t capture, std::int64_t bytes) noexcept;
  /// Has the caller's graph keep what it binds, if he captures.
  Status hold(std::span<const Tensor* const> tensors) noexcept;
  /// Passes `status` on; a failure of the device poisons the runtime.
  Status note(Status status) noexcept;
  Status check_event(const Event& event) const noexcept;

  const std::shared_ptr<Device> device_;
  const std::uint64_t id_;
  const Reproducibility reproducibility_;
  const KernelInfo* const forced_;
  const std::unique_ptr<LineTrace> trace_;
  const std::shared_ptr<MemoryPool> memory_;
  GemmChoices choices_;

  std::atomic<bool> busy_ = false;
  std::atomic<std::uint64_t> dispatches_ = 0;
  std::atomic<bool> poisoned_ = false;
  mutable std::mutex poison_mutex_;
  std::string poison_message_;

  std::uint64_t submitted_ = 0;
  StoragePtr scratch_;
  std::uint64_t caller_capture_ = 0;       ///< the last one that needed scratch
  std::weak_ptr<Storage> caller_scratch_;  ///< what its graph holds
  std::optional<Recording> recording_;
  std::thread::id capturing_thread_;
};

/// Holds a runtime for one call. `enter` fails at once if the runtime was moved from (null),
/// another thread holds it, or captures on it, or it is poisoned.
class Entry {
 public:
  static Result<Entry> enter(RuntimeState* state) noexcept;
  /// The same, for calls that a capture cannot hold: `what` names the call.
  static Result<Entry> enter_uncaptured(RuntimeState* state, const char* what) noexcept;
  /// The same, whatever the runtime's health.
  static Result<Entry> enter_poisoned(RuntimeState* state, const char* what) noexcept;
  /// Waits for its turn, whatever the runtime's health: for ends that must happen.
  static Entry acquire(RuntimeState& state) noexcept;
  Entry(Entry&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Entry& operator=(Entry&&) = delete;
  ~Entry() {
    if (state_ != nullptr) state_->busy_.store(false, std::memory_order_release);
  }

 private:
  explicit Entry(RuntimeState& state) noexcept : state_(&state) {}
  static Result<Entry> claim(RuntimeState* state) noexcept;
  RuntimeState* state_;
};

/// The inside of a `Graph`.
class GraphState {
 public:
  std::shared_ptr<RuntimeState> runtime;
  Recording recording;
  std::unique_ptr<Executable> executable;  ///< refers to `recording.calls`
};

/// The insides of public handles.
struct RuntimeAccess {
  static const std::shared_ptr<RuntimeState>& shared(Runtime& runtime) noexcept {
    return runtime.state_;
  }
  static Graph make(std::unique_ptr<GraphState> state) noexcept { return Graph(std::move(state)); }
};

}  // namespace girih::inline v0::detail
