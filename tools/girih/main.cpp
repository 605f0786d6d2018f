#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <girih/version.hpp>

#include "girih/commands.hpp"

namespace girih::cli {
namespace {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Invalid:
      return kInvalid;
    case ErrorKind::Unsupported:
      return kUnsupported;
    case ErrorKind::Unavailable:
      return kUnavailable;
    case ErrorKind::Failed:
      break;
  }
  return kFailed;
}

/// One line, whatever the message holds: it may quote the command line.
int complain(std::string_view message, int code) {
  std::string line{message};
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  std::fprintf(stderr, "girih: %s\n", line.c_str());
  return code;
}

/// Of a command that does not exist the parser says only that one is required.
std::string describe(const CLI::App& app, const CLI::ParseError& parse) {
  const std::vector<std::string> extras = app.remaining(true);
  if (!app.get_subcommands().empty() || extras.empty()) return parse.what();
  return "unknown command '" + extras.front() + "'; see girih --help";
}

int run(int argc, const char* const* argv) {
  CLI::App app{"Matrix multiplication on files, and what girih knows of this machine."};
  app.name("girih");
  app.set_version_flag("--version", std::string{version()});
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 2 usage, 3 invalid input, 4 unsupported, 5 unavailable, 6 failed or\n"
      "verification failed. Each command has --help with examples, and --json.\n\n"
      "Example:\n"
      "  girih gemm --a x.npy --b w.safetensors:dense.weight --trans-b --out y.npy --verify");
  Action action;
  add_probe(app, action);
  add_kernels(app, action);
  add_plan(app, action);
  add_gemm(app, action);
  add_bench(app, action);
  add_verify(app, action);
  add_replay_line(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parse) {
    if (parse.get_exit_code() == 0) return app.exit(parse, std::cout, std::cerr);
    return complain(describe(app, parse), kUsage);
  }
  const Result<int> code = action();
  if (!code) {
    std::fflush(stdout);
    return complain(code.error().message.empty() ? meaning(code.error().code)
                                                 : std::string_view{code.error().message},
                    exit_code(code.error().kind()));
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return complain("standard output cannot be written", kFailed);
  }
  return *code;
}

}  // namespace
}  // namespace girih::cli

int main(int argc, char** argv) {
  // A write beyond the file size limit is then an error like any other, and cleaned up after.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return girih::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    return girih::cli::complain("not enough memory", girih::cli::kUnavailable);
  } catch (const std::exception& failure) {
    return girih::cli::complain(failure.what(), girih::cli::kFailed);
  }
}
