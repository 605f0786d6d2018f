#include "core/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <girih/executor.hpp>

#include "core/error.hpp"

namespace girih::inline v0 {
namespace {

/// The variable's value; an unset one and an empty one are the same.
std::string_view value_of(const char* variable) noexcept {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

}  // namespace

Result<Environment> read_environment() noexcept try {
  Environment environment;
  environment.force_kernel = value_of("GIRIH_FORCE_KERNEL");
  if (const std::string_view text = value_of("GIRIH_THREADS"); !text.empty()) {
    int threads = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), threads);
    if (failure != std::errc{} || end != text.data() + text.size() || threads < 1 ||
        threads > kMaxThreads) {
      return error(Code::InvalidOption, "GIRIH_THREADS is '{}', must be 1..{}", text, kMaxThreads);
    }
    environment.threads = threads;
  }
  if (const std::string_view text = value_of("GIRIH_CUDA"); !text.empty()) {
    if (text != "portable")
      return error(Code::InvalidOption, "GIRIH_CUDA is '{}', must be portable", text);
    environment.is_cuda_portable = true;
  }
  if (const std::string_view text = value_of("GIRIH_TRACE"); !text.empty()) {
    if (text != "line")
      return error(Code::InvalidOption, "GIRIH_TRACE is '{}', must be line", text);
    environment.traces_lines = true;
  }
  environment.trace_file = value_of("GIRIH_TRACE_FILE");
  return environment;
} catch (...) {
  return error(Code::OutOfMemory, "no memory to read the environment");
}

}  // namespace girih::inline v0
