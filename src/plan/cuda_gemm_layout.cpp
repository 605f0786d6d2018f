#include "plan/cuda_gemm_layout.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "core/checked.hpp"

namespace girih::inline v0 {
namespace {

using cuda::Major;

constexpr std::int64_t kCopyAlignment = 16;
constexpr std::int64_t kStrideLimit = std::int64_t{1} << 40;  // bytes, of a tensor map

bool is_copy_stride(std::int64_t stride, std::int64_t bytes) noexcept {
  return stride > 0 && stride < kStrideLimit / bytes && stride * bytes % kCopyAlignment == 0;
}

std::int64_t element_bytes(const MatrixLayout& x) noexcept {
  return bit_width(x.dtype) / 8;
}

/// wgmma takes other types with K contiguous alone.
bool takes_both_majors(const MatrixLayout& x) noexcept {
  return element_bytes(x) == 2;
}

/// The operand as it lies, with `inner` elements in a row `ld` apart, if tensor copies can read it.
std::optional<CudaOperand> in_place(const MatrixLayout& x, Major major, std::int64_t extent,
                                    std::int64_t k, std::int64_t unit, std::int64_t ld,
                                    std::int64_t batch) noexcept {
  const std::int64_t inner = major == Major::K ? k : extent;
  const std::int64_t outer = major == Major::K ? extent : k;
  if (inner > 1 && unit != 1) return std::nullopt;
  const std::int64_t bytes = element_bytes(x);
  if (outer <= 1) ld = round_up(inner, kCopyAlignment / bytes);
  const std::int64_t batch_stride = batch > 1 ? x.batch_stride : 0;
  if (x.alignment < kCopyAlignment || !is_copy_stride(ld, bytes) || ld < inner) return std::nullopt;
  if (batch_stride != 0 && !is_copy_stride(batch_stride, bytes)) return std::nullopt;
  return CudaOperand{major, extent, ld, batch_stride, false};
}

CudaOperand operand(const MatrixLayout& x, std::int64_t extent, std::int64_t k,
                    std::int64_t extent_stride, std::int64_t k_stride,
                    std::int64_t batch) noexcept {
  if (const auto found = in_place(x, Major::K, extent, k, k_stride, extent_stride, batch)) {
    return *found;
  }
  const bool both = takes_both_majors(x);
  if (const auto found = in_place(x, Major::MN, extent, k, extent_stride, k_stride, batch);
      both && found) {
    return *found;
  }
  CudaOperand packed{.extent = extent, .packed = true};
  packed.major = both && k_stride != 1 && extent_stride == 1 ? Major::MN : Major::K;
  const bool k_major = packed.major == Major::K;
  packed.ld = round_up(k_major ? k : extent, kCopyAlignment / element_bytes(x));
  packed.batch_stride = batch > 1 && x.batch_stride != 0 ? packed.ld * (k_major ? extent : k) : 0;
  return packed;
}

/// The product of the factors, or as much as a workspace can count: a broadcast operand may have
/// more elements than any memory.
std::int64_t bytes_of(std::initializer_list<std::int64_t> factors) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 58;  // ten of them still fit
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    product = std::min(checked_mul(product, factor).value_or(kMost), kMost);
  }
  return product;
}

/// Hands out `bytes` of the workspace.
std::int64_t take(std::int64_t& used, std::int64_t bytes) noexcept {
  const std::int64_t at = used;
  used += round_up(bytes, 256);
  return at;
}

std::int64_t packed_bytes(const CudaOperand& x, const MatrixLayout& from, std::int64_t k,
                          std::int64_t batch) noexcept {
  return bytes_of({element_bytes(from), x.ld, x.major == Major::K ? x.extent : k,
                   x.batch_stride != 0 ? batch : 1});
}

/// Half of an extent, in whole tiles, and whole blocks of columns that share a factor.
std::int64_t half_of(std::int64_t extent, std::int64_t block = 1) noexcept {
  const std::int64_t least = std::max<std::int64_t>(64, block);
  if (extent <= least) return extent;
  return std::min(extent, round_up(ceil_div(extent, 2), extent > 512 ? 256 : least));
}

std::int64_t piece_bytes(const GemmProblem& problem, const CudaGemmPieces& piece,
                         int splits) noexcept {
  return cuda_gemm_layout(cuda_piece(problem, piece.batch, piece.m, piece.n), splits).bytes;
}

}  // namespace

GemmProblem cuda_piece(const GemmProblem& problem, std::int64_t batch, std::int64_t m,
                       std::int64_t n) noexcept {
  GemmProblem piece = problem;
  piece.batch = batch;
  piece.m = m;
  piece.n = n;
  if (batch == problem.batch) return piece;
  for (MatrixLayout* x : {&piece.a, &piece.b}) {
    const std::int64_t bytes = x->batch_stride * bit_width(x->dtype) / 8;
    if (bytes != 0) x->alignment = std::min(x->alignment, bytes & -bytes);
  }
  return piece;
}

CudaOperand cuda_operand_a(const GemmProblem& problem) noexcept {
  return operand(problem.a, problem.m, problem.k, problem.a.row_stride, problem.a.column_stride,
                 problem.batch);
}
CudaOperand cuda_operand_b(const GemmProblem& problem) noexcept {
  return operand(problem.b, problem.n, problem.k, problem.b.column_stride, problem.b.row_stride,
                 problem.batch);
}

CudaGemmLayout cuda_gemm_layout(const GemmProblem& problem, int splits) noexcept {
  CudaGemmLayout layout;
  const std::int64_t m = problem.m, n = problem.n, k = problem.k, batch = problem.batch;
  std::int64_t used = 0;
  if (!problem.skips_product()) {
    layout.a = cuda_operand_a(problem);
    layout.b = cuda_operand_b(problem);
    if (layout.a.packed) layout.a_at = take(used, packed_bytes(layout.a, problem.a, k, batch));
    if (layout.b.packed) layout.b_at = take(used, packed_bytes(layout.b, problem.b, k, batch));
  }
  layout.stages_c = n > 1 && problem.c.column_stride != 1;
  // A single row's distance to the next may be any number.
  layout.c_ld = layout.stages_c || m <= 1 ? round_up(n, 8) : problem.c.row_stride;
  layout.c_batch_stride = layout.stages_c ? layout.c_ld * m : problem.c.batch_stride;
  if (layout.stages_c) {
    layout.c_at = take(used, bytes_of({bit_width(problem.c.dtype) / 8, layout.c_ld, m, batch}));
  }
  if (problem.residual && n > 1 && problem.residual->column_stride != 1) {
    layout.packs_residual = true;
    layout.residual_at =
        take(used, bytes_of({bit_width(problem.residual->dtype) / 8, m, n, batch}));
  }
  if (problem.bias && n > 1 && problem.bias->stride != 1) {
    layout.packs_bias = true;
    const std::int64_t rows = problem.bias->batch_stride != 0 ? batch : 1;
    layout.bias_at = take(used, n * rows * bit_width(problem.bias->dtype) / 8);
  }
  layout.partial_ld = round_up(n, 4);
  if (splits > 1 && !problem.skips_product()) {
    layout.partials_at = take(used, bytes_of({4, batch, splits, m, layout.partial_ld}));
  }
  layout.bytes = used;
  return layout;
}

CudaGemmPieces cuda_gemm_pieces(const GemmProblem& problem, int splits) noexcept {
  CudaGemmPieces best{problem.batch, problem.m, problem.n, cuda_gemm_layout(problem, splits).bytes};
  const std::int64_t block = problem.b_scale ? problem.b_scale->extent : 1;
  while (best.bytes > kCudaWorkspaceLimit) {
    const CudaGemmPieces before = best;
    for (CudaGemmPieces cut : {CudaGemmPieces{ceil_div(before.batch, 2), before.m, before.n},
                               {before.batch, half_of(before.m), before.n},
                               {before.batch, before.m, half_of(before.n, block)}}) {
      cut.bytes = piece_bytes(problem, cut, splits);
      if (cut.bytes < best.bytes) best = cut;
    }
    if (best.bytes < before.bytes) continue;
    // No cut helps alone, or the bytes are too many to be counted.
    best.m = half_of(before.m);
    best.n = half_of(before.n, block);
    if (best.m == before.m && best.n == before.n) break;
    best.bytes = piece_bytes(problem, best, splits);
  }
  return best;
}

}  // namespace girih::inline v0
