#include "device/queue.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "device/commands.hpp"
#include "device/control.hpp"
#include "emulator/threadgroup.hpp"

namespace girih::inline v0::emulator {
namespace {

// Blocks, as clang's Block-ABI-Apple.html lays them out.
struct Block {
  void* isa;
  int flags;
  int reserved;
  void (*invoke)(Block*, Object*);
  const struct BlockDescriptor* descriptor;
};
struct BlockDescriptor {
  unsigned long reserved, size;
  void (*copy)(Block*, const Block*);
  void (*dispose)(const Block*);
};
constexpr int kHasCopyAndDispose = 1 << 25;

Block* copy_block(const Block* block) {
  auto* const copy = static_cast<Block*>(std::malloc(block->descriptor->size));
  std::memcpy(static_cast<void*>(copy), block, block->descriptor->size);
  if ((block->flags & kHasCopyAndDispose) != 0) block->descriptor->copy(copy, block);
  return copy;
}
void drop_block(Block* block) {
  if ((block->flags & kHasCopyAndDispose) != 0) block->descriptor->dispose(block);
  std::free(block);
}

struct CommitOptions final : Object {
  CommitOptions() noexcept : Object("MTL4CommitOptions") {}
  void finish() override { std::ranges::for_each(handlers, drop_block); }
  std::vector<Block*> handlers;
};
struct CommitFeedback final : Object {
  explicit CommitFeedback(Failure* what) noexcept : Object("MTL4CommitFeedback"), failure(what) {}
  void finish() override { failure = {}; }
  Held<Failure> failure;
};

/// What a queue has to do, in order.
struct Task {
  std::vector<Command> commands;
  CommandAllocator* allocator = nullptr;  ///< null: a signal
  Held<CommitOptions> options;
  std::set<std::byte*> resident;  ///< when it was committed
  Held<SharedEvent> event;
  std::uint64_t value = 0;
  bool is_wait = false;
};

struct CommandQueue;
std::vector<CommandQueue*>& queues() noexcept {
  static std::vector<CommandQueue*> all;
  return all;
}
struct CommandQueue final : Object {
  explicit CommandQueue(Object* maker) : Object("MTL4CommandQueue"), device(maker) {
    const std::lock_guard lock(device_mutex());
    queues().push_back(this);
  }
  void finish() override {
    const std::lock_guard lock(device_mutex());
    const auto unfinished = [](const Task& task) { return task.allocator != nullptr; };
    if (std::ranges::any_of(tasks, unfinished)) misuse("a queue is released with work to do");
    tasks.clear();
    sets.clear();
    std::erase(queues(), this);
  }
  Object* const device;
  std::vector<Held<ResidencySet>> sets;
  std::deque<Task> tasks;
};

struct Planned {
  std::optional<std::pair<long, std::string>> failure;
  std::atomic<bool> is_stalled = false, is_skipped = false;
  std::atomic<int> commits = 0;
  std::atomic<FeedbackTime> feedback_time = FeedbackTime::BeforeEvents;
  std::vector<std::jthread> late_feedback;
};
Planned& planned() noexcept {
  static Planned instance;
  return instance;
}

/// A fill as a kernel of one lane.
void fill(const Command& command) {
  static const Command* current = nullptr;
  static const Kernel kernel{"fillBuffer",
                             [](const Arguments&, const LaneIds&) {
                               note_write(current->data, current->bytes, {"fill", "", 0, 0});
                               std::memset(current->data, current->value, current->bytes);
                             },
                             1};
  current = &command;
  dispatch(kernel, {}, {}, {});
}

void run_commands(const Task& task) {
  for (const Command& command : task.commands) {
    switch (command.kind) {
      case Command::Kind::Barrier:
        order_dispatches();
        break;
      case Command::Kind::Fill:
        fill(command);
        break;
      case Command::Kind::Indirect:
        run_indirect(command);
        break;
      case Command::Kind::Dispatch:
        dispatch(*command.kernel, command.arguments, command.threadgroups, command.threads);
        break;
    }
  }
}

void call_handlers(const Held<CommitOptions>& options, const Held<Failure>& failure) {
  for (Block* const handler : options->handlers) {
    CommitFeedback* const feedback = create<CommitFeedback>(failure.get());
    handler->invoke(handler, feedback);
    feedback->release();
  }
}

void give_feedback(const Task& task, Failure* failure) {
  if (!task.options || planned().feedback_time == FeedbackTime::Never) return;
  if (planned().feedback_time == FeedbackTime::BeforeEvents) {
    return call_handlers(task.options, failure);
  }
  planned().late_feedback.emplace_back([options = task.options, held = Held<Failure>(failure)] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    call_handlers(options, held);
  });
}

void run_commit(const Task& task) {
  Failure* failure = nullptr;
  if (planned().failure) {
    failure = create<Failure>(planned().failure->first, planned().failure->second);
    planned().failure.reset();
  } else {
    for_each_buffer(
        [&](Buffer& buffer) { buffer.is_resident = task.resident.contains(buffer.data); });
    try {
      if (!planned().is_skipped) run_commands(task);
    } catch (const Finding& finding) {
      report(finding.kind, finding.text);
      failure = create<Failure>(6, finding.kind + ": " + finding.text);
    }
  }
  --task.allocator->in_flight;
  give_feedback(task, failure);
  if (failure != nullptr) failure->release();
}

/// False if the queue waits for an event.
bool run_task(CommandQueue& queue) {
  const Task& next = queue.tasks.front();
  if (next.is_wait && next.event->value < next.value) return false;
  const Task task = std::move(queue.tasks.front());
  queue.tasks.pop_front();
  if (task.allocator != nullptr) {
    run_commit(task);
  } else if (!task.is_wait) {
    task.event->value = std::max(task.event->value.load(), task.value);
  }
  return true;
}

GIRIH_METHOD("MTLDevice", "newMTL4CommandQueue",
             [](Object* self, Selector) -> Object* { return create<CommandQueue>(self); });
GIRIH_METHOD("MTL4CommandQueue", "device",
             [](CommandQueue* self, Selector) -> Object* { return self->device; });
GIRIH_METHOD("MTL4CommandQueue",
             "removeResidencySet:", [](CommandQueue* self, Selector, ResidencySet* set) {
               const auto is_it = [&](const auto& held) { return held.get() == set; };
               if (std::erase_if(self->sets, is_it) == 0) {
                 misuse("a residency set is removed that the queue does not have");
               }
             });
GIRIH_METHOD("MTL4CommandQueue", "addResidencySet:",
             [](CommandQueue* self, Selector, ResidencySet* set) { self->sets.emplace_back(set); });
GIRIH_CLASS("MTL4CommitOptions", CommitOptions);
GIRIH_METHOD("MTL4CommitOptions",
             "addFeedbackHandler:", [](CommitOptions* self, Selector, const Block* handler) {
               self->handlers.push_back(copy_block(handler));
             });
GIRIH_METHOD("MTL4CommitFeedback", "error",
             [](CommitFeedback* self, Selector) -> Object* { return self->failure.get(); });

void commit(CommandQueue* self, Selector, CommandBuffer* const* buffers, unsigned long count,
            CommitOptions* options) {
  const std::lock_guard lock(device_mutex());
  for (unsigned long i = 0; i < count; ++i) {
    CommandBuffer& buffer = *buffers[i];
    if (buffer.state != CommandBuffer::State::Ended) {
      misuse("a command buffer is committed that is not ended");
      continue;
    }
    buffer.state = CommandBuffer::State::Idle;
    ++buffer.allocator->in_flight;
    ++planned().commits;
    Task task;
    task.commands = std::move(buffer.commands);
    task.allocator = buffer.allocator;
    task.options = options;
    for (const auto& set : self->sets) {
      task.resident.insert(set->committed.begin(), set->committed.end());
    }
    self->tasks.push_back(std::move(task));
  }
}
GIRIH_METHOD("MTL4CommandQueue", "commit:count:options:", &commit);
GIRIH_METHOD("MTL4CommandQueue", "signalEvent:value:",
             [](CommandQueue* self, Selector, SharedEvent* event, std::uint64_t value) {
               const std::lock_guard lock(device_mutex());
               Task task;
               task.event = event;
               task.value = value;
               self->tasks.push_back(std::move(task));
             });

GIRIH_METHOD("MTL4CommandQueue", "waitForEvent:value:",
             [](CommandQueue* self, Selector, SharedEvent* event, std::uint64_t value) {
               const std::lock_guard lock(device_mutex());
               Task task;
               task.event = event;
               task.value = value;
               task.is_wait = true;
               self->tasks.push_back(std::move(task));
             });

}  // namespace

void run_until(SharedEvent& event, std::uint64_t value) {
  const std::lock_guard lock(device_mutex());
  for (CommandQueue* const queue : queues()) {
    while (event.value < value && !queue->tasks.empty() && !planned().is_stalled) {
      if (!run_task(*queue)) break;
    }
  }
}

void fail_next_commit(long code, const std::string& text) {
  const std::lock_guard lock(device_mutex());
  planned().failure = {code, text};
}

void set_feedback_time(FeedbackTime time) {
  planned().feedback_time = time;
  planned().late_feedback.clear();
}

int commits() noexcept {
  return planned().commits;
}

void skip_work(bool skips_work) noexcept {
  planned().is_skipped = skips_work;
}

void stall(bool is_stalled) noexcept {
  planned().is_stalled = is_stalled;
}

}  // namespace girih::inline v0::emulator
