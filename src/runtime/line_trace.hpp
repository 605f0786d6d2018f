#pragma once

#include <memory>

#include "core/environment.hpp"
#include "ops/call_line.hpp"

namespace girih::inline v0 {

/// Where a runtime writes a line a call. Each line is one write to a file opened for appending, so
/// that those of several threads and processes stay whole.
class LineTrace {
 public:
  /// Null if the environment asks for no trace. InvalidOption if its file cannot be opened.
  static Result<std::unique_ptr<LineTrace>> open(const Environment& environment) noexcept;
  explicit LineTrace(int file) noexcept : file_(file) {}
  LineTrace(const LineTrace&) = delete;
  LineTrace& operator=(const LineTrace&) = delete;
  ~LineTrace();

  /// A line that cannot be written is lost: tracing fails no call.
  void write(const CallLine& line) noexcept;

 private:
  const int file_;
};

}  // namespace girih::inline v0
