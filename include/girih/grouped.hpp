#pragma once

#include <optional>

#include <girih/export.hpp>
#include <girih/gemm.hpp>

namespace girih::inline v0 {

/// Products of one shape in all but one extent, which each group has its own part of: the rows of
/// A and C (mixture-of-experts layers), or the depth K (their weights' gradients). `offsets` says
/// which: group g has rows offsets[g] <= r < offsets[g + 1].
///
///   rows grouped:   C[r, :] = epilogue(alpha * sa sb * A[r, :] . B[g])
///   depth grouped:  C[g]    = epilogue(alpha * sa sb * A[:, rows of g] . B[rows of g, :])
///
/// Shapes say which of the two it is:
///   rows grouped:   A [rows, K],  B [groups, K, N],  C [rows, N]
///   depth grouped:  A [M, rows],  B [rows, N],       C [groups, M, N]
/// with 2N columns of B instead of N under a gate. The rest is as of `GemmDesc` and of one group:
/// bias [N], residual of C's shape, a_scale [rows] or [M] `PerRow`, b_scale [N] `PerColumn`, scales
/// [1] `PerTensor`. A bias and scales may have a leading extent of `groups` and then differ from
/// group to group, save for the rows' own factors: bias [groups, N], b_scale [groups, N], [groups].
/// Layouts are read off the strides; one B for all groups is `b.repeated(groups)`.
///
/// Offsets: i32 [groups + 1], in device memory, read each time the call runs, so that they may
/// change between replays of a graph. offsets[0] >= 0, no offset is below the one before it, and
/// the last is at most `rows`. Groups may be empty, of any length, and need no padding. Rows of no
/// group are neither read nor written. An empty group writes nothing where rows are grouped, and
/// the epilogue of a zero sum where the depth is.
/// Offsets that break this: nothing is written, and GroupedOffsets is returned by the call or its
/// replay on a backend that runs calls at once (cpu; the rest of that replay does not run), by the
/// next wait on one that queues them. It is the caller's mistake and does not poison the runtime.
///
/// Types, scalars and epilogue: those of `GemmDesc`; an i8 product grouped along the depth is
/// refused over 131071 rows in all. groups = 0, or no column or row of C, is a no-op that reads no
/// offset.
///
/// Bits: those of `gemm` of each group alone on cpu. With `RowInvariant` those of a row of C depend
/// on nothing but its operands, on any backend: not on which other rows and groups there are.
///
/// Errors: those of `GemmDesc`, GroupedOffsets.
struct GroupedGemmDesc {
  Operand a;
  Operand b;
  Output c;
  Operand offsets;
  ScalarArg<float> alpha = 1.0F;
  ScalarArg<float> beta = 0.0F;
  std::optional<Scale> a_scale{};
  std::optional<Scale> b_scale{};
  Epilogue epilogue{};
  Precision precision = Precision::Exact;
  Path path = Path::Auto;
  /// Empty: the runtime's.
  std::optional<Reproducibility> reproducibility{};
  /// As of `GemmDesc`.
  std::optional<Tensor> workspace{};
};

GIRIH_API Status grouped_gemm(Runtime& runtime, const GroupedGemmDesc& desc) noexcept;
/// What `grouped_gemm` would run, predicted for groups of equal lengths. Encodes nothing.
GIRIH_API Result<Plan> plan(Runtime& runtime, const GroupedGemmDesc& desc) noexcept;

}  // namespace girih::inline v0
