#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include <girih/gemm.hpp>

#include "ops/op.hpp"
#include "plan/cuda_gemm_tile.hpp"
#include "plan/device_info.hpp"

namespace girih::inline v0 {

/// A set of element types.
class DTypes {
 public:
  constexpr DTypes() noexcept = default;
  constexpr DTypes(std::initializer_list<DType> types) noexcept {
    for (const DType type : types) bits_ |= 1U << static_cast<unsigned>(type);
  }
  [[nodiscard]] constexpr DTypes with(DTypes more) const noexcept {
    DTypes both = *this;
    both.bits_ |= more.bits_;
    return both;
  }
  [[nodiscard]] constexpr bool has(DType type) const noexcept {
    return ((bits_ >> static_cast<unsigned>(type)) & 1U) != 0;
  }

 private:
  std::uint32_t bits_ = 0;
};
std::string describe(DTypes types);
/// What `is_quantised` tells.
inline constexpr DTypes kQuantised = {DType::F8E4M3, DType::F8E5M2, DType::I8};

/// How a kernel adds up: equal classes give equal bits for equal operands, whatever the tile.
enum class Reduction : std::uint8_t {
  None,           ///< no sum
  SequentialF32,  ///< one fused multiply-add chain in f32, k = 0, 1, 2, ...
  ExactI32,       ///< integers: order does not matter
  SimdgroupF32,   ///< f32 sums of 8 x 8 x 8 products in order of k, each in an order of its own
  TensorOpsF32,   ///< f32 sums of Metal's matmul2d over all of k; slices of K added in order
  SlicedF32,      ///< f32 sums of slices of K, in an order of their own; added in order
  /// cuda: f32 sums of 64 of K, made on the matrix unit from bf16 parts of f32 operands
  WgmmaPartsF32,
  MmaF32,       ///< f32 sums of NVIDIA's warp-wide products of 16 over k in order
  MmaTf32,      ///< the same of 8, of operands rounded to tf32
  WgmmaF32,     ///< f32 sums of the Hopper matrix unit over k in order; slices of K added in order
  WgmmaTf32,    ///< the same of operands rounded to tf32
  WgmmaF8,      ///< of 8-bit floats: the unit's sums of 128 of k, added in f32 in order
  WgmmaF8Fast,  ///< of 8-bit floats: the unit's sums over all of k
};
std::string_view name(Reduction reduction) noexcept;

/// One row of a backend's `kernels.inc`. Host-only data: every build has every row, so a plan can
/// be made for a device that the build cannot drive.
struct KernelInfo {
  std::string_view name;  ///< <backend>_<op>_<types>_<tile>_<target>
  Backend backend = Backend::Cpu;
  Op op = Op::Gemm;
  DTypes operands;  ///< gemm: A and B; else the source
  DTypes outputs;
  Path path = Path::Matrix;
  Features needs;
  std::int64_t tile_m = 1, tile_n = 1, tile_k = 1;
  Reduction reduction = Reduction::None;
  double flops_per_cycle = 1;  ///< of one core or multiprocessor at best: orders the candidates
  cuda::TileForm form = cuda::TileForm::None;  ///< cuda: of a wgmma tile
  int consumers = 0;                           ///< cuda: warpgroups that multiply
  int operand_bytes = 2;  ///< cuda: of an operand's element as a wgmma tile multiplies it
  /// The unit multiplies f32 operands as tf32: the row serves Tf32, and Fast in parts, never Exact.
  bool multiplies_tf32 = false;
  /// Multiplies f32 operands as three bf16 parts each: the row serves Fast alone.
  bool splits_f32 = false;
  /// The one precision that the row serves, where it is made for one.
  std::optional<Precision> precision{};
  bool scales_blocks = false;  ///< gemm: takes factors that change along K
  bool skinny = false;         ///< cuda: for products with few rows or columns
  bool mma = false;            ///< cuda: warps multiply, on compute capability 8.0 and later
  bool groups = false;         ///< gemm: serves grouped_gemm too
  bool gates = false;          ///< gemm: has the epilogue that joins two columns into one
  /// Why the device at hand cannot run the row though it has what the row needs: a compiler's first
  /// error, a failed trial. Empty in the tables; a device may fill it in.
  std::string_view obstacle{};

  [[nodiscard]] constexpr bool serves(Op operation) const noexcept {
    return op == operation || (groups && operation == Op::GroupedGemm);
  }
};

/// The geometry of a wgmma row.
constexpr cuda::TileConfig tile_of(const KernelInfo& row) noexcept {
  return {static_cast<int>(row.tile_m),
          static_cast<int>(row.tile_n),
          static_cast<int>(row.tile_k),
          row.consumers,
          row.form,
          row.operand_bytes,
          row.reduction == Reduction::WgmmaF8,
          row.scales_blocks};
}

}  // namespace girih::inline v0
