#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>

#include <girih/plan.hpp>

#include "plan/candidates.hpp"

namespace girih::inline v0 {

std::string_view name(Traversal traversal) noexcept {
  switch (traversal) {
    case Traversal::RowMajor:
      return "row_major";
    case Traversal::ColumnMajor:
      return "column_major";
  }
  return "unknown_traversal";
}

std::string Plan::to_string() const {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "kernel: {}\nbackend: {}\ndevice: {}\n", kernel, name(backend), device);
  fmt::format_to(out, "tile: {}\n", fmt::join(tile, " x "));
  if (block[0] > 0) fmt::format_to(out, "block: {}\n", fmt::join(block, " x "));
  if (split_k > 1) fmt::format_to(out, "split_k: {}\n", split_k);
  fmt::format_to(out, "traversal: {}\nthreads: {}\nworkspace: {} bytes\n", name(traversal), threads,
                 workspace_bytes);
  fmt::format_to(out, "flops: {:.6g}\nbytes: {:.6g}\npredicted: {}\nreduction: {}\n", flops, bytes,
                 describe_seconds(predicted_seconds), reduction);
  for (const std::string& note : notes) fmt::format_to(out, "note: {}\n", note);
  for (const Rejected& row : rejected) {
    fmt::format_to(out, "rejected: {}: {}\n", row.kernel, row.reason);
  }
  return text;
}

}  // namespace girih::inline v0
