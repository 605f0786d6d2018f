#include "plan/cuda_fast_f32.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.hpp"
#include "plan/cuda_f32_cost.hpp"
#include "plan/cuda_gemm_layout.hpp"

namespace girih::inline v0 {
namespace {

constexpr std::int64_t kFlagBytes = 256;
constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max() - 1024;
constexpr std::int64_t kMost = std::int64_t{1} << 58;  // bytes that no workspace has

// Seconds, but for the cycles.
constexpr double kLaunches = 9e-6;           // of five kernels, with what each waits for
constexpr double kSplitBytes = 2.6e12;       // a second: 4 bytes read and 6 written an element
constexpr double kStageCycles = 150;         // a stage of one consumer: its sums are added in turn
constexpr double kTileCycles = 3000;         // filling the ring, and the epilogue
constexpr double kUnitRate = 2048;           // multiply-adds a cycle and multiprocessor
constexpr double kSustained = 850e12 / 132;  // flops a second and multiprocessor
constexpr double kGigahertz = 1.85;

std::int64_t product_of(std::initializer_list<std::int64_t> factors) noexcept {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    product = std::min(checked_mul(product, factor).value_or(kMost), kMost);
  }
  return product;
}

bool fits(const GemmProblem& problem) noexcept {
  return problem.m <= kMaxCount && problem.n <= kMaxCount && problem.k <= kMaxCount &&
         problem.batch <= kMaxCount / kFastParts;
}

double predict(const GemmProblem& problem, const KernelInfo& kernel,
               const DeviceInfo& device) noexcept {
  const double sms = std::max(1, device.multiprocessors);
  const double tiles = static_cast<double>(ceil_div(problem.m, kernel.tile_m)) *
                       static_cast<double>(ceil_div(problem.n, kernel.tile_n)) *
                       static_cast<double>(problem.batch);
  const double stages = static_cast<double>(ceil_div(problem.k, std::int64_t{kFastDepth}));
  const double stage = 6.0 * static_cast<double>(kernel.tile_m * kernel.tile_n) * kFastDepth;
  const double cycles =
      std::ceil(tiles / sms) *
      (stages * (stage / kUnitRate + (kernel.consumers == 1 ? kStageCycles : 0)) + kTileCycles);
  const double power = tiles * stages * 2 * stage / (kSustained * sms);
  const double elements = static_cast<double>(problem.m) * static_cast<double>(problem.k) *
                              static_cast<double>(problem.a.batch_stride != 0 ? problem.batch : 1) +
                          static_cast<double>(problem.n) * static_cast<double>(problem.k) *
                              static_cast<double>(problem.b.batch_stride != 0 ? problem.batch : 1);
  return std::max(cycles / (kGigahertz * 1e9), power) + elements * 10 / kSplitBytes + kLaunches;
}

/// The time of the fastest exact row.
double exact_seconds(const GemmProblem& problem, const SelectionContext& context) noexcept {
  double best = std::numeric_limits<double>::infinity();
  for (const KernelInfo& kernel : context.kernels) {
    if (cuda_f32_tile(kernel) < 0) continue;
    best = std::min(best, cuda_f32_candidate(problem, kernel, *context.device).predicted_seconds);
  }
  return best;
}

/// Half of an extent, in whole tiles.
std::int64_t half_of(std::int64_t extent) noexcept {
  return extent <= 128 ? extent : std::min(extent, round_up(ceil_div(extent, 2), 128));
}

}  // namespace

std::int64_t CudaFastParts::bytes() const noexcept {
  return product_of({2, kFastParts, matrices, extent, ld});
}

CudaFastLayout cuda_fast_layout(const GemmProblem& problem) noexcept {
  CudaFastLayout layout;
  layout.bytes = kFlagBytes;
  const auto place = [&](CudaFastParts& parts, const MatrixLayout& x, std::int64_t extent) {
    parts.extent = extent;
    parts.ld = round_up(problem.k, kFastDepth);
    parts.matrices = x.batch_stride != 0 ? problem.batch : 1;
    parts.at = layout.bytes;
    layout.bytes = std::min(layout.bytes + round_up(parts.bytes(), 256), kMost);
  };
  place(layout.a, problem.a, problem.m);
  place(layout.b, problem.b, problem.n);
  return layout;
}

CudaFastPieces cuda_fast_pieces(const GemmProblem& problem) noexcept {
  CudaFastPieces best{problem.batch, problem.m, problem.n, cuda_fast_layout(problem).bytes};
  while (best.bytes > kCudaWorkspaceLimit) {
    const CudaFastPieces before = best;
    for (CudaFastPieces cut :
         {CudaFastPieces{ceil_div(before.batch, std::int64_t{2}), before.m, before.n},
          {before.batch, half_of(before.m), before.n},
          {before.batch, before.m, half_of(before.n)}}) {
      cut.bytes = cuda_fast_layout(cuda_piece(problem, cut.batch, cut.m, cut.n)).bytes;
      if (cut.bytes < best.bytes) best = cut;
    }
    if (best.bytes == before.bytes) break;
  }
  return best;
}

const KernelInfo* cuda_fast_fallback(std::span<const KernelInfo> kernels) noexcept {
  for (const KernelInfo& kernel : kernels) {
    if (cuda_f32_tile(kernel) == 1) return &kernel;
  }
  return nullptr;
}

GemmSelection cuda_fast_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                  const SelectionContext& context) noexcept {
  GemmSelection choice;
  if (problem.reproducibility == Reproducibility::RowInvariant || !fits(problem) ||
      !cuda_f32_has_rows(problem)) {
    return choice;
  }
  choice.predicted_seconds = predict(problem, kernel, *context.device);
  const bool is_asked_for = problem.path == Path::Matrix || !context.forced_kernel.empty();
  const bool is_computed = !problem.is_empty() && !problem.skips_product();
  if (!is_asked_for && is_computed && exact_seconds(problem, context) <= choice.predicted_seconds) {
    return choice;
  }
  choice.kernel = &kernel;
  if (is_computed) choice.workspace_bytes = cuda_fast_pieces(problem).bytes;
  return choice;
}

}  // namespace girih::inline v0
