#include "support/system_calls.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

namespace girih::inline v0::testing {
namespace {

enum Exit : int { kQuiet = 0, kCalled = 1, kFailed = 2, kNoFilter = 3 };

int* first_call = nullptr;  // shared with the child

#if defined(__linux__)
void on_call(int, siginfo_t* info, void*) {
  *first_call = info->si_syscall;
  syscall(SYS_exit_group, kCalled);
}

/// From here on each system call of this thread raises SIGSYS, but for the allowed ones.
bool watch(std::initializer_list<int> allowed) {
  struct sigaction action {};
  action.sa_sigaction = on_call;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  std::vector<int> passed = {SYS_exit_group};
  passed.insert(passed.end(), allowed.begin(), allowed.end());
  for (const int number : passed) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()),
                          .filter = program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

[[noreturn]] void end(Exit code) {
  syscall(SYS_exit_group, code);
  _exit(code);
}
#else
bool watch(std::initializer_list<int>) {
  return false;
}
[[noreturn]] void end(Exit code) {
  _exit(code);
}
#endif

}  // namespace

std::optional<int> first_system_call(const std::function<bool()>& prepare,
                                     const std::function<bool()>& work,
                                     std::initializer_list<int> allowed) {
  void* const shared =
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return std::nullopt;
  first_call = static_cast<int*>(shared);
  *first_call = kNone;
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    if (!prepare()) end(kFailed);
    if (!watch(allowed)) end(kNoFilter);
    end(work() ? kQuiet : kFailed);
  }
  int status = 0;
  const bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
  const int call = *first_call;
  munmap(shared, sizeof(int));
  if (!ended || WEXITSTATUS(status) > kCalled) return std::nullopt;
  return call;
}

}  // namespace girih::inline v0::testing
