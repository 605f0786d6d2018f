#pragma once

#include <optional>
#include <string>

#include <girih/status.hpp>

namespace girih::inline v0 {

/// Every environment variable that girih reads; `docs/environment.md` is checked against it.
struct Environment {
  std::string force_kernel;       ///< GIRIH_FORCE_KERNEL: see `RuntimeOptions::force_kernel`
  std::optional<int> threads;     ///< GIRIH_THREADS: 1..1024, see `RuntimeOptions::threads`
  bool is_cuda_portable = false;  ///< GIRIH_CUDA=portable: nothing that only 9.0 has is used
  bool traces_lines = false;      ///< GIRIH_TRACE=line: each call writes a line
  std::string trace_file;  ///< GIRIH_TRACE_FILE: they are appended to it; "" is standard error
};

/// Reads and strictly parses them, anew at each call. InvalidOption names a variable with a value
/// that it cannot have.
Result<Environment> read_environment() noexcept;

}  // namespace girih::inline v0
