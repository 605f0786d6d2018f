#include "backends/cpu/device.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "backends/cpu/elementwise.hpp"
#include "backends/cpu/gemm.hpp"
#include "backends/cpu/grouped.hpp"
#include "backends/cpu/permute.hpp"
#include "backends/cpu/route.hpp"
#include "core/error.hpp"

namespace girih::inline v0::cpu {
namespace {

constexpr std::align_val_t kAlignment{64};

class CpuDevice;

/// The calls in order, run again.
class CallList final : public Executable {
 public:
  CallList(CpuDevice& device, std::span<const Call> calls) noexcept
      : device_(device), calls_(calls) {}
  Status replay() noexcept override;

 private:
  CpuDevice& device_;
  std::span<const Call> calls_;
};

/// Calls have finished when they return, so everything submitted is complete.
class CpuDevice final : public Device {
 public:
  explicit CpuDevice(std::shared_ptr<Executor> executor)
      : info_(probe()), executor_(std::move(executor)) {}

  [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::span<const KernelInfo> kernels() const noexcept override {
    return kernel_table();
  }
  [[nodiscard]] int threads() const noexcept override {
    return std::min(executor_->concurrency(), kMaxThreads);
  }

  Result<std::byte*> allocate(std::int64_t bytes) noexcept override {
    auto* const data = static_cast<std::byte*>(
        ::operator new(static_cast<std::size_t>(bytes), kAlignment, std::nothrow));
    if (data == nullptr) return error(Code::OutOfMemory, "no memory for {} bytes", bytes);
    return data;
  }
  void release(std::byte* data, std::int64_t) noexcept override {
    ::operator delete(data, kAlignment);
  }
  Status zero(std::byte* data, std::int64_t bytes) noexcept override {
    if (bytes > 0) std::memset(data, 0, static_cast<std::size_t>(bytes));
    return {};
  }
  Status write(std::byte* destination, const void* source, std::int64_t bytes) noexcept override {
    if (bytes > 0) std::memcpy(destination, source, static_cast<std::size_t>(bytes));
    return {};
  }
  Status read(void* destination, const std::byte* source, std::int64_t bytes) noexcept override {
    if (bytes > 0) std::memcpy(destination, source, static_cast<std::size_t>(bytes));
    return {};
  }

  Status launch(const Call& call) noexcept override try {
    if (const auto* product = std::get_if<GemmCall>(&call)) return run(*product, *executor_);
    if (const auto* groups = std::get_if<GroupedGemmCall>(&call)) return run(*groups, *executor_);
    if (const auto* tokens = std::get_if<RouteCall>(&call)) return run(*tokens, *executor_);
    if (const auto* rows = std::get_if<PermuteCall>(&call)) return run(*rows, *executor_);
    if (const auto* rows = std::get_if<UnpermuteCall>(&call)) return run(*rows, *executor_);
    return run(*std::get_if<ElementwiseCall>(&call), *executor_);
  } catch (...) {
    return error(Code::ExecutorFailed, "the executor threw out of a loop");
  }

  Result<std::unique_ptr<Executable>> instantiate(std::span<const Call> calls) noexcept override {
    std::unique_ptr<Executable> list(new (std::nothrow) CallList(*this, calls));
    if (list == nullptr) return error(Code::OutOfMemory, "no memory for a graph");
    return list;
  }

  Status submit(std::uint64_t) noexcept override { return {}; }
  Result<bool> completed(std::uint64_t) noexcept override { return true; }
  Status wait(std::uint64_t) noexcept override { return {}; }

  Status prepare(const Call& call) noexcept override {
    if (const auto* product = std::get_if<GemmCall>(&call)) {
      return check_code(*product->selection.kernel);
    }
    const auto* groups = std::get_if<GroupedGemmCall>(&call);
    return groups != nullptr ? check_code(*groups->selection.kernel) : Status{};
  }
  /// Everything that the process can address is shared.
  Result<std::byte*> import(const NativeMemory& memory, std::int64_t bytes) noexcept override {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.handle);
    const std::uintptr_t size = memory.byte_offset + static_cast<std::uint64_t>(bytes);
    if (begin + size < begin) {
      return error(Code::Unwrappable, "wrap: {} bytes at {:#x} exceed the address space", size,
                   begin);
    }
    return static_cast<std::byte*>(memory.handle) + memory.byte_offset;
  }
  void end_import(std::byte*, std::int64_t, Done done, void* context) noexcept override {
    done(context);
  }
  Result<NativeMemory> native_memory(const std::byte* data) noexcept override {
    return NativeMemory{.handle = const_cast<std::byte*>(data)};
  }

 private:
  const DeviceInfo info_;
  const std::shared_ptr<Executor> executor_;
};

Status CallList::replay() noexcept {
  for (const Call& call : calls_) GIRIH_TRY(device_.launch(call));
  return {};
}

}  // namespace

Result<std::unique_ptr<Device>> open(std::shared_ptr<Executor> executor) noexcept try {
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(std::move(executor)));
} catch (...) {
  return error(Code::OutOfMemory, "no memory to open the cpu");
}

}  // namespace girih::inline v0::cpu
