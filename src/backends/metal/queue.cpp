#include "backends/metal/queue.hpp"

#include <cstring>

#include "core/error.hpp"

namespace girih::inline v0::metal {
namespace {

/// Work of a command buffer, as predicted: the system stops one that runs for seconds.
constexpr double kLongestSeconds = 0.1;
constexpr std::uint64_t kPatienceMs = 60'000;
/// From an event to the report of the work before it, which comes on another thread.
constexpr std::chrono::milliseconds kReportPatience{5000};

Error no_report() noexcept {
  return error(Code::TimedOut, "the gpu finished, but did not report how within {} s",
               kReportPatience.count() / 1000);
}

}  // namespace

Status Queue::start(id device, id queue, Memory& memory, Pipelines& pipelines) noexcept {
  device_ = device;
  memory_ = &memory;
  pipelines_ = &pipelines;
  is_callers_ = queue != nullptr;
  ticks_ = Ref(device::new_shared_event(device));
  submissions_ = Ref(device::new_shared_event(device));
  if (!ticks_ || !submissions_ || feedback_.options() == nullptr) {
    return error(Code::BackendUnavailable, "no Metal 4 events");
  }
  GIRIH_TRY(open_queue(queue));
  Result<Ref> table = make_table();
  if (!table) return table.error();
  table_ = *std::move(table);
  for (Slot& slot : slots_) {
    const Result<std::byte*> constants = memory.allocate(kConstantBytes);
    if (!constants) return constants.error();
    slot.constants = *constants;
  }
  return make_commands();
}

Queue::~Queue() {
  if (!queue_) return;
  settle();
  // The caller's queue lives on, without our memory.
  if (is_callers_) queue::remove_residency_set(queue_.get(), memory_->residency_set());
}

/// Takes the caller's, or makes one.
Status Queue::open_queue(id queue) noexcept {
  queue_ = queue != nullptr ? Ref::retained(queue) : Ref(device::new_queue(device_));
  if (!queue_) return error(Code::BackendUnavailable, "no Metal 4 queue");
  queue::add_residency_set(queue_.get(), memory_->residency_set());
  return {};
}

Status Queue::make_commands() noexcept {
  for (Slot& slot : slots_) {
    slot.allocator = Ref(device::new_allocator(device_));
    slot.commands = Ref(device::new_command_buffer(device_));
    if (slot.allocator && slot.commands) continue;
    return error(Code::BackendUnavailable, "no Metal 4 command buffer");
  }
  return {};
}

/// Waits for all that was committed. A failed buffer may signal nothing, but it is reported; what
/// still runs could write memory.
bool Queue::has_ended() const noexcept {
  const Pool pool;
  return tick_ == 0 || event::value(ticks_.get()) >= tick_ || feedback_.finished() >= tick_ ||
         event::wait(ticks_.get(), tick_, kPatienceMs) || feedback_.finished() >= tick_;
}

/// Forgets the open command buffer.
void Queue::discard() noexcept {
  if (!encoder_) return;
  const Pool pool;
  encoder::end(encoder_.get());
  encoder_ = Ref();
  command_buffer::end(slots_[(tick_ + 1) % kSlots].commands.get());
}

void Queue::settle() noexcept {
  if (feedback_.status()) (void)commit();
  if (!has_ended()) return;
  discard();
  memory_->reap(tick_ + 1);  // of what was discarded as well
}

Status Queue::recover() noexcept {
  if (feedback_.status())
    GIRIH_TRY(commit());  // a wait that timed out: the work may have been slow
  if (!has_ended()) {
    return error(Code::TimedOut, "the gpu still works on what failed, after {} s more",
                 kPatienceMs / 1000);
  }
  discard();
  const Pool pool;
  GIRIH_TRY(make_commands());
  if (!is_callers_) GIRIH_TRY(open_queue(nullptr));
  if (event::value(ticks_.get()) < tick_) event::set_value(ticks_.get(), tick_);
  if (event::value(submissions_.get()) < submitted_) {
    event::set_value(submissions_.get(), submitted_);
  }
  newest_ = tick_;
  unheard_.reset();
  GIRIH_TRY(feedback_.restart(tick_));
  memory_->reap(tick_ + 1);  // of what was discarded as well
  return {};
}

Result<Ref> Queue::make_table() const noexcept {
  const Pool pool;
  const Ref descriptor = make("MTL4ArgumentTableDescriptor");
  argument_table_descriptor::set_most_buffers(descriptor.get(), Launch::kMostBuffers + 1);
  id failure = nullptr;
  Ref table(device::new_argument_table(device_, descriptor.get(), &failure));
  if (table) return table;
  return error(Code::OutOfMemory, "no argument table: {}", describe(failure));
}

/// Opens a command buffer, in the slot that was used longest ago.
Status Queue::begin() noexcept {
  if (encoder_) return {};
  Slot& slot = slots_[(tick_ + 1) % kSlots];
  if (slot.tick > 0) GIRIH_TRY(wait_for(ticks_.get(), slot.tick));
  const Pool pool;
  memory_->reap(completed_tick());
  allocator::reset(slot.allocator.get());
  command_buffer::begin(slot.commands.get(), slot.allocator.get());
  encoder_ = Ref::retained(command_buffer::compute_encoder(slot.commands.get()));
  encoder::queue_barrier(encoder_.get(), kStages, kStages, kVisibleToDevice);
  used_constants_ = 0;
  seconds_ = 0;
  is_first_ = true;
  hazards_.clear();
  newest_ = tick_ + 1;
  return {};
}

Status Queue::commit() noexcept {
  if (!encoder_) return {};
  const Pool pool;
  Slot& slot = slots_[(tick_ + 1) % kSlots];
  encoder::end(encoder_.get());
  encoder_ = Ref();
  command_buffer::end(slot.commands.get());
  memory_->commit_residency();
  const id commands[] = {slot.commands.get()};
  slot.tick = ++tick_;
  queue::commit(queue_.get(), commands, 1, feedback_.options());
  queue::signal(queue_.get(), ticks_.get(), tick_);
  awaits_ = false;
  return feedback_.status();
}

Status Queue::wait_for(id event, std::uint64_t value) noexcept {
  if (event::value(event) < value && !event::wait(event, value, kPatienceMs)) {
    GIRIH_TRY(feedback_.status());
    return error(Code::TimedOut, "the gpu did not finish within {} s", kPatienceMs / 1000);
  }
  return hear_reports();
}

/// Events pass behind work that failed, too, maybe before that is reported.
Status Queue::hear_reports() noexcept {
  const bool is_heard = feedback_.wait(completed_tick(), kReportPatience);
  GIRIH_TRY(feedback_.status());
  return is_heard ? Status{} : no_report();
}

/// Makes sure that the open command buffer can take a launch.
Status Queue::room_for(std::size_t bytes, double seconds) noexcept {
  const bool is_full = used_constants_ + aligned_constants(bytes) > kConstantBytes;
  // Constants without a launch are left by one that was refused.
  const bool is_empty = is_first_ && used_constants_ == 0;
  if (encoder_ && !is_empty && (is_full || seconds_ + seconds > kLongestSeconds)) {
    GIRIH_TRY(commit());
  }
  GIRIH_TRY(begin());
  seconds_ += seconds;
  return {};
}

/// What comes next sees what it depends on.
void Queue::order(std::span<const Use> uses) noexcept {
  is_first_ = false;
  if (hazards_.add(uses)) {
    encoder::barrier(encoder_.get(), kStages, kStages, kVisibleToDevice);
  }
}

Uses Queue::uses_of(const Launch& launch) const noexcept {
  Uses uses;
  for (int i = 0; i < launch.buffer_count; ++i) {
    const void* const data = launch.buffers[static_cast<std::size_t>(i)];
    if (data == nullptr) continue;
    uses.all[uses.count++] = memory_->use_of(data, ((launch.written >> i) & 1U) != 0);
  }
  return uses;
}

const std::byte* Queue::place_constants(const void* data, std::size_t bytes) noexcept {
  std::byte* const place = slots_[(tick_ + 1) % kSlots].constants + used_constants_;
  std::memcpy(place, data, bytes);
  used_constants_ += aligned_constants(bytes);
  return place;
}

Status Queue::bind(id table, const Launch& launch, std::uint64_t parameters) const noexcept {
  std::uint64_t last = parameters;
  for (int i = 0; i < launch.buffer_count; ++i) {
    if (((launch.values >> i) & 1U) != 0) {
      const auto at = static_cast<std::uint64_t>(i) * KernelArgument::kMaxBytes;
      argument_table::set_address(table, parameters + at, static_cast<UInt>(i));
      continue;
    }
    const void* const data = launch.buffers[static_cast<std::size_t>(i)];
    const std::uint64_t address = memory_->gpu_address(data);
    if (data != nullptr && address == 0) {
      return error(Code::InvalidTensor, "buffer {} of {} is not memory of this device", i,
                   launch.function);
    }
    if (address != 0) last = address;
    argument_table::set_address(table, last, static_cast<UInt>(i));
  }
  if (launch.pipeline == nullptr) {
    argument_table::set_address(table, parameters, static_cast<UInt>(launch.buffer_count));
  }
  return {};
}

template <class L>
Status Queue::dispatch(id pipeline, id table, const Uses& uses, const L& launch) noexcept {
  order(uses.get());
  encoder::set_table(encoder_.get(), table);
  encoder::set_pipeline(encoder_.get(), pipeline);
  if (launch.threadgroup_bytes > 0) {
    encoder::set_threadgroup_memory(encoder_.get(), launch.threadgroup_bytes, 0);
  }
  encoder::dispatch(encoder_.get(), launch.threadgroups, launch.threads);
  // It would count against the limit of every later dispatch of the encoder.
  if (launch.threadgroup_bytes > 0) encoder::set_threadgroup_memory(encoder_.get(), 0, 0);
  return {};
}

Status Queue::encode(const Launch& launch) noexcept {
  const Result<id> pipeline = pipelines_->find(launch);
  if (!pipeline) return pipeline.error();
  GIRIH_TRY(room_for(launch.parameter_bytes, launch.seconds));
  const std::byte* const parameters = place_constants(launch.parameters, launch.parameter_bytes);
  GIRIH_TRY(bind(table_.get(), launch, memory_->gpu_address(parameters)));
  return dispatch(*pipeline, table_.get(), uses_of(launch), launch);
}

Status Queue::encode(const Prepared& launch) noexcept {
  GIRIH_TRY(room_for(0, launch.seconds));
  return dispatch(launch.pipeline, launch.table.get(), launch.uses, launch);
}

Status Queue::fill(std::byte* data, std::int64_t bytes, std::uint8_t value) noexcept {
  GIRIH_TRY(room_for(0, 0));
  const Memory::Place place = memory_->place_of(data);
  if (place.buffer == nullptr) return error(Code::InvalidTensor, "not memory of this device");
  const Use use = memory_->use_of(data, true);
  order({&use, 1});
  encoder::fill(encoder_.get(), place.buffer, Range{place.offset, static_cast<UInt>(bytes)}, value);
  return {};
}

Result<const std::byte*> Queue::stage(const void* data, std::size_t bytes) noexcept {
  // The launch's own constants come behind them.
  GIRIH_TRY(room_for(bytes + kConstantBytes - kMostStaged, 0));
  return place_constants(data, bytes);
}

Status Queue::submit(std::uint64_t value) noexcept {
  submitted_ = value;
  return signal(submissions_.get(), value);
}

Result<bool> Queue::completed(std::uint64_t value) noexcept {
  if (event::value(submissions_.get()) < value) return false;
  const std::uint64_t done = completed_tick(), reported = feedback_.finished();
  GIRIH_TRY(feedback_.status());
  if (reported >= done) return true;
  const auto now = std::chrono::steady_clock::now();
  if (!unheard_ || reported >= unheard_->tick) unheard_ = Unheard{done, now};
  if (now - unheard_->since > kReportPatience) return no_report();
  return false;
}

Status Queue::wait(std::uint64_t value) noexcept {
  GIRIH_TRY(wait_for(submissions_.get(), value));
  memory_->reap(completed_tick());
  return {};
}

Status Queue::signal(id event, std::uint64_t value) noexcept {
  GIRIH_TRY(commit());
  queue::signal(queue_.get(), event, value);
  return {};
}

Status Queue::await(id event, std::uint64_t value) noexcept {
  GIRIH_TRY(commit());
  queue::wait(queue_.get(), event, value);
  awaits_ = true;
  return {};
}

bool Queue::is_idle() const noexcept {
  return !encoder_ && !awaits_ && completed_tick() >= tick_;
}

Status Queue::drain() noexcept {
  if (awaits_) GIRIH_TRY(begin());  // what is committed now comes after the event
  GIRIH_TRY(commit());
  if (tick_ > 0) GIRIH_TRY(wait_for(ticks_.get(), tick_));
  memory_->reap(completed_tick());
  return {};
}

std::uint64_t Queue::completed_tick() const noexcept {
  return event::value(ticks_.get());
}

}  // namespace girih::inline v0::metal
