#include "runtime/line_trace.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <system_error>
#include <unistd.h>

#include "core/error.hpp"

namespace girih::inline v0 {

namespace {

/// Keeps the SIGPIPE of a write to a pipe that nobody reads from ending the program. The signal is
/// the writing thread's own, so it is taken back here, unless one was pending before.
class PipeSignalHeld {
 public:
  PipeSignalHeld() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalHeld() {
    constexpr timespec kAtOnce{};
    if (!was_pending_) {
      while (sigtimedwait(&pipe_, nullptr, &kAtOnce) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalHeld(const PipeSignalHeld&) = delete;
  PipeSignalHeld& operator=(const PipeSignalHeld&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace

Result<std::unique_ptr<LineTrace>> LineTrace::open(const Environment& environment) noexcept {
  if (!environment.traces_lines) return std::unique_ptr<LineTrace>();
  int file = STDERR_FILENO;
  if (!environment.trace_file.empty()) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    file = ::open(environment.trace_file.c_str(), kFlags, 0666);
    if (file < 0) {
      const int reason = errno;
      return error(Code::InvalidOption, "GIRIH_TRACE_FILE is '{}', which cannot be opened: {}",
                   environment.trace_file,
                   std::error_code(reason, std::generic_category()).message());
    }
  }
  std::unique_ptr<LineTrace> trace(new (std::nothrow) LineTrace(file));
  if (trace == nullptr) return error(Code::OutOfMemory, "no memory for a trace");
  return trace;
}

LineTrace::~LineTrace() {
  if (file_ != STDERR_FILENO) ::close(file_);
}

void LineTrace::write(const CallLine& line) noexcept try {
  const std::string text = to_text(line) + '\n';
  const PipeSignalHeld held;
  while (::write(file_, text.data(), text.size()) < 0 && errno == EINTR) {
  }
} catch (...) {  // lost
}

}  // namespace girih::inline v0
