#include <limits>
#include <utility>

#include <girih/runtime.hpp>

#include "core/error.hpp"
#include "runtime/state.hpp"

namespace girih::inline v0 {

using detail::Entry;
using detail::RuntimeState;
using detail::TensorAccess;

namespace {

/// A row-major tensor of `shape`, contents undefined.
Result<Tensor> allocate_tensor(RuntimeState& state, const Shape& shape, DType dtype,
                               Memory memory) noexcept {
  GIRIH_TRY(check_enumerator(dtype, DType::I4, "dtype"));
  GIRIH_TRY(check_enumerator(memory, Memory::Bump, "memory"));
  const Result<std::int64_t> size = checked_size(shape, "tensor");
  if (!size) return size.error();
  const Result<std::int64_t> bytes = checked_bytes(*size, dtype, "tensor");
  if (!bytes) return bytes.error();
  Result<std::shared_ptr<detail::Storage>> storage = state.memory().allocate(*bytes, memory);
  if (!storage) return storage.error();
  return TensorAccess::make(*std::move(storage), {dtype, shape, contiguous_strides(shape), 0});
}

/// Checks a transfer between a host range and a tensor; gives the bytes.
Result<std::int64_t> check_transfer(const RuntimeState& state, const Tensor& tensor,
                                    const void* host, std::size_t bytes,
                                    const char* what) noexcept {
  GIRIH_TRY(check_tensor(tensor, state.check_context(), what));
  const Result<std::int64_t> wanted = checked_bytes(tensor.size(), tensor.dtype(), what);
  if (!wanted) return wanted.error();
  if (bytes != static_cast<std::size_t>(*wanted)) {
    return error(Code::SizeMismatch, "{}: the host range has {} bytes, the tensor {}", what, bytes,
                 *wanted);
  }
  if (host == nullptr && bytes != 0) {
    return error(Code::SizeMismatch, "{}: the host pointer is null", what);
  }
  return wanted;
}

/// Runs a copy between two tensors outside of any count.
Status copy_now(RuntimeState& state, const Tensor& source, const Tensor& destination) noexcept {
  const CopyDesc desc{.source = source, .destination = destination};
  const Result<ElementwiseProblem> problem = check(desc, state.check_context());
  if (!problem) return problem.error();
  const Result<ElementwiseSelection> selection =
      select(*problem, state.selection_context(problem->op));
  if (!selection) return selection.error();
  return state.launch(ElementwiseCall{*problem, bind(desc), *selection});
}

}  // namespace

Result<Runtime> Runtime::open(const RuntimeOptions& options) noexcept {
  Result<std::shared_ptr<RuntimeState>> state = RuntimeState::open(options);
  if (!state) return state.error();
  return Runtime(*std::move(state));
}

Runtime::Runtime(std::shared_ptr<RuntimeState> state) noexcept : state_(std::move(state)) {}
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;
Runtime::~Runtime() = default;

Backend Runtime::backend() const noexcept {
  return state_ ? state_->device().info().backend : Backend::None;
}
std::uint64_t Runtime::id() const noexcept {
  return state_ ? state_->id() : 0;
}

Result<Tensor> Runtime::tensor(const Shape& shape, DType dtype, Memory memory) noexcept {
  const Result<Entry> entry = Entry::enter(state_.get());
  if (!entry) return entry.error();
  Result<Tensor> tensor = allocate_tensor(*state_, shape, dtype, memory);
  if (!tensor) return tensor;
  const auto& storage = TensorAccess::storage(*tensor);
  GIRIH_TRY(state_->zero(storage->data, storage->bytes));
  return tensor;
}

Status Runtime::upload(const Tensor& destination, const void* source, std::size_t bytes) noexcept {
  const Result<Entry> entry = Entry::enter_uncaptured(state_.get(), "upload");
  if (!entry) return entry.error();
  const Result<std::int64_t> size =
      check_transfer(*state_, destination, source, bytes, "upload destination");
  if (!size) return size.error();
  if (*size == 0) return {};
  if (destination.is_contiguous()) {
    return state_->write(TensorAccess::address(destination), source, *size);
  }
  const Result<Tensor> packed =
      allocate_tensor(*state_, destination.shape(), destination.dtype(), Memory::Cold);
  if (!packed) return packed.error();
  GIRIH_TRY(state_->write(TensorAccess::address(*packed), source, *size));
  return copy_now(*state_, *packed, destination);
}

Status Runtime::download(const Tensor& source, void* destination, std::size_t bytes) noexcept {
  const Result<Entry> entry = Entry::enter_uncaptured(state_.get(), "download");
  if (!entry) return entry.error();
  const Result<std::int64_t> size =
      check_transfer(*state_, source, destination, bytes, "download source");
  if (!size) return size.error();
  if (*size == 0) return {};
  Tensor packed = source;
  if (!source.is_contiguous()) {
    Result<Tensor> fresh = allocate_tensor(*state_, source.shape(), source.dtype(), Memory::Cold);
    if (!fresh) return fresh.error();
    packed = *std::move(fresh);
    GIRIH_TRY(copy_now(*state_, source, packed));
  }
  return state_->read(destination, TensorAccess::address(packed), *size);
}

Result<Event> Runtime::submit() noexcept {
  const Result<Entry> entry = Entry::enter_uncaptured(state_.get(), "submit");
  if (!entry) return entry.error();
  return state_->submit();
}

Result<bool> Runtime::completed(const Event& event) noexcept {
  const Result<Entry> entry = Entry::enter_uncaptured(state_.get(), "completed");
  if (!entry) return entry.error();
  return state_->completed(event);
}

Status Runtime::wait(const Event& event) noexcept {
  const Result<Entry> entry = Entry::enter_uncaptured(state_.get(), "wait");
  if (!entry) return entry.error();
  return state_->wait(event);
}

Status Runtime::synchronize() noexcept {
  const Result<Entry> entry = Entry::enter_uncaptured(state_.get(), "synchronize");
  if (!entry) return entry.error();
  return state_->synchronize();
}

Status Runtime::bump_reserve(std::uint64_t bytes) noexcept {
  const Result<Entry> entry = Entry::enter(state_.get());
  if (!entry) return entry.error();
  if (!std::in_range<std::int64_t>(bytes)) {
    return error(Code::SizeOverflow, "bump_reserve: {} bytes exceed 2^63-1", bytes);
  }
  return state_->memory().bump_reserve(static_cast<std::int64_t>(bytes));
}

Status Runtime::bump_reset() noexcept {
  const Result<Entry> entry = Entry::enter(state_.get());
  if (!entry) return entry.error();
  return state_->memory().bump_reset();
}

Status Runtime::trim(std::uint64_t keep_bytes) noexcept {
  const Result<Entry> entry = Entry::enter(state_.get());
  if (!entry) return entry.error();
  if (state_->device().caller_capture() != 0) {
    return error(Code::CaptureMisuse, "trim while the stream is captured: it waits for the queue");
  }
  state_->memory().trim(keep_bytes);
  return state_->device().trim();
}

MemoryInfo Runtime::memory() const noexcept {
  return state_ ? state_->memory().info() : MemoryInfo{};
}
std::uint64_t Runtime::dispatch_count() const noexcept {
  return state_ ? state_->dispatch_count() : 0;
}
Status Runtime::health() const noexcept {
  if (!state_) return error(Code::MovedFrom, "the runtime was moved from");
  return state_->health();
}

Status Runtime::recover() noexcept {
  const Result<Entry> entry = Entry::enter_poisoned(state_.get(), "recover");
  if (!entry) return entry.error();
  return state_->recover();
}

}  // namespace girih::inline v0
