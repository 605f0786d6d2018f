#include "plan/cuda_f32_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.hpp"
#include "plan/cuda_gemm_layout.hpp"

namespace girih::inline v0 {
namespace {

using cuda::F32Tile;

constexpr double kLaunch = 3.0e-6;           // seconds, with the first loads and the last stores
constexpr double kReduce = 2.5e-6;           // the kernel that adds slices
constexpr double kMeeting = 2.2e-6;          // a cluster that adds slices
constexpr double kReduceBandwidth = 4.0e12;  // bytes a second: partials, written and read
constexpr double kMemoryShare = 0.85;        // of the nominal bandwidth
constexpr double kEpilogueDepth = 24;        // K that storing a tile takes as long as
constexpr int kSplits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

/// Multiply-adds a lane and cycle of each of kF32Tiles with many warps on a multiprocessor; fewer
/// leave 1.1 warps' worth idle. Measured on an H200.
constexpr double kEfficiency[cuda::kF32TileCount] = {0.85, 0.85, 0.745, 0.70};

double efficiency(const F32Tile& tile, double blocks) noexcept {
  const double warps = blocks * cuda::f32_threads(tile) / 32;
  return kEfficiency[&tile - cuda::kF32Tiles] * warps / (warps + 1.1);
}

/// Seconds of a launch.
double predict(const GemmProblem& problem, const F32Tile& tile, const DeviceInfo& device,
               double units, int splits) noexcept {
  const double sms = std::max(1, device.multiprocessors);
  const double depth =
      problem.skips_product() ? 0 : static_cast<double>(problem.k) / splits + kEpilogueDepth;
  // Multiprocessors take blocks until each has as many as fit; the last turn may be short.
  const double slots = sms * tile.blocks;
  const double full = std::floor(units / slots), rest = units - full * slots;
  const auto turn = [&](double blocks) {
    return blocks * tile.rows * tile.cols * depth / (128 * efficiency(tile, blocks));
  };
  const double cycles = full * turn(tile.blocks) + (rest > 0 ? turn(std::ceil(rest / sms)) : 0);
  const double moved = problem.bytes() / (device.memory_gb_per_s * 1e9 * kMemoryShare);
  return std::max(cycles / (device.clock_ghz * 1e9), moved) + kLaunch;
}

double partial_bytes(const GemmProblem& problem, int splits) noexcept {
  return 4.0 * splits * static_cast<double>(problem.batch) * static_cast<double>(problem.m) *
         static_cast<double>(cuda_f32_partial_ld(problem));
}

bool may_split(const GemmProblem& problem) noexcept {
  return problem.reproducibility == Reproducibility::PerShape && !problem.skips_product() &&
         cuda_f32_has_rows(problem);
}
/// Slices of eight stages at least, through the workspace.
bool may_split(const GemmProblem& problem, int splits, const F32Tile& tile) noexcept {
  if (splits == 1) return true;
  return may_split(problem) && problem.k >= std::int64_t{8} * tile.depth * splits &&
         partial_bytes(problem, splits) <= static_cast<double>(kCudaWorkspaceLimit);
}

/// Of four stages at least, in a cluster of 2, or of 4 where each block has a multiprocessor to
/// itself: more blocks in clusters of 4 share some and leave others idle (22 us instead of 13 at
/// 512 cubed).
bool may_meet(const GemmProblem& problem, int splits, const F32Tile& tile, double units,
              const DeviceInfo& device) noexcept {
  return tile.in_clusters && device.features.has(Feature::Sm90a) && may_split(problem) &&
         problem.k >= std::int64_t{4} * tile.depth * splits &&
         units <= device.multiprocessors * (splits > 2 ? 1.0 : tile.blocks);
}

}  // namespace

int cuda_f32_tile(const KernelInfo& kernel) noexcept {
  if (kernel.backend != Backend::Cuda || kernel.op != Op::Gemm ||
      kernel.form != cuda::TileForm::None || kernel.mma || !kernel.operands.has(DType::F32)) {
    return -1;
  }
  for (int i = 0; i < cuda::kF32TileCount; ++i) {
    if (cuda::kF32Tiles[i].rows == kernel.tile_m && cuda::kF32Tiles[i].cols == kernel.tile_n) {
      return i;
    }
  }
  return -1;
}

std::int64_t cuda_f32_partial_ld(const GemmProblem& problem) noexcept {
  return round_up(problem.n, 4);
}

bool cuda_f32_has_rows(const GemmProblem& problem) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 1024;
  const bool along_n =
      problem.n == 1 || (problem.c.column_stride == 1 &&
                         (!problem.residual || problem.residual->column_stride == 1) &&
                         (!problem.bias || problem.bias->stride == 1));
  return along_n && problem.m <= kMost && problem.n <= kMost && problem.batch <= kMost;
}

GemmSelection cuda_f32_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                 const DeviceInfo& device) noexcept {
  GemmSelection choice;
  choice.kernel = &kernel;
  const F32Tile& tile = cuda::kF32Tiles[cuda_f32_tile(kernel)];
  choice.band = cuda::kF32Band;
  choice.predicted_seconds = std::numeric_limits<double>::infinity();
  const double tiles = static_cast<double>(ceil_div(problem.m, tile.rows)) *
                       static_cast<double>(ceil_div(problem.n, tile.cols)) *
                       static_cast<double>(problem.batch);
  for (const int splits : kSplits) {
    // What has tiles enough for two turns does not gain.
    if (splits > 1 && tiles * splits > 2.0 * device.multiprocessors * tile.blocks) break;
    if (!may_split(problem, splits, tile)) break;
    double seconds = predict(problem, tile, device, tiles * splits, splits);
    if (splits > 1) seconds += kReduce + 2 * partial_bytes(problem, splits) / kReduceBandwidth;
    if (seconds >= choice.predicted_seconds) continue;
    choice.predicted_seconds = seconds;
    choice.split_k = splits;
  }
  if (choice.split_k > 1) choice.split_kind = SplitKind::Workspace;
  for (const int splits : {2, 4}) {
    if (!may_meet(problem, splits, tile, tiles * splits, device)) break;
    const double seconds = predict(problem, tile, device, tiles * splits, splits) + kMeeting;
    if (seconds >= choice.predicted_seconds) continue;
    choice.predicted_seconds = seconds;
    choice.split_k = splits;
    choice.split_kind = SplitKind::Cluster;
  }
  if (choice.split_kind != SplitKind::Workspace) return choice;
  choice.workspace_bytes =
      4 * choice.split_k * problem.batch * problem.m * cuda_f32_partial_ld(problem);
  return choice;
}

}  // namespace girih::inline v0
