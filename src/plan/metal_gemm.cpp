#include "plan/metal_gemm.hpp"

#include <algorithm>

#include "core/checked.hpp"

namespace girih::inline v0 {
namespace {

/// Tiles count, and matmul2d indexes, in 32 bits; a tile's last row must still be in reach.
constexpr std::int64_t kMaxExtent = (std::int64_t{1} << 31) - 1024;
constexpr std::int64_t kMaxStride = std::int64_t{1} << 23;
constexpr std::int64_t kAlignment = 16;
constexpr std::int64_t kLine = 64;
/// Slices of K are worth a second kernel only if they are long, and their sums stay small.
constexpr std::int64_t kShortestSlice = 512;
constexpr std::int64_t kMostSlices = 16;
constexpr std::int64_t kPartialLimit = std::int64_t{32} << 20;

constexpr double kPeakShare = 0.8;
constexpr double kSecondsPerLaunch = 5e-6;

bool is_aligned(std::int64_t elements, DType dtype) noexcept {
  return elements * bit_width(dtype) / 8 % kAlignment == 0;
}

/// The part of `MetalColumns` that the caller's B decides.
MetalColumns columns_of(const GemmProblem& problem) noexcept {
  MetalColumns result{.count = problem.c_columns(), .layout = problem.b};
  if (!problem.gate) return result;
  const bool alternate = problem.gate->order == GateOrder::Interleaved;
  result.halves = 2;
  result.step = alternate ? 2 : 1;
  result.partner = alternate ? 1 : result.count;
  result.layout.column_stride *= result.step;
  // Both halves must begin where matmul2d can read.
  if (!is_aligned(result.partner * problem.b.column_stride, problem.b.dtype)) {
    result.layout.alignment = 1;
  }
  return result;
}

bool packs_b(const GemmProblem& problem, MetalParts parts) noexcept {
  return metal_operand(columns_of(problem).layout, parts).packed;
}

/// A packed operand has rows that matmul2d can step over, and a size that can be computed: views
/// that repeat elements may be larger than any memory.
bool can_pack(const GemmProblem& problem, const KernelInfo& kernel) noexcept {
  if (kernel.path != Path::Matrix || problem.skips_product()) return true;
  const MetalParts parts = metal_parts(problem, kernel);
  const std::int64_t depth = metal_depth(problem, kernel);
  const auto fits = [&](bool packed, std::int64_t rows, std::int64_t columns) {
    const double elements = static_cast<double>(rows) * static_cast<double>(columns) *
                            static_cast<double>(problem.batch);
    return !packed || (columns < kMaxStride - kLine && elements < 1e15);
  };
  return depth <= kMaxExtent && fits(metal_operand(problem.a, parts).packed, problem.m, depth) &&
         fits(packs_b(problem, parts), depth, problem.n);
}

double seconds_of(const GemmProblem& problem, const KernelInfo& kernel, const DeviceInfo& device,
                  int split_k, const MetalWorkspace& workspace) noexcept {
  const auto count = [](std::int64_t extent, std::int64_t tile) {
    return static_cast<double>(ceil_div(extent, tile));
  };
  const double tiles = count(problem.m, kernel.tile_m) * count(problem.n, kernel.tile_n) *
                       static_cast<double>(problem.batch) * split_k;
  const double cores = std::max(device.multiprocessors, 1);
  const double rounds = std::max(1.0, tiles / cores);
  const double depth =
      problem.skips_product() ? 0 : static_cast<double>(metal_depth(problem, kernel)) / split_k;
  const double flops = 2.0 * static_cast<double>(kernel.tile_m * kernel.tile_n) * depth;
  const double rate = kernel.flops_per_cycle * device.clock_ghz * 1e9 * kPeakShare;
  const double moved = problem.bytes() + 2.0 * static_cast<double>(workspace.bytes());
  const int launches =
      1 + (workspace.a_bytes > 0 ? 1 : 0) + (workspace.b_bytes > 0 ? 1 : 0) + (split_k > 1 ? 1 : 0);
  return std::max(rounds * flops / rate, moved / (device.memory_gb_per_s * 1e9)) +
         launches * kSecondsPerLaunch;
}

}  // namespace

MetalParts metal_parts(const GemmProblem& problem, const KernelInfo& kernel) noexcept {
  if (!kernel.multiplies_tf32) return MetalParts::None;
  return problem.precision == Precision::Tf32 ? MetalParts::Rounded : MetalParts::Split;
}

std::int64_t metal_depth(const GemmProblem& problem, const KernelInfo& kernel) noexcept {
  // K beyond what any row counts to is refused for itself.
  const bool splits = metal_parts(problem, kernel) == MetalParts::Split && problem.k <= kMaxExtent;
  return splits ? 3 * problem.k : problem.k;
}

MetalOperand metal_operand(const MatrixLayout& x, MetalParts parts) noexcept {
  const auto fits = [&](std::int64_t fast, std::int64_t slow) {
    return fast == 1 && slow > 0 && slow < kMaxStride && is_aligned(slow, x.dtype);
  };
  const bool rows = fits(x.column_stride, x.row_stride);
  const bool columns = fits(x.row_stride, x.column_stride);
  MetalOperand result{.column_major = !rows && columns,
                      .row_stride = x.row_stride,
                      .column_stride = x.column_stride,
                      .batch_stride = x.batch_stride};
  result.packed = parts != MetalParts::None || (!rows && !columns) || x.alignment < kAlignment ||
                  !is_aligned(x.batch_stride, x.dtype);
  if (result.packed) result.column_major = false;
  return result;
}

MetalOperand metal_operand(const MatrixLayout& x, MetalParts parts, std::int64_t rows,
                           std::int64_t columns) noexcept {
  MetalOperand result = metal_operand(x, parts);
  if (!result.packed) return result;
  result.row_stride = round_up(columns, kLine);
  result.column_stride = 1;
  result.batch_stride = x.batch_stride == 0 ? 0 : rows * result.row_stride;
  return result;
}

MetalColumns metal_columns(const GemmProblem& problem, const KernelInfo& kernel) noexcept {
  MetalColumns result = columns_of(problem);
  const std::int64_t depth = metal_depth(problem, kernel);
  MetalOperand& operand = result.operand;
  operand = metal_operand(result.layout, metal_parts(problem, kernel), depth, result.count);
  result.operand_up = result.partner * problem.b.column_stride;
  if (!operand.packed || result.halves == 1) return result;
  result.operand_up = depth * operand.row_stride;
  operand.batch_stride *= result.halves;
  return result;
}

MetalWorkspace metal_workspace(const GemmProblem& problem, const KernelInfo& kernel,
                               int split_k) noexcept {
  MetalWorkspace result;
  if (kernel.path == Path::Matrix && !problem.skips_product()) {
    const MetalParts parts = metal_parts(problem, kernel);
    const std::int64_t depth = metal_depth(problem, kernel);
    const auto packed_bytes = [&](const MetalOperand& operand, std::int64_t rows) {
      if (!operand.packed) return std::int64_t{0};
      const std::int64_t products = operand.batch_stride == 0 ? 1 : problem.batch;
      const std::int64_t elements = products * rows * operand.row_stride;
      return round_up(elements * bit_width(problem.a.dtype) / 8, kLine);
    };
    const MetalColumns b = metal_columns(problem, kernel);
    result.a_bytes = packed_bytes(metal_operand(problem.a, parts, problem.m, depth), problem.m);
    result.b_bytes = packed_bytes(b.operand, b.halves * depth);
  }
  if (split_k > 1) {
    constexpr double kMost = 0x1p62;  // beyond any limit
    const double bytes = 4.0 * split_k * static_cast<double>(problem.batch) *
                         static_cast<double>(problem.m) * static_cast<double>(problem.n);
    result.partial_bytes =
        bytes < kMost ? round_up(4 * split_k * problem.batch * problem.m * problem.n, kLine)
                      : static_cast<std::int64_t>(kMost);
  }
  return result;
}

std::int64_t metal_run(std::int64_t a_stride, std::int64_t b_stride) noexcept {
  // The other dimension of a tile, at most 128 strides, takes as much again.
  constexpr std::int64_t kMostOffset = std::int64_t{1} << 30;
  static_assert(128 * kMaxStride <= kMostOffset && kMostOffset / kMaxStride >= kLine);
  const std::int64_t stride = std::max({a_stride, b_stride, std::int64_t{1}});
  return kMostOffset / stride / kLine * kLine;
}

std::int64_t metal_slice(std::int64_t k, int split_k) noexcept {
  return round_up(ceil_div(std::max<std::int64_t>(k, 1), split_k), kLine);
}

const char* metal_gemm_limits() noexcept {
  static_assert(kMaxExtent == (std::int64_t{1} << 31) - 1024 &&
                kMaxStride - kLine == (1 << 23) - 64);
  return "extents count to 2^31 - 1024, rows that matmul2d's operands are packed to, to 2^23 - 64";
}

GemmSelection metal_gemm_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                   const SelectionContext& context) noexcept {
  GemmSelection choice;
  const DeviceInfo& device = *context.device;
  if (!problem.is_empty() &&
      std::max({problem.m, problem.n, problem.k, problem.batch}) > kMaxExtent) {
    return choice;
  }
  if (!problem.is_empty() && !can_pack(problem, kernel)) return choice;
  choice.kernel = &kernel;
  if (problem.is_empty()) return choice;
  choice.traversal = problem.n > problem.m ? Traversal::ColumnMajor : Traversal::RowMajor;
  choice.predicted_seconds =
      seconds_of(problem, kernel, device, 1, metal_workspace(problem, kernel, 1));
  const bool may_split = problem.reproducibility == Reproducibility::PerShape &&
                         !problem.skips_product() && kernel.reduction != Reduction::SequentialF32;
  const std::int64_t depth = metal_depth(problem, kernel);
  for (std::int64_t slices = 2; may_split && slices <= kMostSlices; slices *= 2) {
    if (depth / slices < kShortestSlice) break;
    const int split = static_cast<int>(ceil_div(depth, metal_slice(depth, int(slices))));
    const MetalWorkspace workspace = metal_workspace(problem, kernel, split);
    if (workspace.partial_bytes > kPartialLimit) break;
    const double seconds = seconds_of(problem, kernel, device, split, workspace);
    if (seconds >= choice.predicted_seconds) continue;
    choice.predicted_seconds = seconds;
    choice.split_k = split;
  }
  choice.split_kind = choice.split_k > 1 ? SplitKind::Workspace : SplitKind::None;
  choice.workspace_bytes = metal_workspace(problem, kernel, choice.split_k).bytes();
  return choice;
}

}  // namespace girih::inline v0
