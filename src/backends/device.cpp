#include "backends/device.hpp"

#include <algorithm>

#include "core/error.hpp"

// What backends share, and what one answers of what it does not have.

namespace girih::inline v0 {
namespace {

Error lacks(const Device& device, const char* what) noexcept {
  return error(Code::BackendLacks, "backend {} {}", name(device.info().backend), what);
}

}  // namespace

std::string_view name(NativeObject object) noexcept {
  switch (object) {
    case NativeObject::CudaContext:
      return "CUDA context";
    case NativeObject::CudaStream:
      return "CUDA stream";
    case NativeObject::MetalDevice:
      return "Metal device";
    case NativeObject::MetalQueue:
      return "Metal queue";
  }
  return "unknown object";
}

Status check_name(std::string_view name, std::span<const KernelInfo> own, bool is_added) noexcept {
  const bool is_own = std::any_of(own.begin(), own.end(),
                                  [&](const KernelInfo& kernel) { return kernel.name == name; });
  if (!is_own && !is_added) return {};
  return error(Code::InvalidOption, "add_kernels: the name '{}' is taken by a kernel {}", name,
               is_own ? "of girih" : "that was added before");
}

Status Device::recover() noexcept {
  return lacks(*this, "cannot recover: open a new runtime");
}

Status Device::prepare(const Call&) noexcept {
  return lacks(*this, "cannot prepare calls yet");
}

Result<std::byte*> Device::import(const NativeMemory&, std::int64_t) noexcept {
  return lacks(*this, "cannot wrap memory yet");
}

void Device::end_import(std::byte*, std::int64_t, Done done, void* context) noexcept {
  done(context);
}

Result<NativeMemory> Device::native_memory(const std::byte*) noexcept {
  return lacks(*this, "does not show its memory");
}

Result<void*> Device::native_object(NativeObject object) noexcept {
  return error(Code::BackendLacks, "backend {} has no {}", name(info().backend), name(object));
}

Status Device::record(const ForeignEvent&) noexcept {
  return lacks(*this, "has no events: what was called has finished");
}

Status Device::wait_for(const ForeignEvent&) noexcept {
  return lacks(*this, "has no events: wait before the call");
}

Result<std::vector<std::string>> Device::add_kernels(const KernelImage&) noexcept {
  return lacks(*this, "takes no kernels of the caller's");
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): backends keep it.
Status Device::hold_for_capture(std::shared_ptr<void>) noexcept {
  return lacks(*this, "has no graphs of the caller's");
}

}  // namespace girih::inline v0
