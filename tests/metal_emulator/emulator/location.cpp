#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <string>
#include <unistd.h>

#include "emulator/launch.hpp"

namespace girih::inline v0::emulator {
namespace {

std::string file_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// "gemm_simdgroup.metal:70" of an instruction of this program, through addr2line.
std::string line_of(std::uintptr_t instruction) {
  Dl_info info{};
  std::uintptr_t base = 0;
  if (dladdr(reinterpret_cast<const void*>(instruction), &info) != 0) {
    base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  }
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
  if (length <= 0) return "?";
  program[length] = '\0';
  // The return address lies behind the call; programs that are not relocated start at a base that
  // is part of their addresses.
  for (const std::uintptr_t address : {instruction - 1 - base, instruction - 1}) {
    char command[4300];
    std::snprintf(command, sizeof(command), "addr2line -e '%s' %lx 2>/dev/null", program,
                  static_cast<unsigned long>(address));
    std::string line;
    if (FILE* const pipe = popen(command, "r")) {
      char text[4096];
      if (std::fgets(text, sizeof(text), pipe) != nullptr) line = text;
      pclose(pipe);
    }
    line = line.substr(0, line.find_first_of(" \n"));
    if (!line.empty() && line[0] != '?') return file_name(line);
  }
  return "?";
}

}  // namespace

std::string describe(const Site& site) {
  std::string text = site.what;
  if (site.instruction != 0) return text + " at " + line_of(site.instruction);
  if (*site.file == '\0') return text;
  return text + " at " + file_name(site.file) + ":" + std::to_string(site.line);
}

}  // namespace girih::inline v0::emulator
