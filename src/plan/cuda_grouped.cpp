#include "plan/cuda_grouped.hpp"

#include <algorithm>
#include <limits>

#include "core/checked.hpp"
#include "plan/cuda_gemm_layout.hpp"

namespace girih::inline v0 {
namespace {

using cuda::TileConfig;
using cuda::TileForm;

// Of an H200, as fitted for single products in cuda_gemm_cost.cpp.
constexpr double kGigahertz = 1.75;
constexpr double kSeconds = 1 / (kGigahertz * 1e9);  // of a cycle
constexpr double kFlopsPerCycle = 4096;              // of a multiprocessor's matrix unit
constexpr double kIngress = 84;                      // bytes a cycle into one shared memory
constexpr double kL2 = 61;             // bytes a cycle and multiprocessor, a multicast counted once
constexpr double kStoreCycles = 0.05;  // an element of C, 16-bit and 32-bit alike
constexpr double kUnitCycles = 1200;   // from one unit to the next
constexpr double kMemoryShare = 0.88;  // of the nominal bandwidth
constexpr double kLaunches = 5e-6;     // the table, then the product
constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max() - 1024;

/// Rows of C that a group's tiles are laid over, if every group has as many.
std::int64_t rows_of_group(const GroupedGemmProblem& problem) noexcept {
  if (problem.extent == GroupedExtent::Depth) return problem.product.m;
  return ceil_div(problem.rows(), std::max<std::int64_t>(problem.groups(), 1));
}
std::int64_t depth_of_group(const GroupedGemmProblem& problem) noexcept {
  if (problem.extent == GroupedExtent::Rows) return problem.product.k;
  return ceil_div(problem.rows(), std::max<std::int64_t>(problem.groups(), 1));
}

/// Units of rows in all, at most; nothing if they cannot be counted in 32 bits with every column
/// tile.
std::int64_t most_units(const GroupedGemmProblem& problem, std::int64_t unit_rows) noexcept {
  const std::int64_t groups = problem.groups();
  // A group may begin at the copy's row before its own: it then ends as much further from the end
  // of its last unit, whose rows are whole copies, so that the sum has room for it.
  const auto units = problem.extent == GroupedExtent::Rows
                         ? checked_add(groups, problem.rows() / unit_rows)
                         : checked_mul(groups, ceil_div(problem.product.m, unit_rows));
  return units.value_or(std::numeric_limits<std::int64_t>::max());
}
bool counts(const GroupedGemmProblem& problem, std::int64_t unit_rows,
            std::int64_t column_tiles) noexcept {
  const auto units = checked_mul(most_units(problem, unit_rows), column_tiles);
  return units && *units < kMaxCount && problem.groups() < kMaxCount;
}

bool has_contiguous_columns(const GemmProblem& product) noexcept {
  return product.c.column_stride == 1 &&
         (!product.residual || product.residual->column_stride == 1) &&
         (!product.bias || product.bias->stride == 1);
}

bool takes(const GroupedGemmProblem& problem, TileConfig tile) noexcept {
  const GemmProblem& product = problem.product;
  if (product.is_empty() || product.skips_product()) return false;
  const bool by_depth = problem.extent == GroupedExtent::Depth;
  if (by_depth && !cuda::serves_depth(tile)) return false;
  if (std::max({product.m, product.n, product.k}) >= kMaxCount) return false;
  const CudaOperand a = cuda_operand_a(product), b = cuda_operand_b(product);
  if (a.packed || b.packed || !has_contiguous_columns(product)) return false;
  // Where the depth is contiguous a sum begins up to seven zeros early: its bits depend on where.
  const bool shifts = a.major == cuda::Major::K || b.major == cuda::Major::K;
  if (by_depth && shifts && product.reproducibility == Reproducibility::RowInvariant) return false;
  // The second half of a gate must begin where a tensor copy can.
  const bool halves = product.gate && product.gate->order == GateOrder::Concatenated;
  return !halves || b.major == cuda::Major::K || product.c_columns() % cuda::kCopyRows == 0;
}

double matrix_seconds(const GroupedGemmProblem& problem, TileConfig tile,
                      const DeviceInfo& device) noexcept {
  const auto tiles =
      static_cast<double>(problem.groups() * ceil_div(rows_of_group(problem), tile.rows) *
                          ceil_div(problem.product.n, tile.cols));
  const double stage_bytes = 2.0 * tile.depth * (tile.rows + tile.cols);
  const double flops = 2.0 * tile.rows * tile.cols * tile.depth;
  const double stage =
      std::max({flops / kFlopsPerCycle, stage_bytes / kIngress, stage_bytes / kL2});
  const double cycles = stage * static_cast<double>(ceil_div(depth_of_group(problem), tile.depth)) +
                        kUnitCycles + kStoreCycles * tile.rows * tile.cols;
  return tiles * cycles * kSeconds / std::max(device.multiprocessors, 1);
}

double simt_seconds(const GroupedGemmProblem& problem, const KernelInfo& kernel,
                    const DeviceInfo& device) noexcept {
  const std::int64_t rows = round_up(rows_of_group(problem), kernel.tile_m);
  const double flops = 2.0 * static_cast<double>(problem.groups() * rows) *
                       static_cast<double>(problem.product.n) *
                       static_cast<double>(depth_of_group(problem));
  return flops /
         (0.4 * kernel.flops_per_cycle * std::max(device.multiprocessors, 1) * kGigahertz * 1e9);
}

double memory_seconds(const GroupedGemmProblem& problem, const DeviceInfo& device) noexcept {
  return problem.bytes() / (std::max(device.memory_gb_per_s, 1.0) * 1e9 * kMemoryShare);
}

}  // namespace

CudaGroupedTable cuda_grouped_table(const GroupedGemmProblem& problem,
                                    std::int64_t unit_rows) noexcept {
  CudaGroupedTable table;
  table.bytes = cuda::kGroupedHeaderBytes;
  if (problem.extent == GroupedExtent::Depth) return table;
  table.most_units = most_units(problem, unit_rows);
  table.units_at = table.bytes;
  table.firsts_at =
      table.units_at + table.most_units * static_cast<std::int64_t>(sizeof(cuda::GroupedUnit));
  table.bytes = round_up(table.firsts_at + 4 * (problem.groups() + 1), 256);
  return table;
}

GroupedGemmSelection cuda_grouped_candidate(const GroupedGemmProblem& problem,
                                            const KernelInfo& kernel,
                                            const SelectionContext& context) noexcept {
  const DeviceInfo& device = *context.device;
  const TileConfig tile = tile_of(kernel);
  GroupedGemmSelection choice;
  if (!counts(problem, tile.rows, ceil_div(problem.product.n, tile.cols / 2))) return choice;
  double seconds = 0;
  if (kernel.form == TileForm::None) {
    seconds = simt_seconds(problem, kernel, device);
  } else {
    if (!takes(problem, tile)) return choice;
    seconds = matrix_seconds(problem, tile, device);
  }
  choice.kernel = &kernel;
  choice.workspace_bytes = cuda_grouped_table(problem, tile.rows).bytes;
  // The lesser part is not all hidden under the larger.
  const double memory = memory_seconds(problem, device);
  choice.predicted_seconds =
      std::max(seconds, memory) + 0.1 * std::min(seconds, memory) + kLaunches;
  return choice;
}

bool is_better_on_cuda(const GroupedGemmSelection& a, const GroupedGemmSelection& b) noexcept {
  if (a.kernel->path != b.kernel->path) return a.kernel->path == Path::Matrix;
  return a.predicted_seconds < b.predicted_seconds;
}

}  // namespace girih::inline v0
