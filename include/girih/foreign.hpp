#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <girih/export.hpp>

// What a program that girih lives in brings along, and what girih shows of its own. Handles are
// borrowed, never retained or freed: they must outlive the runtime and all that was made on it. A
// null handle may be a real one (CUDA's default stream), so absence is an empty optional.

namespace girih::inline v0 {

/// The caller's source of device memory (cpu: host memory; cuda: device memory): both functions, or
/// neither. Tensors, Bump slabs and workspaces come from it; what girih keeps on the host does not.
/// The functions must not call girih or drop its handles.
struct Allocator {
  /// `bytes` > 0, aligned to `alignment`, a power of two; null is `OutOfMemory`. Called by the
  /// thread that is inside the runtime.
  void* (*allocate)(void* context, std::size_t bytes, std::size_t alignment) noexcept = nullptr;
  /// Takes a block back, once, with the size it was asked with. From any thread. On a GPU work
  /// that was queued before may still use the block.
  void (*release)(void* context, void* block, std::size_t bytes) noexcept = nullptr;
  void* context = nullptr;
};

/// CUDA objects of the caller for a runtime to work in.
struct CudaHandles {
  int device = 0;
  /// A CUcontext; empty takes the device's primary one.
  std::optional<void*> context{};
  /// A cudaStream_t that becomes the runtime's queue; empty makes one.
  std::optional<void*> stream{};
};

/// Metal objects of the caller for a runtime to work in.
struct MetalHandles {
  std::optional<void*> device{};  ///< id<MTLDevice>; empty takes the queue's, or the default one
  /// id<MTL4CommandQueue> of that device; empty makes one. A queue of the older class,
  /// MTLCommandQueue, is ordered with girih's by shared events.
  std::optional<void*> queue{};
  /// A metallib with all of girih's kernels, of this very version, to use instead of compiling
  /// their text; docs/metal.md says how one is made. A kernel that it lacks, or a file that is
  /// none, turns off the rows that need it, with the reason in the plan.
  std::string library{};
};

/// Memory that the caller owns. `handle` is a host pointer on cpu, a device pointer on cuda, an
/// id<MTLBuffer> on metal.
struct ForeignMemory {
  void* handle = nullptr;
  std::uint64_t bytes = 0;        ///< size of the memory at `handle`
  std::uint64_t byte_offset = 0;  ///< of the tensor's first element
  /// Called once when nothing uses the memory any more: no view, graph or queued work. On whichever
  /// thread that is, which may be inside a runtime: it must not call one. What it throws is
  /// dropped.
  std::function<void()> deleter{};
};

/// Where a tensor's first element lies, in the terms of `ForeignMemory`.
struct NativeMemory {
  void* handle = nullptr;
  std::uint64_t byte_offset = 0;
};

/// Objects of a runtime that its backend can show.
enum class NativeObject : std::uint8_t {
  CudaContext,  ///< CUcontext
  CudaStream,   ///< cudaStream_t, may be null
  MetalDevice,  ///< id<MTLDevice>
  MetalQueue,   ///< id<MTL4CommandQueue>
};

/// An event of the caller: a cudaEvent_t on cuda, an id<MTLSharedEvent> and the value that it is
/// raised to on metal. The cpu has none: what was called there has finished.
struct ForeignEvent {
  void* handle = nullptr;
  std::uint64_t value = 0;
};

}  // namespace girih::inline v0
