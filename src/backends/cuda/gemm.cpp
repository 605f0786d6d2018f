#include <algorithm>

#include "backends/cuda/gemm_f32.hpp"
#include "backends/cuda/gemm_fast_f32.hpp"
#include "backends/cuda/gemm_finish.hpp"
#include "backends/cuda/gemm_mma.hpp"
#include "backends/cuda/gemm_skinny.hpp"
#include "backends/cuda/gemm_wgmma.hpp"
#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "backends/cuda/launch.hpp"
#include "core/checked.hpp"
#include "plan/cuda_f32_cost.hpp"
#include "plan/cuda_gemm_finish.hpp"

namespace girih::inline v0::cuda {

namespace {

Status lower_simt(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  const SimtParams params = simt_params(call);
  const std::int64_t units =
      ceil_div(params.m, kSimtTile) * ceil_div(params.n, kSimtTile) * params.batch;
  const std::int64_t most = std::int64_t{8} * lowering.multiprocessors;
  return sink.add({.function = gemm_simt_kernel(call.problem.a.dtype == DType::I8),
                   .grid = static_cast<unsigned>(std::min(units, most)),
                   .block = 256,
                   .params = &params});
}

}  // namespace

Status lower(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  if (cuda_has_finish(call.problem) && !call.selection.joins_halves) {
    return lower_finished(call, lowering, sink);
  }
  const KernelInfo& kernel = *call.selection.kernel;
  if (kernel.skinny) return lower_skinny(call, lowering, sink);
  if (kernel.splits_f32) return lower_fast_f32(call, lowering, sink);
  if (kernel.mma) return lower_mma(call, lowering, sink);
  if (cuda_f32_tile(kernel) >= 0) return lower_f32(call, lowering, sink);
  return kernel.form == TileForm::None ? lower_simt(call, lowering, sink)
                                       : lower_wgmma(call, lowering, sink);
}

}  // namespace girih::inline v0::cuda
