#include <algorithm>

#include "backends/cuda/gemm_gate.hpp"
#include "backends/cuda/gemm_wgmma.hpp"
#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "backends/cuda/launch.hpp"
#include "backends/cuda/strided.hpp"
#include "core/checked.hpp"

namespace girih::inline v0::cuda {
namespace {

SimtParams simt_params(const GemmCall& call) noexcept {
  const GemmProblem& problem = call.problem;
  const GemmOperands& operands = call.operands;
  SimtParams p;
  p.a = strided(operands.a, problem.a);
  p.b = strided(operands.b, problem.b);
  p.c = strided(operands.c, problem.c);
  if (problem.residual) p.residual = strided(operands.residual, *problem.residual);
  p.bias = strided(operands.bias, problem.bias);
  p.a_scale = strided(operands.a_scale, problem.a_scale);
  p.b_scale = strided(operands.b_scale, problem.b_scale);
  p.alpha = {problem.alpha.value, operands.alpha};
  p.beta = {problem.beta.value, operands.beta};
  p.m = problem.m;
  p.n = problem.n;
  p.k = problem.skips_product() ? 0 : problem.k;
  p.batch = problem.batch;
  p.reads_c = problem.reads_c();
  p.activation = static_cast<std::uint8_t>(problem.activation);
  return p;
}

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
  if (call.problem.gate && !call.selection.joins_halves) return lower_gated(call, lowering, sink);
  return call.selection.kernel->form == TileForm::None ? lower_simt(call, lowering, sink)
                                                       : lower_wgmma(call, lowering, sink);
}

}  // namespace girih::inline v0::cuda
