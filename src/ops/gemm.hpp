#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <girih/gemm.hpp>

#include "core/geometry.hpp"
#include "ops/op.hpp"

namespace girih::inline v0 {

/// Strides, in elements, of one matrix operand, and its element type. A batch stride of 0 shares
/// the matrix among all products.
struct MatrixLayout {
  DType dtype = DType::F32;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;
  /// Bytes: the largest power of two, at most 64, that the first element's address is a multiple
  /// of.
  std::int64_t alignment = 64;
};

/// A vector along N (bias) or along one operand's rows or columns (scales).
struct VectorLayout {
  DType dtype = DType::F32;
  std::int64_t stride = 0;  ///< 0 for one value shared by all
  std::int64_t batch_stride = 0;
  /// Factors of blocks: how many rows or columns share one, and the distance to the next 128 of K.
  bool is_blocked = false;
  std::int64_t extent = 1;
  std::int64_t k_stride = 0;
};
/// Types of C that a finished value is scaled for, rounded to and saturated.
constexpr bool is_quantised(DType c) noexcept {
  return c == DType::I8 || c == DType::F8E4M3 || c == DType::F8E5M2;
}
/// K that a factor of a block is for.
inline constexpr std::int64_t kScaledDepth = 128;

/// A scalar as selection may see it: a device scalar's value is never known to the host.
struct ScalarTerm {
  bool on_device = false;
  float value = 0;  ///< of a host scalar
};

/// The geometry of a product before it is checked: what `GemmDesc` says, without memory.
struct GemmSpec {
  Geometry a, b, c;
  std::optional<Geometry> bias{}, residual{}, a_scale{}, b_scale{}, c_scale{};
  Granularity a_granularity = Granularity::PerTensor;
  Granularity b_granularity = Granularity::PerTensor;
  Granularity c_granularity = Granularity::PerTensor;
  ScalarTerm alpha{.value = 1};
  ScalarTerm beta{};
  Activation activation = Activation::None;
  std::optional<Gate> gate{};
  Precision precision = Precision::Exact;
  Path path = Path::Auto;
  Reproducibility reproducibility = Reproducibility::PerShape;
  /// Bytes of the caller's workspace; empty: the runtime has one of any size.
  std::optional<std::int64_t> workspace_bytes{};
};

/// A product that obeys every rule of `GemmDesc`; only `check` makes one, and nothing behind it
/// checks again. C[m,n] = act(alpha * sa * sb * sum_k A[m,k] B[k,n] + beta * C + bias) + residual,
/// or, where a gate joins two columns into one, C = gate(alpha * sa * sb * sum + bias) + residual.
/// Either times c_scale where C is of 8 bits.
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;  ///< of A.B: with a gate, n is twice C's width
  MatrixLayout a, b, c;
  std::optional<VectorLayout> bias;  ///< along N
  std::optional<MatrixLayout> residual;
  std::optional<VectorLayout> a_scale;  ///< along M
  std::optional<VectorLayout> b_scale;  ///< along N
  bool scales_c = false;
  ScalarTerm alpha{.value = 1}, beta{};
  Activation activation = Activation::None;
  std::optional<Gate> gate;
  Precision precision = Precision::Exact;
  Path path = Path::Auto;
  Reproducibility reproducibility = Reproducibility::PerShape;
  std::optional<std::int64_t>
      workspace_bytes;  ///< what the caller's workspace holds, if there is one

  /// Of C and the residual.
  [[nodiscard]] std::int64_t c_columns() const noexcept { return gate ? n / 2 : n; }
  /// No element of C: the call does nothing.
  [[nodiscard]] bool is_empty() const noexcept { return m == 0 || n == 0 || batch == 0; }
  /// A and B are never read: the sum is empty or multiplied by a host zero.
  [[nodiscard]] bool skips_product() const noexcept {
    return k == 0 || (!alpha.on_device && alpha.value == 0);
  }
  /// Factors change along K.
  [[nodiscard]] bool has_block_scales() const noexcept {
    return (a_scale && a_scale->is_blocked) || (b_scale && b_scale->is_blocked);
  }
  /// C is read before it is written.
  [[nodiscard]] bool reads_c() const noexcept { return beta.on_device || beta.value != 0; }
  /// C = A.B and nothing more.
  [[nodiscard]] bool has_identity_epilogue() const noexcept {
    return !alpha.on_device && alpha.value == 1 && !reads_c() && !bias && !residual && !a_scale &&
           !b_scale && !scales_c && activation == Activation::None && !gate;
  }
  [[nodiscard]] double flops() const noexcept;
  /// Each operand once, and C once more where it is read.
  [[nodiscard]] double bytes() const noexcept;

 private:
  GemmProblem() = default;
  friend struct GemmChecker;
};

/// Addresses of a checked product's operands: the element at index 0 of each.
struct GemmOperands {
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* c = nullptr;
  const std::byte* bias = nullptr;
  const std::byte* residual = nullptr;
  const float* a_scale = nullptr;
  const float* b_scale = nullptr;
  const float* c_scale = nullptr;
  const float* alpha = nullptr;  ///< device scalars; null for host ones
  const float* beta = nullptr;
  std::byte* workspace = nullptr;  ///< the caller's
};

/// Checks the rules of `GemmDesc` that geometry and types decide.
Result<GemmProblem> check(const GemmSpec& spec) noexcept;
/// Checks all rules: tensors, ownership, geometry, aliasing.
Result<GemmProblem> check(const GemmDesc& desc, const CheckContext& context) noexcept;
/// The parts of that check, for products that are made of several: the operands' memory and the
/// workspace's; what the views state; what C and the workspace may share memory with.
Status check_memory(const GemmDesc& desc, const CheckContext& context) noexcept;
GemmSpec spec_of(const GemmDesc& desc, const CheckContext& context) noexcept;
Status check_aliasing(const GemmDesc& desc) noexcept;
/// Layouts are read off the views; memory that was wrapped may begin at any byte.
void lower_alignments(const GemmDesc& desc, GemmProblem& problem) noexcept;
/// Only for a descriptor that passed `check`.
GemmOperands bind(const GemmDesc& desc) noexcept;
/// Every tensor of the descriptor; null where an optional one is absent.
std::array<const Tensor*, 11> tensors_of(const GemmDesc& desc) noexcept;

}  // namespace girih::inline v0
