#include <girih/plan.hpp>

#include "core/format.hpp"
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
  text += formatted("kernel: {}\nbackend: {}\ndevice: {}\n", kernel, name(backend), device);
  text += formatted("tile: {}\n", joined(tile, " x "));
  if (block[0] > 0) text += formatted("block: {}\n", joined(block, " x "));
  if (split_k > 1) text += formatted("split_k: {}\n", split_k);
  text += formatted("traversal: {}\nthreads: {}\nworkspace: {} bytes\n", name(traversal), threads,
                    workspace_bytes);
  text += formatted("flops: {:.6g}\nbytes: {:.6g}\npredicted: {}\nreduction: {}\n", flops, bytes,
                    describe_seconds(predicted_seconds), reduction);
  for (const std::string& note : notes) text += formatted("note: {}\n", note);
  for (const Rejected& row : rejected) {
    text += formatted("rejected: {}: {}\n", row.kernel, row.reason);
  }
  return text;
}

}  // namespace girih::inline v0
