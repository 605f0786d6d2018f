#include "plan/gemm.hpp"

#include <limits>

#include "core/error.hpp"
#include "core/format.hpp"
#include "plan/candidates.hpp"
#include "plan/cuda_fast_f32.hpp"
#include "plan/cuda_gemm_cost.hpp"
#include "plan/cuda_gemm_finish.hpp"
#include "plan/cuda_gemm_layout.hpp"
#include "plan/cuda_mma.hpp"
#include "plan/gemm_cost.hpp"
#include "plan/metal_gemm.hpp"

namespace girih::inline v0 {
namespace {

Demand demand_of(const GemmProblem& problem) noexcept {
  return {.op = Op::Gemm,
          .operand = problem.a.dtype,
          .output = problem.c.dtype,
          .precision = problem.precision,
          .path = problem.path,
          .reproducibility = problem.reproducibility,
          .gate = problem.gate.has_value(),
          .block_scales = problem.has_block_scales()};
}

/// `kernel` of the result is null if the row cannot serve these extents.
GemmSelection candidate(const GemmProblem& problem, const KernelInfo& kernel,
                        const SelectionContext& context,
                        double enough = std::numeric_limits<double>::infinity()) noexcept {
  switch (kernel.backend) {
    case Backend::Cuda:
      return cuda_gemm_candidate(problem, kernel, context, enough);
    case Backend::Metal:
      return metal_gemm_candidate(problem, kernel, context);
    default:
      return cpu_gemm_candidate(problem, kernel, context);
  }
}

/// Measured beats predicted, then less time; a row for few rows of C is faster than either or not
/// chosen, which row invariance does not need: it declines then. On a GPU a matrix row beats a
/// portable one at every extent, so that the reduction class depends on the types alone.
bool is_better(const GemmSelection& a, const GemmSelection& b) noexcept {
  if (a.is_tuned != b.is_tuned) return a.is_tuned;
  if (a.kernel->skinny != b.kernel->skinny) return a.predicted_seconds < b.predicted_seconds;
  if (a.kernel->backend != Backend::Cpu && a.kernel->path != b.kernel->path) {
    return a.kernel->path == Path::Matrix;
  }
  return a.predicted_seconds < b.predicted_seconds;
}

std::string packed_note(const char* operand, const MatrixLayout& x, std::int64_t k_stride) {
  if (bit_width(x.dtype) == 16 || k_stride == 1) {
    return formatted("{} is packed first: tensor copies cannot read its layout", operand);
  }
  return formatted("{} is transposed first: the unit takes {} with K contiguous alone", operand,
                   name(x.dtype));
}

/// `splits` as for `cuda_gemm_layout`.
void note_wgmma(const GemmProblem& problem, const GemmSelection& choice, int splits,
                std::vector<std::string>& notes) {
  const CudaGemmLayout layout = cuda_gemm_layout(problem, splits);
  if (choice.is_tuned) notes.emplace_back("measured fastest on this kind of device");
  if (choice.cluster_rows * choice.cluster_columns > 1) {
    notes.push_back(formatted("clusters of {}x{} tiles share what they load", choice.cluster_rows,
                              choice.cluster_columns));
  }
  if (choice.split_kind == SplitKind::Cluster) {
    notes.emplace_back("K is split over the blocks of a cluster");
  }
  if (splits > 1) notes.emplace_back("a second kernel adds the slices of K in order");
  if (choice.swaps_sides) notes.emplace_back("sides swapped: the tile's rows lie along N");
  if (layout.a.packed) notes.emplace_back(packed_note("A", problem.a, problem.a.column_stride));
  if (layout.b.packed) notes.emplace_back(packed_note("B", problem.b, problem.b.row_stride));
  if (layout.stages_c) notes.emplace_back("C is computed row-major, then copied to its layout");
  if (layout.packs_residual) notes.emplace_back("the residual is copied to a row-major one first");
  if (layout.packs_bias) notes.emplace_back("the bias is copied to a contiguous one first");
  const CudaGemmPieces piece = cuda_gemm_pieces(problem, splits);
  if (piece.bytes < layout.bytes) {
    notes.push_back(formatted(
        "in pieces of {} x {}, {} of the batch at a time, to keep the workspace within {} MiB",
        piece.m, piece.n, piece.batch, kCudaWorkspaceLimit >> 20));
  }
  if (piece.bytes > kCudaWorkspaceLimit) {
    notes.push_back(formatted("the workspace exceeds {} MiB: K is too long to pack less",
                              kCudaWorkspaceLimit >> 20));
  }
}

void note_parts(const GemmProblem& problem, std::vector<std::string>& notes) {
  if (problem.skips_product() || problem.is_empty()) return;
  notes.emplace_back(
      "operands are split into three bf16 parts each, and six products of parts added");
  notes.emplace_back(
      "an operand that has no parts (NaN, infinite, huge or tiny) sends the product to an exact "
      "kernel, on the device");
  const CudaFastPieces piece = cuda_fast_pieces(problem);
  if (piece.m < problem.m || piece.n < problem.n || piece.batch < problem.batch) {
    notes.push_back(formatted(
        "in pieces of {} x {}, {} of the batch at a time, to keep the workspace within {} MiB",
        piece.m, piece.n, piece.batch, kCudaWorkspaceLimit >> 20));
  }
}

void note_mma(const GemmProblem& problem, std::vector<std::string>& notes) {
  if (problem.skips_product() || problem.is_empty()) return;
  const bool is_decoded = problem.a.dtype == DType::F8E4M3 || problem.a.dtype == DType::F8E5M2;
  if (is_decoded) notes.emplace_back("operands become f16 on the way, exactly");
  if (!is_decoded && !cuda_mma_a(problem).copied) {
    notes.emplace_back("A is read element by element: it has no pieces of 16 bytes");
  }
  if (!is_decoded && !cuda_mma_b(problem).copied) {
    notes.emplace_back("B is read element by element: it has no pieces of 16 bytes");
  }
}

void note_cuda(const GemmProblem& asked, const GemmSelection& choice,
               std::vector<std::string>& notes) {
  if (choice.kernel->backend != Backend::Cuda) return;
  const bool through_workspace = choice.split_kind == SplitKind::Workspace;
  const int splits = through_workspace ? choice.split_k : 1;
  GemmProblem problem = asked;
  if (choice.joins_halves) {
    notes.emplace_back("the gate is in the kernel's epilogue");
  } else if (cuda_has_finish(asked)) {
    const CudaFinishParts parts = cuda_finish_parts(asked, *choice.kernel, splits);
    notes.emplace_back(asked.gate
                           ? "f32 sums go through the workspace to a second kernel, the gate's"
                           : "f32 sums go through the workspace to a second kernel, which rounds");
    if (parts.m < asked.m || parts.batch < asked.batch) {
      notes.push_back(
          formatted("in pieces of {} rows, {} of the batch at a time, to keep the "
                    "workspace within {} MiB",
                    parts.m, parts.batch, kCudaWorkspaceLimit >> 20));
    }
    if (parts.bytes > kCudaWorkspaceLimit) {
      notes.push_back(formatted("the workspace exceeds {} MiB: {} rows of sums are more",
                                kCudaWorkspaceLimit >> 20, parts.m));
    }
    problem = cuda_finish_product(asked, parts.batch, parts.m);
  }
  if (choice.kernel->splits_f32) return note_parts(problem, notes);
  if (choice.kernel->mma) note_mma(problem, notes);
  if (choice.kernel->form != cuda::TileForm::None) note_wgmma(problem, choice, splits, notes);
}

void note_metal(const GemmProblem& problem, const GemmSelection& choice,
                std::vector<std::string>& notes) {
  if (choice.kernel->backend != Backend::Metal) return;
  if (choice.split_k > 1) notes.emplace_back("a second kernel adds the slices of K in order");
  if (choice.kernel->reduction == Reduction::SimdgroupF32 && problem.a.dtype == DType::F32) {
    notes.emplace_back("exact f32 stays off the matrix unit, which multiplies it as tf32");
  }
  if (choice.kernel->path != Path::Matrix || problem.skips_product() || problem.is_empty()) return;
  const MetalParts parts = metal_parts(problem, *choice.kernel);
  if (parts == MetalParts::Rounded) notes.emplace_back("operands are rounded to tf32 first");
  if (parts == MetalParts::Split) {
    notes.emplace_back("operands are split into two tf32 parts each, and three products added");
  }
  if (parts != MetalParts::None) return;
  if (metal_operand(problem.a, parts).packed) {
    notes.emplace_back("A is packed first: matmul2d cannot read its layout");
  }
  if (metal_columns(problem, *choice.kernel).operand.packed) {
    notes.emplace_back("B is packed first: matmul2d cannot read its layout");
  }
}

std::vector<std::string> notes_on(const GemmProblem& problem, const GemmSelection& choice) {
  std::vector<std::string> notes;
  if (choice.kernel->reduction == Reduction::WgmmaF8) {
    notes.emplace_back("the unit's sums of 128 of K are added in f32; precision fast does without");
  }
  if (choice.kernel->reduction == Reduction::WgmmaF8Fast) {
    notes.emplace_back("sums stay in the matrix unit, which keeps some 14 bits");
  }
  if (choice.kernel->reduction == Reduction::WgmmaTf32) {
    notes.emplace_back("operands are rounded to tf32 as they are loaded");
  }
  if (problem.precision == Precision::Fast && !choice.kernel->multiplies_tf32 &&
      !choice.kernel->splits_f32 && choice.kernel->precision != Precision::Fast) {
    notes.emplace_back("precision fast: no row that splits f32 takes this, the exact one is used");
  }
  if (problem.skips_product()) notes.emplace_back("A and B are not read");
  if (problem.gate) {
    notes.push_back(formatted("a gate ({}, {}) joins {} columns into {} before C is written",
                              name(problem.gate->activation), name(problem.gate->order), problem.n,
                              problem.c_columns()));
  }
  if (is_quantised(problem.c.dtype)) {
    notes.push_back(formatted("C is rounded{} to {}, which saturates",
                              problem.scales_c ? ", times a factor," : "", name(problem.c.dtype)));
  }
  if (choice.kernel->backend == Backend::Cpu && choice.kernel->reduction != Reduction::None) {
    notes.emplace_back(
        "bits depend on types and K only, not on tile, block or threads: every row is invariant");
  }
  note_cuda(problem, choice, notes);
  note_metal(problem, choice, notes);
  if (choice.concurrent_products > 1) notes.emplace_back("the batch is spread over the threads");
  return notes;
}

}  // namespace

Result<GemmSelection> select(const GemmProblem& problem, const SelectionContext& context) noexcept {
  const Demand demand = demand_of(problem);
  // Rows have a hundred forms of launches each, of which few need be looked at once one is known
  // that is good: 10 us a choice instead of 50.
  const bool is_cuda = context.device->backend == Backend::Cuda;
  const double enough = is_cuda ? cuda_gemm_enough(problem, demand, context)
                                : std::numeric_limits<double>::infinity();
  const Result<GemmSelection> best = cheapest(
      demand, context,
      [&](const KernelInfo& kernel) { return candidate(problem, kernel, context, enough); },
      is_better);
  if (!best) return best;
  if (best->kernel == nullptr) {
    const bool is_metal = context.device->backend == Backend::Metal;
    const bool is_fast = problem.precision == Precision::Fast && problem.a.dtype == DType::F32;
    return error(Code::GemmNoKernel, "no kernel for a product of {} x {} x {}, batch {}: {}",
                 problem.m, problem.n, problem.k, problem.batch,
                 is_metal  ? metal_gemm_limits()
                 : is_fast ? "rows that split f32 need C, residual and bias to be row-major, and "
                             "are not row-invariant"
                           : "matrix rows count to 2^31 - 1025");
  }
  GIRIH_TRY(check_workspace(problem.workspace_bytes, best->workspace_bytes, *best->kernel));
  return best;
}

Result<Plan> explain(const GemmProblem& problem, const SelectionContext& context) noexcept {
  return explain_choice(
      demand_of(problem), context, select(problem, context),
      [&](const KernelInfo& kernel) { return candidate(problem, kernel, context); },
      [&](const GemmSelection& choice, Plan& plan) {
        plan.block = {choice.block.m, choice.block.n, choice.block.k};
        plan.split_k = choice.split_k;
        plan.traversal = choice.traversal;
        plan.workspace_bytes = static_cast<std::uint64_t>(choice.workspace_bytes);
        plan.flops = problem.flops();
        plan.bytes = problem.bytes();
        plan.notes = notes_on(problem, choice);
      });
}

}  // namespace girih::inline v0
