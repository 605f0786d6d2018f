#include "cuda/device/child.hpp"

#include <spawn.h>
#include <sys/wait.h>

extern char** environ;

namespace girih::inline v0::testing {

int run_alone(const std::string& test) {
  std::string filter = "--gtest_filter=" + test, also = "--gtest_also_run_disabled_tests";
  std::string program = "conformance";
  char* const arguments[] = {program.data(), filter.data(), also.data(), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0) return -1;
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace girih::inline v0::testing
