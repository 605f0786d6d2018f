#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/device.hpp"
#include "backends/metal/metal4.hpp"

namespace girih::inline v0::metal {

/// Sources that are compiled as one, when one of their kernels is first needed.
enum class Family : std::uint8_t { Elementwise, Simdgroup, TensorOps };
constexpr int kFamilyCount = 3;

/// One kernel, ready to be encoded.
struct Launch {
  static constexpr int kMostBuffers = 30;
  Family family = Family::Elementwise;
  const char* function = nullptr;  ///< outlives the device
  id pipeline = nullptr;           ///< of a kernel of the caller's; else it is found by name
  /// Host addresses by buffer index; null ones are bound to the last that is not, since Metal wants
  /// every slot that a kernel declares to hold something.
  std::array<const void*, kMostBuffers> buffers{};
  int buffer_count = 0;  ///< the parameters are bound behind them
  unsigned written = 0;  ///< a bit a buffer that the kernel writes
  /// A bit a buffer of the caller's kernel that is a value: `kMaxBytes` at its index in
  /// `parameters`.
  unsigned values = 0;
  const void* parameters = nullptr;
  std::size_t parameter_bytes = 0;
  Size threadgroups{1, 1, 1};
  Size threads{128, 1, 1};
  UInt threadgroup_bytes = 0;  ///< of [[threadgroup(0)]], a multiple of 16
  double seconds = 0;          ///< predicted
};

class LaunchSink {
 public:
  virtual ~LaunchSink() = default;
  virtual Status add(const Launch& launch) noexcept = 0;
};

/// Hands the kernels of one operation to `sink`, in order.
Status lower(const GemmCall& call, LaunchSink& sink) noexcept;
Status lower(const ElementwiseCall& call, LaunchSink& sink) noexcept;
Status lower(const KernelCall& call, LaunchSink& sink) noexcept;
Status lower(const Call& call, LaunchSink& sink) noexcept;

/// A copy of strided elements, for operations that move their operands first.
struct MoveDimension {
  std::int64_t extent = 1, source = 0, destination = 0;
};
Status add_copy(const std::byte* source, std::byte* destination, DType dtype,
                std::span<const MoveDimension> dimensions, LaunchSink& sink) noexcept;
/// The same for f32 operands of the matrix unit: `code` of PartsCode. Parts of the destination are
/// `part_stride` apart.
Status add_parts(const std::byte* source, std::byte* destination, std::uint32_t code,
                 std::int64_t part_stride, std::span<const MoveDimension> dimensions,
                 LaunchSink& sink) noexcept;

}  // namespace girih::inline v0::metal
