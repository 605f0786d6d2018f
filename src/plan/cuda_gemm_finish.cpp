#include "plan/cuda_gemm_finish.hpp"

#include <optional>

#include "core/checked.hpp"
#include "plan/cuda_fast_f32.hpp"
#include "plan/cuda_gemm_layout.hpp"

namespace girih::inline v0 {
namespace {

constexpr std::int64_t kLeastRows =
    8;  // less would not keep the pieces of a column-major A aligned

std::int64_t sums_ld(const GemmProblem& problem) noexcept {
  return round_up(problem.n, 4);
}

/// More than any limit where it cannot be counted.
std::int64_t sums_bytes(std::int64_t batch, std::int64_t m, std::int64_t ld) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 58;
  const auto rows = checked_mul(batch, m);
  const auto elements = rows ? checked_mul(*rows, ld) : std::nullopt;
  return elements && *elements < kMost / 4 ? round_up(4 * *elements, 256) : kMost;
}

/// Where boxes can write C, and the epilogue is one that their kernels have.
bool has_box_epilogue(const GemmProblem& problem) noexcept {
  const MatrixLayout& c = problem.c;
  const bool rows =
      problem.m <= 1 || (c.row_stride >= problem.c_columns() && c.row_stride % 8 == 0);
  const bool boxes = bit_width(c.dtype) == 16 && c.alignment >= 16 && c.column_stride == 1 &&
                     rows && c.batch_stride % 8 == 0 && problem.c_columns() % 8 == 0;
  return boxes && !problem.residual && !problem.a_scale && !problem.b_scale &&
         (!problem.bias || problem.bias->stride == 1);
}

}  // namespace

std::optional<CudaGateHalves> cuda_gate_halves(const GemmProblem& problem,
                                               const KernelInfo& kernel) noexcept {
  if (!problem.gate || kernel.form == cuda::TileForm::None || kernel.splits_f32 ||
      !cuda::gates_in_registers(tile_of(kernel)) || !has_box_epilogue(problem) ||
      problem.is_empty() || problem.skips_product()) {
    return std::nullopt;
  }
  const CudaOperand a = cuda_operand_a(problem), b = cuda_operand_b(problem);
  if (a.packed || b.packed || b.batch_stride != 0) return std::nullopt;
  const bool k_major = b.major == cuda::Major::K;
  if (problem.gate->order == GateOrder::Concatenated) {
    return CudaGateHalves{b.major, b.ld, problem.c_columns() * (k_major ? b.ld : 1)};
  }
  if (!k_major) return std::nullopt;  // g and u alternate inside a box's rows
  return CudaGateHalves{b.major, 2 * b.ld, b.ld};
}

GemmProblem cuda_finish_product(const GemmProblem& problem, std::int64_t batch,
                                std::int64_t m) noexcept {
  GemmProblem product = cuda_piece(problem, batch, m, problem.n);
  product.c = {.dtype = DType::F32,
               .row_stride = sums_ld(problem),
               .column_stride = 1,
               // Sums past 64 bits are past any workspace: their plan is refused by its bytes.
               .batch_stride = checked_mul(m, sums_ld(problem)).value_or(0)};
  product.alpha = {.value = problem.skips_product() ? 0.0F : 1.0F};
  product.activation = Activation::None;
  product.scales_c = false;
  product.bias.reset();
  product.residual.reset();
  if (product.a_scale && !product.a_scale->is_blocked) product.a_scale.reset();
  if (product.b_scale && !product.b_scale->is_blocked) product.b_scale.reset();
  product.gate.reset();
  product.workspace_bytes.reset();
  return product;
}

CudaFinishParts cuda_finish_parts(const GemmProblem& problem, const KernelInfo& kernel,
                                  int splits) noexcept {
  CudaFinishParts parts{.batch = problem.batch, .m = problem.m, .sums_ld = sums_ld(problem)};
  if (problem.is_empty() || problem.skips_product()) return parts;
  for (;;) {
    parts.sums_bytes = sums_bytes(parts.batch, parts.m, parts.sums_ld);
    parts.bytes = parts.sums_bytes;
    const bool is_small = parts.batch == 1 && parts.m <= kLeastRows;
    if (splits > 1 && kernel.form == cuda::TileForm::None) {
      parts.bytes += splits * parts.sums_bytes;  // partial sums have the same rows
    }
    if (kernel.form != cuda::TileForm::None && (is_small || parts.bytes <= kCudaWorkspaceLimit)) {
      const GemmProblem product = cuda_finish_product(problem, parts.batch, parts.m);
      parts.bytes += kernel.splits_f32 ? cuda_fast_pieces(product).bytes
                                       : cuda_gemm_pieces(product, splits).bytes;
    }
    if (is_small || parts.bytes <= kCudaWorkspaceLimit) return parts;
    if (parts.batch > 1) {
      parts.batch = ceil_div(parts.batch, 2);
    } else {
      parts.m = round_up(ceil_div(parts.m, 2), parts.m > 128 ? 64 : kLeastRows);
    }
  }
}

}  // namespace girih::inline v0
