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

/// CPU cache blocking: C is computed in blocks of m x n; each sweeps K in steps of k, with a packed
/// m x k part of A and k x n part of B, that all threads share. m, n and k are multiples of the
/// tile's. If K takes more than one step, the block's partial sums are kept in the workspace.
struct Blocking {
  std::int64_t m = 0, n = 0, k = 0;
};

/// The choice for one product: a small value, made without allocating.
struct GemmSelection {
  const KernelInfo* kernel = nullptr;
  Blocking block;
  int threads = 1;
  /// Products of a batch under way at once, each on one thread with a workspace of its own; 1: one
  /// after the other, each on all threads.
  int concurrent_products = 1;
  int split_k = 1;
  Traversal traversal = Traversal::RowMajor;
  std::int64_t workspace_bytes = 0;  ///< `concurrent_products` equal parts
  double predicted_seconds = 0;
};

/// The best kernel for the product: pure and deterministic. Fails with GemmNoKernel if none fits,
/// saying why the nearest ones do not, and with GemmUnknownKernel for a forced name that is no row.
Result<GemmSelection> select(const GemmProblem& problem, const SelectionContext& context) noexcept;
/// The same choice with its reasons, for people.
Result<Plan> explain(const GemmProblem& problem, const SelectionContext& context) noexcept;

}  // namespace girih::inline v0
