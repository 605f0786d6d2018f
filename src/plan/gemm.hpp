#pragma once

#include <span>
#include <string_view>

#include "ops/gemm.hpp"
#include "plan/kernel_info.hpp"

namespace girih::inline v0 {

/// What selection chooses from, and for.
struct SelectionContext {
  const DeviceInfo* device = nullptr;
  std::span<const KernelInfo> kernels;
  int threads = 1;
  std::string_view forced_kernel;  ///< "" or the only kernel that may be chosen
};

/// Extents of a part of a product.
struct Blocking {
  std::int64_t m = 0, n = 0, k = 0;
};

/// Who adds up the slices of a split K.
enum class SplitKind : std::uint8_t {
  None,
  Workspace,  ///< cuda: a second kernel, from f32 partials in the workspace
  Cluster,    ///< cuda: the blocks of a cluster, through shared memory
};

/// The choice for one product: a small value, made without allocating.
struct GemmSelection {
  const KernelInfo* kernel = nullptr;
  /// CPU: C is computed in blocks of m x n. Each sweeps K in steps of k: all threads pack the m x k
  /// part of A and the k x n part of B into the workspace, then multiply.
  Blocking block;
  /// CPU: the m x n part of a block that one thread computes at a time, in steps of k along the
  /// block's depth: m x k of A and the m x n sums stay in the second-level cache, k x tile_n of B
  /// in the first.
  Blocking chunk;
  /// CPU: sums of unfinished chunks lie in one buffer a thread; false: in one as large as a block,
  /// because they must outlive a step along K, or as it is smaller.
  bool sums_per_thread = false;
  int threads = 1;
  /// Products of a batch under way at once, each on one thread with a workspace of its own; 1: one
  /// after the other, each on all threads.
  int concurrent_products = 1;
  int split_k = 1;
  SplitKind split_kind = SplitKind::None;
  Traversal traversal = Traversal::RowMajor;
  /// cuda: neighbouring tiles that a cluster of blocks works on, at most two in all.
  int cluster_rows = 1, cluster_columns = 1;
  /// cuda: tiles in a band; bands of rows for RowMajor, of columns for ColumnMajor.
  int band = 8;
  bool swaps_sides = false;          ///< cuda: the tile's rows lie along N
  bool joins_halves = false;         ///< cuda: the kernel's epilogue has the gate
  bool is_tuned = false;             ///< taken from a table of measured choices
  std::int64_t workspace_bytes = 0;  ///< `concurrent_products` equal parts
  double predicted_seconds = 0;
};

/// The best kernel for the product: pure and deterministic. Fails with GemmNoKernel if none fits,
/// saying why the nearest ones do not, and with GemmUnknownKernel for a forced name that is no row.
Result<GemmSelection> select(const GemmProblem& problem, const SelectionContext& context) noexcept;
/// The same choice with its reasons, for people.
Result<Plan> explain(const GemmProblem& problem, const SelectionContext& context) noexcept;

}  // namespace girih::inline v0
