#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "device/object.hpp"
#include "emulator/memory.hpp"

namespace girih::inline v0::emulator {

/// Memory that host and GPU share. Its address on the GPU is another one, so that mixing them up is
/// found.
constexpr std::uint64_t kGpuOffset = std::uint64_t{1} << 52;

struct Allocation : Object {
  Allocation(const char* name, std::size_t length);
  Allocation(const char* name, std::byte* memory, std::size_t length) noexcept
      : Object(name), data(memory), bytes(length) {}
  void finish() override;
  std::byte* data;
  std::size_t bytes;
};
struct DeviceBuffer final : Allocation {
  explicit DeviceBuffer(std::size_t length) : Allocation("MTLBuffer", length), contents(data) {}
  /// `memory` is where the GPU sees what the host has at `host`.
  DeviceBuffer(std::byte* memory, std::size_t length, std::byte* host) noexcept
      : Allocation("MTLBuffer", memory, length), contents(host) {}
  std::byte* const contents;
};
inline void* host_address(std::uint64_t gpu_address) noexcept {
  return gpu_address == 0 ? nullptr : reinterpret_cast<void*>(gpu_address - kGpuOffset);
}

/// What is added counts from the next commit on.
struct ResidencySet final : Object {
  ResidencySet() noexcept : Object("MTLResidencySet") {}
  std::set<std::byte*> wanted, committed;
};

struct ArgumentTable final : Object {
  explicit ArgumentTable(std::size_t count) : Object("MTL4ArgumentTable"), addresses(count) {}
  std::vector<std::uint64_t> addresses;
};

struct SharedEvent final : Object {
  SharedEvent() noexcept : Object("MTLSharedEvent") {}
  std::atomic<std::uint64_t> value = 0;
  std::atomic<int> polls = 0;  ///< since work was last done
};

}  // namespace girih::inline v0::emulator
