#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <girih/executor.hpp>
#include <girih/export.hpp>
#include <girih/foreign.hpp>
#include <girih/status.hpp>
#include <girih/tensor.hpp>

namespace girih::inline v0 {

/// Backend identifiers; the values are part of the accel contract.
enum class Backend : std::int32_t { Cpu = 0, Metal = 1, Cuda = 2, Rocm = 3, None = 4 };
GIRIH_API std::string_view name(Backend backend) noexcept;

/// Which backend `Runtime::open` takes. Only `Auto` may choose the CPU for want of an accelerator.
enum class Policy : std::int32_t { Auto = 0, Accel = 1, Cpu = 2 };
GIRIH_API std::string_view name(Policy policy) noexcept;

/// What is promised about bits, beyond: the same call twice gives the same bits.
enum class Reproducibility : std::uint8_t {
  PerShape,      ///< selection may use every extent
  RowInvariant,  ///< a row's bits do not depend on M, the batch, or its neighbours
};

struct RuntimeOptions {
  Policy policy = Policy::Auto;
  /// Exactly this backend, or an error. Overrides `policy`.
  std::optional<Backend> backend{};
  /// CPU backend: who runs its loops. Null makes a pool of `threads` threads.
  std::shared_ptr<Executor> executor{};
  /// CPU backend, when `executor` is null; 0 takes GIRIH_THREADS, else the usable cores.
  int threads = 0;
  /// Freed Cold memory kept for reuse, at most.
  std::uint64_t cold_cache_bytes = std::uint64_t{2} << 30;
  /// Default for calls that do not state one.
  Reproducibility reproducibility = Reproducibility::PerShape;
  /// Every selection takes the kernel of this name or fails. "" takes GIRIH_FORCE_KERNEL.
  std::string force_kernel{};
  /// Where device memory comes from. Without functions: the system.
  Allocator allocator{};
  /// Objects to work in. A backend that they are not for refuses them (InvalidOption).
  std::optional<CudaHandles> cuda{};
  std::optional<MetalHandles> metal{};
};

/// Bytes, now. `cold_cached` is free memory kept for reuse; the rest is in use by live tensors,
/// graphs and scratch.
struct MemoryInfo {
  std::uint64_t hot = 0;
  std::uint64_t cold = 0;
  std::uint64_t cold_cached = 0;
  /// Slabs of Bump memory: the current one, and older ones that live tensors still hold.
  std::uint64_t bump_held = 0;
  std::uint64_t bump_capacity = 0;
  std::uint64_t bump_used = 0;
  std::uint64_t scratch = 0;
  /// The caller's memory that live tensors and graphs wrap.
  std::uint64_t wrapped = 0;
  /// Allocations that reached the system, or the caller's allocator, since `open`: constant in
  /// steady state.
  std::uint64_t system_allocations = 0;
};

/// A point in a runtime's queue. Values rise by one a submission.
struct Event {
  std::uint64_t runtime = 0;
  std::uint64_t value = 0;
};

class Graph;

namespace detail {
class RuntimeState;
struct RuntimeAccess;
class GraphState;
}  // namespace detail

/// A device, its memory and one in-order queue. Calls encode and return; `synchronize` and
/// `download` wait. (CPU calls have finished when they return.)
///
/// Threads: any thread, one at a time; a call that meets another one inside the runtime returns
/// `RuntimeBusy` and changes nothing. Different runtimes share no mutable state.
///
/// A runtime that was moved from refuses every call (MovedFrom), and so does such a graph.
///
/// After a device failure the runtime is poisoned: every later call returns `RuntimePoisoned` with
/// the first failure's message, until `recover` succeeds.
class GIRIH_API Runtime {
 public:
  static Result<Runtime> open(const RuntimeOptions& options = {}) noexcept;
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;
  ~Runtime();

  [[nodiscard]] Backend backend() const noexcept;
  /// Unique in the process.
  [[nodiscard]] std::uint64_t id() const noexcept;

  /// A zero-filled, row-major tensor. Rank 0 holds one element; an extent of 0 holds none.
  /// Errors: InvalidShape, SizeOverflow, OutOfMemory; Bump also when its reserve is exhausted.
  Result<Tensor> tensor(const Shape& shape, DType dtype, Memory memory = Memory::Cold) noexcept;

  /// A row-major tensor over memory of the caller, at any byte offset that is a multiple of the
  /// element's size. Nothing is copied or written: what the device cannot use in place is refused.
  /// The tensor is one like any other; overlap with other tensors is found by address. The memory
  /// must stay valid until the deleter is called: freeing it earlier cannot be noticed.
  /// A refused call changes nothing: the deleter is not called and the memory stays the caller's.
  /// Errors: Unwrappable (null, too small, misaligned, or not shareable with the device),
  /// InvalidShape, SizeOverflow, OutOfMemory.
  Result<Tensor> wrap(ForeignMemory memory, const Shape& shape, DType dtype) noexcept;
  /// Where the tensor's first element lies. Valid as long as the memory has a handle; what is
  /// queued may be using it. BackendLacks where memory has no address of its own.
  Result<NativeMemory> native_handle(const Tensor& tensor) noexcept;
  /// The runtime's own object of this kind. BackendLacks where there is none: on cpu, of all kinds.
  Result<void*> native_handle(NativeObject object) noexcept;

  /// Copies host elements, row-major in the tensor's shape, into `destination` (any strides).
  /// `bytes` must equal the tensor's size exactly. The source is free on return.
  Status upload(const Tensor& destination, const void* source, std::size_t bytes) noexcept;
  /// Waits for the queue, then copies `source` to the host, row-major in its shape.
  Status download(const Tensor& source, void* destination, std::size_t bytes) noexcept;
  template <class T>
  Status upload(const Tensor& destination, std::span<const T> source) noexcept {
    return upload(destination, source.data(), source.size_bytes());
  }
  template <class T>
  Status download(const Tensor& source, std::span<T> destination) noexcept {
    return download(source, destination.data(), destination.size_bytes());
  }

  /// Hands everything encoded so far to the device.
  Result<Event> submit() noexcept;
  /// True once everything before `event` has finished.
  Result<bool> completed(const Event& event) noexcept;
  /// Waits for `event`.
  Status wait(const Event& event) noexcept;
  /// Submits, then waits for everything.
  Status synchronize() noexcept;
  /// Queues a mark: `event` is raised when everything encoded so far has finished. BackendLacks on
  /// cpu, where that is so on return: the caller signals what it likes.
  Status record(const ForeignEvent& event) noexcept;
  /// Everything encoded later runs after `event` was raised; the host does not wait. BackendLacks
  /// on cpu: the caller waits before it calls.
  Status wait_for(const ForeignEvent& event) noexcept;

  /// Makes room for `bytes` of Bump tensors. Never shrinks; tensors already there stay valid.
  Status bump_reserve(std::uint64_t bytes) noexcept;
  /// Rewinds the Bump cursor. Memory that live tensors or graphs still hold is not reused.
  Status bump_reset() noexcept;
  /// Gives cached free memory back to the system until at most `keep_bytes` of it remain. On cuda
  /// it waits for queued work, and is refused (CaptureMisuse) while the stream is captured.
  Status trim(std::uint64_t keep_bytes = 0) noexcept;
  [[nodiscard]] MemoryInfo memory() const noexcept;

  /// Operations encoded since `open`. A refused call leaves it unchanged; one that is a no-op by
  /// its extents does too. A replay adds the operations of its graph.
  [[nodiscard]] std::uint64_t dispatch_count() const noexcept;
  /// The failure that poisoned the runtime; success while it is healthy.
  [[nodiscard]] Status health() const noexcept;
  /// Makes the runtime usable again after a failure of the device. Tensors, graphs and kernels that
  /// were added stay; what failed work should have written is undefined, and events of it count as
  /// completed. Does nothing to a healthy runtime. On failure the runtime is as it was.
  /// Errors: BackendLacks where only a new runtime helps (cpu, cuda), TimedOut while the device
  /// still works on what failed, BackendUnavailable.
  Status recover() noexcept;

 private:
  friend struct detail::RuntimeAccess;
  explicit Runtime(std::shared_ptr<detail::RuntimeState> state) noexcept;

  std::shared_ptr<detail::RuntimeState> state_;
};

/// A recorded sequence of operations with everything bound. It owns references to the memory it
/// binds and its scratch. Between replays the contents of bound tensors may change, and nothing
/// else; a replay equals the eager calls bit for bit.
class GIRIH_API Graph {
 public:
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  /// Queues the whole sequence, in one submission.
  Status replay() noexcept;
  /// Operations recorded.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  friend struct detail::RuntimeAccess;
  explicit Graph(std::unique_ptr<detail::GraphState> state) noexcept;

  std::unique_ptr<detail::GraphState> state_;
};

/// Records the operations that `body` encodes on `runtime` instead of running them. If `body`
/// returns an error, or throws, nothing is kept and that error is returned. Allocation is allowed
/// inside (its zero fill happens then, not at each replay); `upload`, `download`, submission,
/// waiting, replays and nested captures are `CaptureMisuse`, and a call from another thread
/// is `RuntimeBusy`.
GIRIH_API Result<Graph> capture(Runtime& runtime, const std::function<Status()>& body) noexcept;

}  // namespace girih::inline v0
