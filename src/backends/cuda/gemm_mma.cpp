#include "backends/cuda/gemm_mma.hpp"

#include <algorithm>

#include "backends/cuda/gemm_f32.hpp"
#include "backends/cuda/kernels/mma_kernels.hpp"
#include "core/checked.hpp"
#include "plan/cuda_f32_cost.hpp"
#include "plan/cuda_mma.hpp"

namespace girih::inline v0::cuda {
namespace {

const void* kernel_of(DType type, int tile, const CudaMmaOperand& a, const CudaMmaOperand& b) {
  const bool gathers = !a.copied || !b.copied;
  switch (type) {
    case DType::I8:
      return gemm_mma_i8(tile, gathers);
    case DType::F32:
      return gemm_mma_tf32(tile, gathers);
    case DType::BF16:
      return gemm_mma_bf16(tile, a.major, b.major, gathers);
    default:
      return gemm_mma_f16(tile, a.major, b.major, gathers);
  }
}

}  // namespace

Status lower_mma(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  const GemmProblem& problem = call.problem;
  const CudaMmaOperand a = cuda_mma_a(problem), b = cuda_mma_b(problem);
  const auto entry = [](const CudaMmaOperand& x) {
    return x.copied ? MmaEntry::Copied : MmaEntry::Gathered;
  };
  const int tile = call.selection.kernel->tile_m == kMmaTiles[0].extent ? 0 : 1;
  MmaParams p;
  p.terms = simt_params(call);
  p.has_rows = problem.c.dtype != DType::I32 && cuda_f32_has_rows(problem);
  if (p.has_rows) p.epilogue = row_epilogue(call);
  p.a = entry(a);
  p.b = entry(b);
  p.rows = ceil_div(problem.m, kMmaTiles[tile].extent);
  p.columns = ceil_div(problem.n, kMmaTiles[tile].extent);
  p.units = p.rows * p.columns * problem.batch;
  // As many blocks as could be resident, and a few to go round: two of the large ones at most.
  const std::int64_t most = std::int64_t{tile == 0 ? 8 : 4} * lowering.multiprocessors;
  return sink.add({.function = kernel_of(problem.a.dtype, tile, a, b),
                   .grid = static_cast<unsigned>(std::min(p.units, most)),
                   .block = static_cast<unsigned>(mma_threads(kMmaTiles[tile])),
                   .shared = static_cast<unsigned>(mma_shared_bytes(kMmaTiles[tile])),
                   .params = &p});
}

}  // namespace girih::inline v0::cuda
