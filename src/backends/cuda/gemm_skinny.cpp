#include "backends/cuda/gemm_skinny.hpp"

#include <algorithm>
#include <utility>

#include "backends/cuda/gemm_f32.hpp"
#include "backends/cuda/kernels/skinny_kernels.hpp"
#include "core/checked.hpp"
#include "plan/cuda_skinny.hpp"

namespace girih::inline v0::cuda {
namespace {

StridedRef transposed(StridedRef x) noexcept {
  std::swap(x.row, x.column);
  return x;
}

/// C^T = B^T A^T.
SimtParams transposed(const SimtParams& p) noexcept {
  SimtParams t = p;
  t.a = transposed(p.b);
  t.b = transposed(p.a);
  t.c = transposed(p.c);
  t.residual = transposed(p.residual);
  t.bias = transposed(p.bias);
  t.a_scale = transposed(p.b_scale);
  t.b_scale = transposed(p.a_scale);
  std::swap(t.m, t.n);
  return t;
}

}  // namespace

Status lower_skinny(const GemmCall& call, const Lowering& lowering, LaunchSink& sink) noexcept {
  const CudaSkinnyLaunch launch =
      cuda_skinny_launch(call.problem, lowering.multiprocessors, lowering.has_clusters);
  const std::int64_t units = launch.tiles * launch.chunks * call.problem.batch;
  SimtParams product = simt_params(call);
  product.bias.row = 0;  // along N alone
  const SkinnyParams params{launch.swapped ? transposed(product) : product,
                            static_cast<std::uint32_t>(launch.tiles),
                            static_cast<std::uint32_t>(launch.chunks),
                            static_cast<std::uint32_t>(units),
                            launch.groups,
                            launch.slices,
                            launch.cluster};
  // More blocks than are resident at once, so that those that end make room for others.
  const std::int64_t most = std::int64_t{32} * lowering.multiprocessors;
  return sink.add(
      {.function = gemm_skinny_kernel(element_of(call.problem.a.dtype), launch.form, launch.rows),
       .grid = static_cast<unsigned>(std::min(units, most) * launch.cluster),
       .block = 32 * kSkinnyWarps,
       .shared = static_cast<unsigned>(skinny_shared_bytes(launch.bytes, launch.form, launch.rows)),
       .cluster = static_cast<unsigned>(launch.cluster),
       .waits_itself = true,
       .params = &params});
}

}  // namespace girih::inline v0::cuda
