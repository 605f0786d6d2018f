#include "plan/cuda_skinny.hpp"

#include <algorithm>

#include "core/checked.hpp"

namespace girih::inline v0 {
namespace {

using cuda::SkinnyForm;

constexpr std::int64_t kMostUnits = std::int64_t{1} << 31;
// Measured on an H200: a block a multiprocessor reads fastest, as long as there are as many; of
// more columns blocks of four slices do. 16 rows of f32 take two, because multiply-adds hold them
// up. Clusters pay where half of the multiprocessors, or a quarter along the columns, would have
// nothing to read.
constexpr std::int64_t kBlocks = 1, kBlocksOfF32 = 2;  // a multiprocessor
constexpr std::int64_t kLeastDepth = 2;                // units of K in a slice of a block,
constexpr std::int64_t kClusterDepth = 4;              // and of a cluster
constexpr int kMostBlocks = 4;                         // of a cluster
constexpr int kInvariantSlices = 4;
constexpr double kLaunch = 2.6e-6;  // seconds, the first bytes and the exchange of sums included
constexpr double kClusterSums = 1.2e-6;
constexpr double kRowSums = 1e-11;  // an element of C
// Of the nominal bandwidth.
constexpr double kShareAlongK = 0.84, kShareAlongColumns = 0.9, kShareOfBytesAlongColumns = 0.75;
constexpr double kShareOf16RowsOfF32 = 0.83;  // of that, for multiply-adds
constexpr double kGatheredShare = 0.15;

/// An operand as a skinny kernel sees it.
struct Side {
  std::int64_t extent = 0;  ///< rows of X, columns of W
  std::int64_t stride = 0, k_stride = 0, batch_stride = 0;
  std::int64_t alignment = 0;
};

Side side_of(const MatrixLayout& x, std::int64_t extent, std::int64_t stride, std::int64_t k_stride,
             std::int64_t batch) noexcept {
  return {extent, stride, k_stride, batch > 1 ? x.batch_stride : 0, x.alignment};
}

/// Rows `ld` apart of 16-byte pieces.
bool has_pieces(const Side& x, std::int64_t ld, int bytes) noexcept {
  const auto is_whole = [bytes](std::int64_t elements) { return elements * bytes % 16 == 0; };
  return x.alignment >= 16 && is_whole(ld) && is_whole(x.batch_stride);
}

SkinnyForm form_of(const Side& x, const Side& w, std::int64_t k, int bytes) noexcept {
  const int piece = cuda::skinny_piece(bytes);
  const bool reads_x =
      x.k_stride == 1 && k % piece == 0 && has_pieces(x, x.extent > 1 ? x.stride : 0, bytes);
  if (!reads_x) return SkinnyForm::Gathered;
  if (w.k_stride == 1 && w.extent >= cuda::skinny_columns(bytes, SkinnyForm::AlongK) &&
      has_pieces(w, w.stride, bytes)) {
    return SkinnyForm::AlongK;
  }
  const bool is_whole = w.stride == 1 && w.extent % piece == 0;
  return is_whole && has_pieces(w, w.k_stride, bytes) ? SkinnyForm::AlongColumns
                                                      : SkinnyForm::Gathered;
}

/// Slices and groups of a block, and blocks of a cluster.
void set_slices(const GemmProblem& problem, std::int64_t columns, int multiprocessors,
                bool has_clusters, CudaSkinnyLaunch& launch) noexcept {
  const int width = cuda::skinny_columns(launch.bytes, launch.form);
  const std::int64_t depth = ceil_div(problem.k, std::int64_t{cuda::skinny_unit(launch.bytes)});
  const std::int64_t units = ceil_div(columns, std::int64_t{width}) * launch.chunks * problem.batch;
  const bool is_held_up = launch.bytes == 4 && launch.rows > 8;
  const std::int64_t room =
      (is_held_up ? kBlocksOfF32 : kBlocks) * cuda::kSkinnyWarps * multiprocessors;
  const bool halves = launch.form != SkinnyForm::AlongColumns && !is_held_up;
  const std::int64_t cluster_room = halves ? room / 2 : room;
  const auto fits = [&](std::int64_t slices, std::int64_t least_depth, std::int64_t warps) {
    return slices * least_depth <= depth && units * slices <= warps;
  };
  if (problem.reproducibility == Reproducibility::RowInvariant) {
    launch.slices = kInvariantSlices;
  } else if (units > room) {
    while (launch.slices < cuda::kSkinnyWarps && 2 * launch.slices * kLeastDepth <= depth) {
      launch.slices *= 2;
    }
  } else {
    while (launch.slices < cuda::kSkinnyWarps && fits(2 * launch.slices, kLeastDepth, room)) {
      launch.slices *= 2;
    }
    while (has_clusters && launch.slices == cuda::kSkinnyWarps && launch.cluster < kMostBlocks &&
           fits(2 * launch.slices * launch.cluster, kClusterDepth, cluster_room)) {
      launch.cluster *= 2;
    }
  }
  launch.groups = cuda::kSkinnyWarps / launch.slices;
  launch.tiles = ceil_div(columns, std::int64_t{width} * launch.groups);
}

double bandwidth_share(const CudaSkinnyLaunch& launch) noexcept {
  if (launch.form == SkinnyForm::Gathered) return kGatheredShare;
  const double share = launch.form == SkinnyForm::AlongK ? kShareAlongK
                       : launch.bytes == 1               ? kShareOfBytesAlongColumns
                                                         : kShareAlongColumns;
  return launch.bytes == 4 && launch.rows > 8 ? share * kShareOf16RowsOfF32 : share;
}

}  // namespace

CudaSkinnyLaunch cuda_skinny_launch(const GemmProblem& problem, int multiprocessors,
                                    bool has_clusters) noexcept {
  CudaSkinnyLaunch launch;
  launch.swapped = problem.n < problem.m;
  launch.bytes = bit_width(problem.a.dtype) / 8;
  const Side a =
      side_of(problem.a, problem.m, problem.a.row_stride, problem.a.column_stride, problem.batch);
  const Side b =
      side_of(problem.b, problem.n, problem.b.column_stride, problem.b.row_stride, problem.batch);
  const Side &x = launch.swapped ? b : a, &w = launch.swapped ? a : b;
  launch.form = form_of(x, w, problem.k, launch.bytes);
  launch.rows = cuda::skinny_rows(launch.bytes, launch.form, x.extent);
  launch.chunks = ceil_div(x.extent, std::int64_t{launch.rows});
  set_slices(problem, w.extent, multiprocessors, has_clusters, launch);
  return launch;
}

GemmSelection cuda_skinny_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                    const SelectionContext& context) noexcept {
  const DeviceInfo& device = *context.device;
  GemmSelection choice;
  const bool is_forced = context.forced_kernel == kernel.name;
  const bool is_skinny = std::min(problem.m, problem.n) <= kernel.tile_m;
  const bool is_bound = problem.reproducibility == Reproducibility::RowInvariant &&
                        kernel.reduction != Reduction::ExactI32;
  if (!is_forced && (!is_skinny || is_bound)) return choice;
  if (problem.is_empty()) {
    choice.kernel = &kernel;
    return choice;
  }
  const CudaSkinnyLaunch launch =
      cuda_skinny_launch(problem, device.multiprocessors, device.features.has(Feature::Sm90a));
  const auto tiles = checked_mul(launch.tiles, launch.chunks);
  const auto units = tiles ? checked_mul(*tiles, problem.batch) : std::nullopt;
  if (!units || *units * launch.cluster >= kMostUnits || problem.k >= kMostUnits) return choice;
  // On an H200 wgmma rows take 30.5 and 32.4 us for 16 rows and weights of 4096 x 14336 and 14336 x
  // 4096 along K, these 31.2 and 33.7.
  const bool has_faster = launch.bytes == 2 && launch.rows > 8 &&
                          launch.form != SkinnyForm::AlongColumns &&
                          device.features.has(Feature::Sm90a);
  if (!is_forced && has_faster) return choice;
  choice.kernel = &kernel;
  choice.swaps_sides = launch.swapped;
  choice.split_k = launch.slices * launch.cluster;
  choice.split_kind = choice.split_k > 1 ? SplitKind::Cluster : SplitKind::None;
  const double elements = static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                          static_cast<double>(problem.batch);
  const double bytes = problem.bytes() * static_cast<double>(launch.chunks);
  choice.predicted_seconds = kLaunch + (launch.cluster > 1 ? kClusterSums : 0) +
                             elements * kRowSums +
                             bytes / (device.memory_gb_per_s * 1e9 * bandwidth_share(launch));
  return choice;
}

}  // namespace girih::inline v0
