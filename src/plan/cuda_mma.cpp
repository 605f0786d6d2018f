#include "plan/cuda_mma.hpp"

#include <algorithm>
#include <cmath>

namespace girih::inline v0 {
namespace {

using cuda::Major;

constexpr std::int64_t kPiece = 16;       // bytes of a copy
constexpr double kLargeTile = 0.63;       // of the unit's rate
constexpr double kSmallTile = 0.48;       // shared memory bounds it
constexpr double kGatherCycles = 1.2;     // an element
constexpr double kEpilogueCycles = 0.75;  // an element of C
constexpr double kTileCycles = 1500;      // the first stages, and from one tile to the next
constexpr double kMemoryShare = 0.85;     // of the nominal bandwidth
constexpr double kSecondsPerLaunch = 3e-6;

/// Of the rate that a row states, which is that of 8.0. Half of it on the smaller chips of the same
/// generations; on 9.0 mma.sync reaches five eighths of wgmma's.
double rate_of(int compute_capability) noexcept {
  switch (compute_capability) {
    case 80:
    case 100:
    case 103:
      return 1;
    case 90:
      return 1.25;
    default:
      return 0.5;
  }
}

CudaMmaOperand operand(const MatrixLayout& x, std::int64_t extent, std::int64_t k,
                       std::int64_t extent_stride, std::int64_t k_stride,
                       std::int64_t batch) noexcept {
  if (x.dtype == DType::F8E4M3 || x.dtype == DType::F8E5M2) return {};
  const std::int64_t bytes = bit_width(x.dtype) / 8;
  const auto is_even = [&](std::int64_t count, std::int64_t stride) {
    return count <= 1 || stride * bytes % kPiece == 0;
  };
  if (x.alignment < kPiece || !is_even(batch, x.batch_stride)) return {};
  if ((k <= 1 || k_stride == 1) && is_even(extent, extent_stride)) return {Major::K, true};
  if (bytes == 2 && (extent <= 1 || extent_stride == 1) && is_even(k, k_stride)) {
    return {Major::MN, true};
  }
  return {};
}

}  // namespace

CudaMmaOperand cuda_mma_a(const GemmProblem& problem) noexcept {
  const MatrixLayout& a = problem.a;
  return operand(a, problem.m, problem.k, a.row_stride, a.column_stride, problem.batch);
}

CudaMmaOperand cuda_mma_b(const GemmProblem& problem) noexcept {
  const MatrixLayout& b = problem.b;
  return operand(b, problem.n, problem.k, b.column_stride, b.row_stride, problem.batch);
}

GemmSelection cuda_mma_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                 const DeviceInfo& device) noexcept {
  GemmSelection choice;
  choice.kernel = &kernel;
  if (problem.is_empty()) return choice;
  const auto extent = static_cast<double>(kernel.tile_m);
  const auto depth = static_cast<double>(problem.skips_product() ? 0 : problem.k);
  const auto tiles = [&](std::int64_t length) {
    return std::ceil(static_cast<double>(length) / extent);
  };
  const double units = tiles(problem.m) * tiles(problem.n) * static_cast<double>(problem.batch);
  const double rate = kernel.flops_per_cycle * rate_of(device.compute_capability) *
                      (kernel.tile_m > 64 ? kLargeTile : kSmallTile);
  const double gathered =
      extent * (!cuda_mma_a(problem).copied + !cuda_mma_b(problem).copied) * kGatherCycles;
  const double cycles = depth * (2 * extent * extent / rate + gathered) +
                        extent * extent * kEpilogueCycles + kTileCycles;
  const double turns = std::ceil(units / std::max(1, device.multiprocessors));
  choice.predicted_seconds =
      std::max(turns * cycles / (device.clock_ghz * 1e9),
               problem.bytes() / (device.memory_gb_per_s * 1e9 * kMemoryShare)) +
      kSecondsPerLaunch;
  return choice;
}

}  // namespace girih::inline v0
