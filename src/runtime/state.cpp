#include "runtime/state.hpp"

#include <algorithm>
#include <utility>

#include "core/environment.hpp"
#include "core/error.hpp"
#include "runtime/registry.hpp"

namespace girih::inline v0::detail {
namespace {

std::atomic<std::uint64_t> next_runtime_id = 1;

/// The row that `name` forces; null for "".
Result<const KernelInfo*> find_forced(std::span<const KernelInfo> kernels,
                                      std::string_view name) noexcept {
  if (name.empty()) return nullptr;
  const auto row = std::find_if(kernels.begin(), kernels.end(),
                                [&](const KernelInfo& kernel) { return kernel.name == name; });
  if (row == kernels.end()) {
    return error(Code::GemmUnknownKernel, "forced kernel '{}' is no kernel of this backend", name);
  }
  return &*row;
}

}  // namespace

Result<std::shared_ptr<RuntimeState>> RuntimeState::open(const RuntimeOptions& options) noexcept
    try {
  GIRIH_TRY(
      check_enumerator(options.reproducibility, Reproducibility::RowInvariant, "reproducibility"));
  const Result<Environment> environment = read_environment();
  if (!environment) return environment.error();
  Result<std::shared_ptr<Device>> device = open_device(options, *environment);
  if (!device) return device.error();
  const std::string& forced_name =
      options.force_kernel.empty() ? environment->force_kernel : options.force_kernel;
  const Result<const KernelInfo*> forced = find_forced((*device)->kernels(), forced_name);
  if (!forced) return forced.error();
  Result<std::unique_ptr<LineTrace>> trace = LineTrace::open(*environment);
  if (!trace) return trace.error();
  return std::make_shared<RuntimeState>(*std::move(device), next_runtime_id++, options, *forced,
                                        *std::move(trace));
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to open a runtime");
}

RuntimeState::RuntimeState(std::shared_ptr<Device> device, std::uint64_t id,
                           const RuntimeOptions& options, const KernelInfo* forced,
                           std::unique_ptr<LineTrace> trace)
    : device_(std::move(device)),
      id_(id),
      reproducibility_(options.reproducibility),
      forced_(forced),
      trace_(std::move(trace)),
      memory_(
          std::make_shared<MemoryPool>(device_, id, options.cold_cache_bytes, options.allocator)) {}

RuntimeState::~RuntimeState() {
  scratch_.reset();
  memory_->close();
  device_->close();
}

SelectionContext RuntimeState::selection_context(Op op) const noexcept {
  return {.device = &device_->info(),
          .kernels = device_->kernels(),
          .threads = device_->threads(),
          .forced_kernel = forced_ != nullptr && forced_->serves(op) ? forced_->name : ""};
}

Status RuntimeState::dispatch(GemmCall& call, std::span<const Tensor* const> tensors) noexcept {
  const Result<std::byte*> workspace =
      scratch_or(call.operands.workspace, call.selection.workspace_bytes);
  if (!workspace) return workspace.error();
  call.scratch = *workspace;
  return finish_dispatch(call, tensors);
}

Status RuntimeState::dispatch(GroupedGemmCall& call,
                              std::span<const Tensor* const> tensors) noexcept {
  const Result<std::byte*> workspace =
      scratch_or(call.operands.product.workspace, call.selection.workspace_bytes);
  if (!workspace) return workspace.error();
  call.scratch = *workspace;
  return finish_dispatch(call, tensors);
}

Status RuntimeState::dispatch(RouteCall& call, std::span<const Tensor* const> tensors) noexcept {
  const Result<std::byte*> workspace =
      scratch_or(call.operands.workspace, call.selection.workspace_bytes);
  if (!workspace) return workspace.error();
  call.scratch = *workspace;
  return finish_dispatch(call, tensors);
}

Status RuntimeState::dispatch(PermuteCall& call, std::span<const Tensor* const> tensors) noexcept {
  const Result<std::byte*> workspace = scratch_or(nullptr, call.selection.workspace_bytes);
  if (!workspace) return workspace.error();
  call.scratch = *workspace;
  return finish_dispatch(call, tensors);
}

Status RuntimeState::dispatch(UnpermuteCall& call,
                              std::span<const Tensor* const> tensors) noexcept {
  const Result<std::byte*> workspace = scratch_or(nullptr, call.selection.workspace_bytes);
  if (!workspace) return workspace.error();
  call.scratch = *workspace;
  return finish_dispatch(call, tensors);
}

Status RuntimeState::dispatch(ElementwiseCall& call,
                              std::span<const Tensor* const> tensors) noexcept {
  return finish_dispatch(call, tensors);
}

Status RuntimeState::dispatch(KernelCall& call, std::span<const Tensor* const> tensors) noexcept {
  return finish_dispatch(std::move(call), tensors);
}

Status RuntimeState::finish_dispatch(const Call& call,
                                     std::span<const Tensor* const> tensors) noexcept {
  if (recording_) return record(call, tensors);
  GIRIH_TRY(hold(tensors));
  GIRIH_TRY(launch(call));
  dispatches_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

Status RuntimeState::launch(const Call& call) noexcept {
  return note(device_->launch(call));
}

Status RuntimeState::prepare(const GemmCall& call) noexcept {
  GIRIH_TRY(note(device_->prepare(call)));
  const Result<std::byte*> workspace =
      scratch_or(call.operands.workspace, call.selection.workspace_bytes);
  return workspace ? Status{} : Status(workspace.error());
}

Status RuntimeState::prepare(const GroupedGemmCall& call) noexcept {
  GIRIH_TRY(note(device_->prepare(call)));
  const Result<std::byte*> workspace =
      scratch_or(call.operands.product.workspace, call.selection.workspace_bytes);
  return workspace ? Status{} : Status(workspace.error());
}

Status RuntimeState::prepare(const RouteCall& call) noexcept {
  GIRIH_TRY(note(device_->prepare(call)));
  const Result<std::byte*> workspace =
      scratch_or(call.operands.workspace, call.selection.workspace_bytes);
  return workspace ? Status{} : Status(workspace.error());
}

Status RuntimeState::prepare(const PermuteCall& call) noexcept {
  GIRIH_TRY(note(device_->prepare(call)));
  const Result<std::byte*> workspace = scratch_or(nullptr, call.selection.workspace_bytes);
  return workspace ? Status{} : Status(workspace.error());
}

Status RuntimeState::prepare(const UnpermuteCall& call) noexcept {
  GIRIH_TRY(note(device_->prepare(call)));
  const Result<std::byte*> workspace = scratch_or(nullptr, call.selection.workspace_bytes);
  return workspace ? Status{} : Status(workspace.error());
}

Status RuntimeState::prepare(const ElementwiseCall& call) noexcept {
  return note(device_->prepare(call));
}

Status RuntimeState::record(const ForeignEvent& event) noexcept {
  return note(device_->record(event));
}

Status RuntimeState::wait_for(const ForeignEvent& event) noexcept {
  return note(device_->wait_for(event));
}

Status RuntimeState::zero(std::byte* data, std::int64_t bytes) noexcept {
  return note(device_->zero(data, bytes));
}

Status RuntimeState::write(std::byte* destination, const void* source,
                           std::int64_t bytes) noexcept {
  return note(device_->write(destination, source, bytes));
}

Status RuntimeState::read(void* destination, const std::byte* source, std::int64_t bytes) noexcept {
  return note(device_->read(destination, source, bytes));
}

Status RuntimeState::record(const Call& call, std::span<const Tensor* const> tensors) noexcept try {
  recording_->calls.push_back(call);
  for (const Tensor* tensor : tensors) {
    if (tensor != nullptr) recording_->held.push_back(TensorAccess::storage(*tensor));
  }
  return {};
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to record an operation");
}

Status RuntimeState::hold(std::span<const Tensor* const> tensors) noexcept try {
  if (device_->caller_capture() == 0) return {};
  auto held = std::make_shared<std::vector<StoragePtr>>();
  for (const Tensor* tensor : tensors) {
    if (tensor != nullptr) held->push_back(TensorAccess::storage(*tensor));
  }
  // What is held keeps the device, so there must be something.
  return held->empty() ? Status{} : note(device_->hold_for_capture(std::move(held)));
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to capture an operation");
}

Result<std::byte*> RuntimeState::caller_scratch(std::uint64_t capture,
                                                std::int64_t bytes) noexcept {
  StoragePtr current = caller_capture_ == capture ? caller_scratch_.lock() : nullptr;
  if (current && current->bytes >= bytes) return current->data;
  Result<StoragePtr> fresh = memory_->allocate_graph_scratch(bytes);
  if (!fresh) return fresh.error();
  GIRIH_TRY(note(device_->hold_for_capture(*fresh)));
  caller_capture_ = capture;
  caller_scratch_ = *fresh;
  return (*fresh)->data;
}

Result<std::byte*> RuntimeState::scratch(std::int64_t bytes) noexcept try {
  if (!recording_) {
    const std::uint64_t capture = device_->caller_capture();
    if (capture != 0) return caller_scratch(capture, bytes);
  }
  StoragePtr& current = recording_ ? recording_->scratch : scratch_;
  if (current && current->bytes >= bytes) return current->data;
  if (recording_ && current) recording_->held.push_back(current);
  if (!recording_) current.reset();  // the new block may be cut from the old one's memory
  Result<StoragePtr> fresh = memory_->allocate_scratch(bytes);
  if (!fresh) return fresh.error();
  current = *std::move(fresh);
  return current->data;
} catch (...) {
  return error(Code::OutOfMemory, "no host memory to record a workspace");
}

Result<std::byte*> RuntimeState::scratch_or(std::byte* workspace, std::int64_t bytes) noexcept {
  if (workspace != nullptr || bytes == 0) return workspace;
  return scratch(bytes);
}

Status RuntimeState::replay(Executable& executable, std::size_t operations) noexcept {
  GIRIH_TRY(note(executable.replay()));
  dispatches_.fetch_add(operations, std::memory_order_relaxed);
  return {};
}

Result<Event> RuntimeState::submit() noexcept {
  GIRIH_TRY(note(device_->submit(submitted_ + 1)));
  return Event{id_, ++submitted_};
}

Status RuntimeState::check_event(const Event& event) const noexcept {
  if (event.runtime != id_) {
    return error(Code::InvalidOption, "the event is of runtime {}, the call is on {}",
                 event.runtime, id_);
  }
  if (event.value == 0 || event.value > submitted_) {
    return error(Code::InvalidOption, "event value {} was never submitted, the last is {}",
                 event.value, submitted_);
  }
  return {};
}

Result<bool> RuntimeState::completed(const Event& event) noexcept {
  GIRIH_TRY(check_event(event));
  Result<bool> done = device_->completed(event.value);
  if (!done) GIRIH_TRY(note(done.error()));
  return done;
}

Status RuntimeState::wait(const Event& event) noexcept {
  GIRIH_TRY(check_event(event));
  return note(device_->wait(event.value));
}

Status RuntimeState::synchronize() noexcept {
  const Result<Event> event = submit();
  if (!event) return event.error();
  return note(device_->wait(event->value));
}

Status RuntimeState::begin_capture() noexcept {
  if (recording_) return error(Code::CaptureMisuse, "capture inside a capture");
  recording_.emplace();
  capturing_thread_ = std::this_thread::get_id();
  return {};
}

Recording RuntimeState::end_capture() noexcept {
  Recording recording = *std::move(recording_);
  recording_.reset();
  return recording;
}

Status RuntimeState::note(Status status) noexcept {
  if (status || status.error().kind() != ErrorKind::Failed) return status;
  const std::lock_guard lock(poison_mutex_);
  if (!poisoned_.load(std::memory_order_relaxed)) {
    try {
      poison_message_ = status.error().message;
    } catch (...) {
      poison_message_.clear();
    }
    poisoned_.store(true, std::memory_order_release);
  }
  return status;
}

Status RuntimeState::health() const noexcept {
  if (!poisoned_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(poison_mutex_);
  return error(Code::RuntimePoisoned, "runtime {} failed earlier: {}", id_, poison_message_);
}

Status RuntimeState::recover() noexcept {
  const Status status = device_->recover();
  const bool was_healthy = !poisoned_.load(std::memory_order_acquire);
  if (!status && was_healthy && status.error().code == Code::BackendLacks) return {};
  if (!status) return status;
  const std::lock_guard lock(poison_mutex_);
  poison_message_.clear();
  poisoned_.store(false, std::memory_order_release);
  return {};
}

Result<Entry> Entry::claim(RuntimeState* state) noexcept {
  if (state == nullptr) return error(Code::MovedFrom, "the runtime was moved from");
  if (state->busy_.exchange(true, std::memory_order_acquire)) {
    return error(Code::RuntimeBusy, "another thread is inside runtime {}", state->id());
  }
  return Entry(*state);
}

Result<Entry> Entry::enter(RuntimeState* pointer) noexcept {
  Result<Entry> entry = claim(pointer);
  if (!entry) return entry;
  RuntimeState& state = *pointer;
  GIRIH_TRY(state.health());
  if (state.recording_ && state.capturing_thread_ != std::this_thread::get_id()) {
    return error(Code::RuntimeBusy, "another thread captures on runtime {}", state.id());
  }
  return entry;
}

Entry Entry::acquire(RuntimeState& state) noexcept {
  while (state.busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  return Entry(state);
}

Result<Entry> Entry::enter_uncaptured(RuntimeState* state, const char* what) noexcept {
  Result<Entry> entry = enter(state);
  if (entry && state->is_capturing()) {
    return error(Code::CaptureMisuse, "{} inside a capture: a graph cannot hold it", what);
  }
  return entry;
}

Result<Entry> Entry::enter_poisoned(RuntimeState* state, const char* what) noexcept {
  Result<Entry> entry = claim(state);
  if (entry && state->is_capturing()) {
    return error(Code::CaptureMisuse, "{} inside a capture: a graph cannot hold it", what);
  }
  return entry;
}

}  // namespace girih::inline v0::detail
