#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <girih/foreign.hpp>
#include <girih/overlay.hpp>
#include <girih/status.hpp>

#include "plan/elementwise.hpp"
#include "plan/gemm.hpp"
#include "plan/grouped.hpp"
#include "plan/routing.hpp"

namespace girih::inline v0 {

/// A checked, planned, bound operation: all that a backend needs to run it, now or in a graph.
/// Holds addresses only; whoever keeps one keeps the memory alive.
struct GemmCall {
  GemmProblem problem;
  GemmOperands operands;
  GemmSelection selection;
  /// `selection.workspace_bytes`, 64-byte aligned: the runtime's, or the caller's.
  std::byte* scratch = nullptr;
};
struct GroupedGemmCall {
  GroupedGemmProblem problem;
  GroupedGemmOperands operands;
  GroupedGemmSelection selection;
  std::byte* scratch = nullptr;  ///< as of a GemmCall
};
struct ElementwiseCall {
  ElementwiseProblem problem;
  ElementwiseOperands operands;
  ElementwiseSelection selection;
};
struct RouteCall {
  RouteProblem problem;
  RouteOperands operands;
  RouteSelection selection;
  std::byte* scratch = nullptr;  ///< as of a GemmCall
};
struct PermuteCall {
  PermuteProblem problem;
  PermuteOperands operands;
  PermuteSelection selection;
  std::byte* scratch = nullptr;  ///< as of a GemmCall
};
struct UnpermuteCall {
  UnpermuteProblem problem;
  UnpermuteOperands operands;
  PermuteSelection selection;
  std::byte* scratch = nullptr;  ///< as of a GemmCall
};
/// A kernel that the caller added.
struct ForeignKernel {
  std::string name;
  const void* function = nullptr;        ///< the backend's
  std::vector<std::size_t> parameters;   ///< bytes of each
  bool binds_tensors = false;            ///< metal: a tensor fits any parameter
  std::uint32_t most_threads = 0;        ///< of a block
  std::uint32_t least_shared_bytes = 0;  ///< that a launch must ask for
  std::uint32_t most_shared_bytes = 0;   ///< that it may ask for
  std::uint32_t most_cluster = 8;        ///< blocks
};
/// The collision rule of kernels that are added: InvalidOption if one of girih's `own` rows has the
/// name, or one added earlier (`is_added`).
Status check_name(std::string_view name, std::span<const KernelInfo> own, bool is_added) noexcept;
/// A checked launch of one.
struct KernelCall {
  const ForeignKernel* kernel = nullptr;
  LaunchExtents grid, block, cluster;
  std::uint32_t shared_bytes = 0;
  std::vector<std::array<std::byte, KernelArgument::kMaxBytes>> arguments;
  std::vector<bool> is_tensor;  ///< by argument: its bytes are an address in a tensor
};
using Call = std::variant<GemmCall, ElementwiseCall, KernelCall, GroupedGemmCall, RouteCall,
                          PermuteCall, UnpermuteCall>;

std::string_view name(NativeObject object) noexcept;

/// A captured sequence, lowered to whatever the backend replays fastest.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Queues the whole sequence.
  virtual Status replay() noexcept = 0;
};

/// The one interface that a backend implements. Used by one thread at a time, except `release`.
class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const noexcept = 0;
  [[nodiscard]] virtual std::span<const KernelInfo> kernels() const noexcept = 0;
  /// CPU threads that calls may use; 1 elsewhere.
  [[nodiscard]] virtual int threads() const noexcept = 0;

  /// Uninitialised memory, aligned to 64 bytes or more.
  virtual Result<std::byte*> allocate(std::int64_t bytes) noexcept = 0;
  /// Takes memory back. Work queued before the call may still use it. From any thread.
  virtual void release(std::byte* data, std::int64_t bytes) noexcept = 0;
  /// Gives to the system what `release` has kept. May wait for the queue; not under
  /// `caller_capture`.
  virtual Status trim() noexcept { return {}; }
  /// Of an allocation or a 64-byte aligned part of one; the bytes up to the next multiple of 64 may
  /// be cleared with it.
  virtual Status zero(std::byte* data, std::int64_t bytes) noexcept = 0;
  /// `source` is free on return.
  virtual Status write(std::byte* destination, const void* source, std::int64_t bytes) noexcept = 0;
  /// Waits for the queue first.
  virtual Status read(void* destination, const std::byte* source, std::int64_t bytes) noexcept = 0;

  /// Queues one operation.
  virtual Status launch(const Call& call) noexcept = 0;
  /// Lowers a sequence; `calls` stays alive and unchanged as long as the result.
  virtual Result<std::unique_ptr<Executable>> instantiate(std::span<const Call> calls) noexcept = 0;

  /// Marks everything queued so far with `value`; values rise.
  virtual Status submit(std::uint64_t value) noexcept = 0;
  virtual Result<bool> completed(std::uint64_t value) noexcept = 0;
  virtual Status wait(std::uint64_t value) noexcept = 0;
  /// Starts anew after a failure: nothing is queued then, all that was submitted has completed.
  virtual Status recover() noexcept;

  // Living in the caller's program. A backend that does not override one of these refuses it
  // (BackendLacks).

  /// Does once what a first `launch` of such a call would do: loads, compiles, sets attributes. Its
  /// scratch is null. Queues nothing.
  virtual Status prepare(const Call& call) noexcept;
  /// The device address of `bytes` > 0 bytes of the caller's memory, to be used in place; the
  /// handle is not null. Unwrappable if the device cannot share it.
  virtual Result<std::byte*> import(const NativeMemory& memory, std::int64_t bytes) noexcept;
  using Done = void (*)(void* context) noexcept;
  /// Ends what `import` began: calls `done(context)` once, when no work queued so far uses the
  /// memory. From any thread; must not fail, so a device that cannot queue waits.
  virtual void end_import(std::byte* data, std::int64_t bytes, Done done, void* context) noexcept;
  /// The inverse of `import`, for any address inside memory of this device.
  virtual Result<NativeMemory> native_memory(const std::byte* data) noexcept;
  virtual Result<void*> native_object(NativeObject object) noexcept;
  /// Queues the raising of the caller's event.
  virtual Status record(const ForeignEvent& event) noexcept;
  /// Queues a wait for it.
  virtual Status wait_for(const ForeignEvent& event) noexcept;
  /// While the caller records what is queued into a graph of his own, a number that no other such
  /// recording has; else 0.
  [[nodiscard]] virtual std::uint64_t caller_capture() noexcept { return 0; }
  /// Has that graph keep `what` alive.
  virtual Status hold_for_capture(std::shared_ptr<void> what) noexcept;
  /// See the public function of this name; `image` has bytes or a path.
  virtual Result<std::vector<std::string>> add_kernels(const KernelImage& image) noexcept;
  /// One that was added, valid as long as the device; null if there is none of this name.
  [[nodiscard]] virtual const ForeignKernel* find_kernel(std::string_view) const noexcept {
    return nullptr;
  }
  /// The runtime ends. Its memory and graphs may be in use for longer.
  virtual void close() noexcept {}
};

}  // namespace girih::inline v0
