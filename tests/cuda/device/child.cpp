#include "cuda/device/child.hpp"

#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <vector>

extern char** environ;

namespace girih::inline v0::testing {

int run_alone(const std::string& test) {
  std::string filter = "--gtest_filter=" + test, also = "--gtest_also_run_disabled_tests";
  std::string program = "conformance";
  char* const arguments[] = {program.data(), filter.data(), also.data(), nullptr};
  // A share of the tests is this process's alone: in the child it would leave out the one asked
  // for.
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("GTEST_")) environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environment.data()) != 0) {
    return -1;
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace girih::inline v0::testing
