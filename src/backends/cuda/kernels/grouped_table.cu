// Checks the offsets of a grouped product and lays out its units of work: one block, because the
// offsets are few and all of them come before any unit.

#include "backends/cuda/kernels/finding.cuh"
#include "backends/cuda/kernels/grouped_kernels.hpp"
#include "backends/cuda/kernels/ptx.cuh"

namespace girih::inline v0::cuda {
namespace {

constexpr std::uint32_t kAll = 0xFFFFFFFF;
constexpr int kWarps = kGroupedTableThreads / 32;

/// Sum of x over the threads before this one, and over all of them. Every thread calls it.
__device__ __forceinline__ int scan(int x, int (&sums)[kWarps], int& total) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  int inclusive = x;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(kAll, inclusive, step);
    if (lane >= step) inclusive += other;
  }
  __syncthreads();  // the sums of the last call have been read
  if (lane == 31) sums[warp] = inclusive;
  __syncthreads();
  const int of_warp = sums[lane];
  int before = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) before += i < warp ? __shfl_sync(kAll, of_warp, i) : 0;
  total = static_cast<int>(__reduce_add_sync(kAll, of_warp));
  return before + inclusive - x;
}

/// The group whose units the i-th is one of: the last that begins at or before it. Groups without
/// units begin where the next one does.
__device__ __forceinline__ std::int64_t group_of(const GroupedTableParams& p, int unit) {
  std::int64_t low = 0, high = p.groups;  // firsts[low] <= unit < firsts[high]
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (p.firsts[middle] <= unit ? low : high) = middle;
  }
  return low;
}

__global__ void __launch_bounds__(kGroupedTableThreads)
    grouped_table(const __grid_constant__ GroupedTableParams p) {
  __shared__ int sums[kWarps];
  __shared__ int first_bad;
  const auto thread = static_cast<std::int64_t>(threadIdx.x);
  if (thread == 0) first_bad = 0x7FFFFFFF;
  ptx::wait_for_dependencies();
  ptx::launch_dependents();
  __syncthreads();
  const auto offset = [&](std::int64_t i) -> std::int64_t {
    return p.offsets[i * p.offset_stride];
  };
  int units = 0;
  for (std::int64_t base = 0; base < p.groups; base += kGroupedTableThreads) {
    const std::int64_t g = base + thread;
    int count = 0;
    if (g < p.groups) {
      const std::int64_t begin = offset(g), end = offset(g + 1);
      const auto bad = [&](std::int64_t value, std::int64_t least) {
        return value < least || value > p.rows;
      };
      if (g == 0 && bad(begin, 0)) atomicMin(&first_bad, 0);
      if (bad(end, begin > 0 ? begin : 0)) atomicMin(&first_bad, static_cast<int>(g) + 1);
      if (p.unit_rows > 0 && end > begin) {
        const std::int64_t first = begin - begin % p.row_align;
        count = static_cast<int>((end - first + p.unit_rows - 1) / p.unit_rows);
      }
    }
    int total = 0;
    const int before = scan(count, sums, total);
    if (p.unit_rows > 0 && g < p.groups) p.firsts[g] = units + before;
    units += total;
  }
  __syncthreads();
  const bool valid = first_bad == 0x7FFFFFFF;
  if (thread == 0) {
    if (p.unit_rows > 0) p.firsts[p.groups] = units;
    *p.header = {.units = valid ? units : 0, .is_valid = valid ? 1 : 0};
    if (!valid) {
      report(p.finding, {.kind = FindingKind::Offset,
                         .index = first_bad,
                         .value = offset(first_bad),
                         .before = first_bad > 0 ? offset(first_bad - 1) : 0,
                         .limit = p.rows});
    }
  }
  if (!valid || p.unit_rows == 0) return;
  __syncthreads();
  for (int unit = static_cast<int>(threadIdx.x); unit < units; unit += kGroupedTableThreads) {
    const std::int64_t g = group_of(p, unit);
    p.units[unit] = {.group = static_cast<std::int32_t>(g),
                     .first = p.firsts[g],
                     .begin = static_cast<std::int32_t>(offset(g)),
                     .end = static_cast<std::int32_t>(offset(g + 1))};
  }
}

}  // namespace

const void* grouped_table_kernel() {
  return reinterpret_cast<const void*>(&grouped_table);
}

}  // namespace girih::inline v0::cuda
