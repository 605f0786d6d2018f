#include "backends/metal/feedback.hpp"

#include <atomic>
#include <mutex>
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
  std::atomic<std::uint64_t> finished = 0;
  std::mutex mutex;
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
  if (failure != nullptr) {
    const std::lock_guard lock(state.mutex);
    if (!state.error) state.error = to_error(failure);
  }
  state.finished.fetch_add(1);
}

void copy(Block*, const Block* from) {
  from->state->owners.fetch_add(1);
}
void dispose(const Block* block) {
  block->state->drop();
}

constexpr Descriptor kDescriptor{0, sizeof(Block), &copy, &dispose};

}  // namespace

Feedback::Feedback() : state_(new State), options_(make("MTL4CommitOptions")) {
  Block block{_NSConcreteStackBlock, kHasCopyAndDispose, 0, &note, &kDescriptor, state_};
  if (options_) commit_options::add_feedback(options_.get(), &block);  // copies it
}

Feedback::~Feedback() {
  state_->drop();
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
  return state_->finished.load();
}

void Feedback::clear() noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->error.reset();
}

}  // namespace girih::inline v0::metal
