#include "plan/cuda_gemm_tuned.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "plan/cuda_gemm_layout.hpp"

namespace girih::inline v0 {
namespace {

using cuda::Major;

constexpr CudaTunedRow kH200[] = {
#define GIRIH_CUDA_TUNED(m, n, k, batch, a, b, kernel, rows, columns, cluster, splits, band, \
                         band_columns, swapped)                                              \
  {m,    n,       k,       batch,  Major::a, Major::b,     kernel,                           \
   rows, columns, cluster, splits, band,     band_columns, swapped},
#include "plan/cuda_gemm_tuned_h200.inc"
#undef GIRIH_CUDA_TUNED
};

/// Rows by a hash of their extents, in chains that keep their order: few products have a row, and
/// the others are to find that out at once.
struct Chains {
  static constexpr std::size_t kEnd = std::size(kH200);
  std::array<std::uint16_t, 1024> first{};
  std::array<std::uint16_t, kEnd> next{};
};
constexpr std::size_t hash_of(std::int64_t m, std::int64_t n, std::int64_t k) noexcept {
  std::uint64_t hash = 0;
  for (const std::int64_t extent : {m, n, k}) {
    hash = (hash ^ static_cast<std::uint64_t>(extent)) * 0x9E3779B97F4A7C15;
  }
  return static_cast<std::size_t>(hash >> 54);
}
constexpr Chains kChains = [] {
  Chains chains;
  chains.first.fill(Chains::kEnd);
  for (std::size_t row = Chains::kEnd; row-- > 0;) {
    std::uint16_t& first = chains.first[hash_of(kH200[row].m, kH200[row].n, kH200[row].k)];
    chains.next[row] = first;
    first = static_cast<std::uint16_t>(row);
  }
  return chains;
}();

/// A GH100 with 132 multiprocessors.
bool is_h200(const DeviceInfo& device) noexcept {
  return device.compute_capability == 90 && device.multiprocessors == 132;
}

/// The types in the name of a kernel, or of a row's: "16bit", "i8", ...
std::string_view types_of(std::string_view name) noexcept {
  constexpr std::string_view kPrefix = "cuda_gemm_";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  return name.substr(0, name.find('_'));
}

}  // namespace

const CudaTunedRow* find_tuned(const GemmProblem& problem, const KernelInfo& kernel,
                               const DeviceInfo& device) noexcept {
  const bool is_scaled = problem.a_scale || problem.b_scale;
  if (!is_h200(device) || bit_width(problem.c.dtype) != 16 || problem.reads_c() ||
      problem.residual || (is_scaled && !cuda::scales_in_boxes(tile_of(kernel)))) {
    return nullptr;
  }
  for (std::size_t i = kChains.first[hash_of(problem.m, problem.n, problem.k)]; i < Chains::kEnd;
       i = kChains.next[i]) {
    const CudaTunedRow& row = kH200[i];
    if (row.m != problem.m || row.n != problem.n || row.k != problem.k ||
        row.batch != problem.batch || row.a != cuda_operand_a(problem).major ||
        row.b != cuda_operand_b(problem).major || types_of(row.kernel) != types_of(kernel.name)) {
      continue;
    }
    return kernel.name.ends_with(row.kernel) ? &row : nullptr;
  }
  return nullptr;
}

}  // namespace girih::inline v0
