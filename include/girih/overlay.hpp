#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <girih/export.hpp>
#include <girih/runtime.hpp>

// Kernels of the caller's own, in a runtime's queue and graphs.

namespace girih::inline v0 {

/// Device code: either bytes, which are copied, or a file. cuda takes a cubin, a fatbin or PTX;
/// metal the text of MSL kernels, which the system compiles.
struct KernelImage {
  std::span<const std::byte> image{};
  std::string path{};
};

/// Adds every kernel of the image to the runtime, for its whole life, and gives their names (of a
/// C++ kernel: the mangled one). A name that girih's kernels or kernels added earlier have is a
/// collision: then nothing is added.
/// Errors: BackendLacks; InvalidOption (a collision; no bytes, or bytes and a file); FileNotFound;
/// FileFormat (no device code; text that does not compile, with the compiler's first error);
/// FileUnsupported (for another device, or a newer driver).
GIRIH_API Result<std::vector<std::string>> add_kernels(Runtime& runtime,
                                                       const KernelImage& image) noexcept;

/// What a kernel is given: the address of a tensor's first element, or a value of its own. On metal
/// the i-th is bound to [[buffer(i)]].
class KernelArgument {
 public:
  static constexpr std::size_t kMaxBytes = 64;

  KernelArgument(Tensor tensor) noexcept  // NOLINT(google-explicit-constructor)
      : tensor_(std::move(tensor)), bytes_(sizeof(void*)), is_tensor_(true) {}
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && sizeof(T) <= kMaxBytes)
      KernelArgument(const T& value)
  noexcept  // NOLINT(google-explicit-constructor)
      : bytes_(sizeof(T)) {
    std::memcpy(value_.data(), &value, sizeof(T));
  }

  [[nodiscard]] bool is_tensor() const noexcept { return is_tensor_; }
  [[nodiscard]] const Tensor& tensor() const noexcept { return tensor_; }
  [[nodiscard]] std::span<const std::byte> value() const noexcept {
    return {value_.data(), bytes_};
  }

 private:
  Tensor tensor_;
  std::array<std::byte, kMaxBytes> value_{};
  std::size_t bytes_ = 0;
  bool is_tensor_ = false;
};

/// Extents of a grid, a block or a cluster.
struct LaunchExtents {
  std::uint32_t x = 1, y = 1, z = 1;
};

/// One launch of a kernel that was added. What it reads and writes is not checked against other
/// tensors: the queue's order is all that there is.
struct KernelDesc {
  std::string_view kernel;
  LaunchExtents grid{};  ///< in blocks
  LaunchExtents block{};
  LaunchExtents cluster{};  ///< in blocks; the grid is a multiple of it
  /// cuda: dynamic shared memory. metal: the memory of [[threadgroup(0)]], rounded up to 16 bytes;
  /// more than 0 if, and only if, the kernel declares it.
  std::uint32_t shared_bytes = 0;
  std::span<const KernelArgument> arguments{};
};

/// Queues the launch; inside a capture it becomes a node of the graph, which keeps its tensors.
/// Errors: BackendLacks, InvalidOption (no such kernel; extents, shared memory or arguments that it
/// cannot take), InvalidTensor, ForeignTensor, OutOfMemory.
GIRIH_API Status launch(Runtime& runtime, const KernelDesc& desc) noexcept;

}  // namespace girih::inline v0
