#include "backends/metal/feedback.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>

#include "core/error.hpp"

// The one block of the backend, laid out by hand as the blocks ABI says (clang's
// Block-ABI-Apple.html), so that no compiler support for blocks is needed.

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the system's.
extern "C" void* _NSConcreteStackBlock[32];

namespace girih::inline v0::metal {

/// Counted: by the Feedback and by each copy of the block.
struct Feedback::State {
  std::atomic<int> owners = 1;
  std::mutex mutex;
  std::condition_variable reported;
  std::uint64_t finished = 0;
  std::optional<Error> error;

  void drop() noexcept {
    if (owners.fetch_sub(1) == 1) delete this;
  }
};

namespace {

struct Block {
  void* isa;
  int flags;
  int reserved;
  void (*invoke)(Block*, id feedback);
  const struct Descriptor* descriptor;
  Feedback::State* state;
};
struct Descriptor {
  unsigned long reserved, size;
  void (*copy)(Block*, const Block*);
  void (*dispose)(const Block*);
};
constexpr int kHasCopyAndDispose = 1 << 25;

Error to_error(id failure) {
  const Int code = failure::code(failure);
  const std::string text = describe(failure);
  // Has no code of its own: "Impacting Interactivity (...)".
  if (text.find("nteractiv") != std::string::npos) {
    return error(Code::GpuInterrupted, "the system took the gpu back for the display: {}", text);
  }
  if (code == kQueueTimeout) return error(Code::TimedOut, "the gpu stopped the work: {}", text);
  if (code == kQueueOutOfMemory) {
    return error(Code::GpuOutOfMemory, "the gpu ran out of memory: {}", text);
  }
  return error(Code::DeviceFailed, "command buffer failed, code {}: {}", code, text);
}

void note(Block* block, id feedback) {
  const Pool pool;
  const id failure = commit_feedback::error(feedback);
  Feedback::State& state = *block->state;
  const std::lock_guard lock(state.mutex);
  if (failure != nullptr && !state.error) state.error = to_error(failure);
  ++state.finished;
  state.reported.notify_all();
}

void copy(Block*, const Block* from) {
  from->state->owners.fetch_add(1);
}
void dispose(const Block* block) {
  block->state->drop();
}

constexpr Descriptor kDescriptor{0, sizeof(Block), &copy, &dispose};

}  // namespace

Feedback::Feedback() {
  (void)listen(0);
}

Feedback::~Feedback() {
  if (state_ != nullptr) state_->drop();
}

Status Feedback::listen(std::uint64_t finished) noexcept {
  Ref options = make("MTL4CommitOptions");
  State* const state = options ? new (std::nothrow) State : nullptr;
  if (state == nullptr) return error(Code::OutOfMemory, "no memory for reports of the gpu");
  state->finished = finished;
  Block block{_NSConcreteStackBlock, kHasCopyAndDispose, 0, &note, &kDescriptor, state};
  commit_options::add_feedback(options.get(), &block);  // copies it
  if (state_ != nullptr) state_->drop();
  state_ = state;
  options_ = std::move(options);
  return {};
}

Status Feedback::status() const noexcept {
  const std::lock_guard lock(state_->mutex);
  if (!state_->error) return {};
  try {
    return *state_->error;
  } catch (...) {
    return Error{state_->error->code, {}};
  }
}

std::uint64_t Feedback::finished() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->finished;
}

bool Feedback::wait(std::uint64_t count, std::chrono::milliseconds patience) const noexcept {
  std::unique_lock lock(state_->mutex);
  return state_->reported.wait_for(lock, patience, [&] { return state_->finished >= count; });
}

Status Feedback::restart(std::uint64_t finished) noexcept {
  return listen(finished);
}

}  // namespace girih::inline v0::metal
