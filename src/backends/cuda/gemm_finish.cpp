#include "backends/cuda/gemm_finish.hpp"

#include <algorithm>

#include "backends/cuda/gemm_pieces.hpp"
#include "backends/cuda/kernels/finish_params.hpp"
#include "backends/cuda/kernels/gemm_kernels.hpp"
#include "backends/cuda/strided.hpp"
#include "core/checked.hpp"
#include "plan/cuda_gemm_finish.hpp"

namespace girih::inline v0::cuda {
namespace {

FinishParams finish_params(const GemmCall& call, const std::byte* sums,
                           std::int64_t sums_ld) noexcept {
  const GemmProblem& problem = call.problem;
  const GemmOperands& operands = call.operands;
  FinishParams p;
  if (!problem.skips_product()) p.sums = reinterpret_cast<const float*>(sums);
  p.sums_ld = sums_ld;
  p.c = strided(operands.c, problem.c);
  if (problem.residual) p.residual = strided(operands.residual, *problem.residual);
  p.bias = strided(operands.bias, problem.bias);
  // Factors of blocks are in the sums.
  if (problem.a_scale && !problem.a_scale->is_blocked) {
    p.a_scale = strided(operands.a_scale, problem.a_scale);
  }
  if (problem.b_scale && !problem.b_scale->is_blocked) {
    p.b_scale = strided(operands.b_scale, problem.b_scale);
  }
  p.alpha = {problem.alpha.value, operands.alpha};
  p.m = problem.m;
  p.n = problem.c_columns();
  p.batch = problem.batch;
  p.c_scale.device = operands.c_scale;
  p.gates = problem.gate.has_value();
  if (problem.gate) {
    const bool alternate = problem.gate->order == GateOrder::Interleaved;
    p.step = alternate ? 2 : 1;
    p.partner = alternate ? 1 : p.n;
    p.gate = gate_terms(*problem.gate);
  } else {
    p.gate.activation = static_cast<std::uint8_t>(problem.activation);
  }
  return p;
}

Status lower_piece(const GemmCall& piece, const CudaFinishParts& parts, const Lowering& lowering,
                   LaunchSink& sink) noexcept {
  const GemmProblem& problem = piece.problem;
  std::byte* const sums = piece.scratch;
  if (!problem.skips_product()) {
    GemmCall product = piece;
    product.problem = cuda_finish_product(problem, problem.batch, problem.m);
    product.operands = {.a = piece.operands.a, .b = piece.operands.b, .c = sums};
    product.operands.a_scale = piece.operands.a_scale;  // those of blocks
    product.operands.b_scale = piece.operands.b_scale;
    product.scratch = sums + parts.sums_bytes;
    GIRIH_TRY(lower(product, lowering, sink));
  }
  const FinishParams params = finish_params(piece, sums, parts.sums_ld);
  const std::int64_t segments = ceil_div(params.n, std::int64_t{kGateThreads});
  const std::int64_t most = std::int64_t{32} * lowering.multiprocessors;
  return sink.add(
      {.function = gemm_finish_kernel(),
       .grid = static_cast<unsigned>(std::min(params.batch * params.m * segments, most)),
       .block = kGateThreads,
       .params = &params});
}

}  // namespace

GateTerms gate_terms(const Gate& gate) noexcept {
  return {gate.alpha, gate.limit, gate.up_offset, static_cast<std::uint8_t>(gate.activation)};
}

Status lower_finished(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  const GemmProblem& problem = call.problem;
  const bool through_workspace = call.selection.split_kind == SplitKind::Workspace;
  const CudaFinishParts parts = cuda_finish_parts(problem, *call.selection.kernel,
                                                  through_workspace ? call.selection.split_k : 1);
  return lower_in_pieces(call, {parts.batch, parts.m, problem.n},
                         [&](const GemmCall& part, const PieceOfC&) {
                           return lower_piece(part, parts, lowering, sink);
                         });
}

}  // namespace girih::inline v0::cuda
