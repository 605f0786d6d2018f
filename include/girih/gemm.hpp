#pragma once

#include <limits>
#include <optional>

#include <girih/export.hpp>
#include <girih/operand.hpp>
#include <girih/plan.hpp>
#include <girih/runtime.hpp>

namespace girih::inline v0 {

/// Element-wise function at the end of a product. x is the f32 value before it. At -infinity GELU
/// and SiLU give their limit, 0; NaN stays NaN.
enum class Activation : std::uint8_t {
  None,
  Relu,      ///< x < 0 ? 0 : x (NaN stays NaN)
  GeluTanh,  ///< x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
  Silu,      ///< x / (1 + exp(-x))
};
GIRIH_API std::string_view name(Activation activation) noexcept;

/// How f32 operands are multiplied, and 8-bit floats added up. 16-bit and i8 operands are exact in
/// every mode.
enum class Precision : std::uint8_t {
  Exact,  ///< IEEE single precision, fused multiply-add. 8-bit floats: a matrix unit's sums, which
          ///< keep some 14 bits, are added in f32 every 128 of K
  Fast,   ///< may split operands into bf16 parts; error of the order of Exact's, bound in
          ///< numerics.md. 8-bit floats: sums stay in the matrix unit
  Tf32,   ///< operands rounded to tf32 (10 fraction bits); GPU matrix units only
};
GIRIH_API std::string_view name(Precision precision) noexcept;

/// Which family of kernels may serve a call.
enum class Path : std::uint8_t {
  Auto,      ///< the fastest
  Matrix,    ///< matrix or vector units of the device at hand
  Portable,  ///< kernels that run on every device of the backend
};
GIRIH_API std::string_view name(Path path) noexcept;

/// Where the two columns lie that a gate joins into column n of C, out of 2N.
enum class GateOrder : std::uint8_t {
  Concatenated,  ///< g in column n, u in column N + n
  Interleaved,   ///< g in column 2n, u in column 2n + 1
};
GIRIH_API std::string_view name(GateOrder order) noexcept;

/// Joins two columns of a product, g and u ("gate" and "up"), into one of C:
///
///   act(min(g, limit)) * (max(-limit, min(u, limit)) + up_offset)
///
/// Silu is SwiGLU, GeluTanh GeGLU, Relu ReGLU, None the bilinear form. NaN in g or u gives NaN, and
/// so does 0 times infinity.
struct Gate {
  Activation activation = Activation::Silu;
  GateOrder order = GateOrder::Concatenated;
  /// Of Silu, which is then x / (1 + exp(-alpha x)): finite and positive; 1 for the others.
  float alpha = 1;
  float limit = std::numeric_limits<float>::infinity();  ///< positive
  float up_offset = 0;                                   ///< finite

  friend bool operator==(const Gate&, const Gate&) noexcept = default;
};

/// What follows the sum over K, in this order: `act(alpha*s*AB + beta*C + bias) + residual`; with a
/// gate, `gate(alpha*s*AB + bias) + residual`. An 8-bit C takes that times `GemmDesc::c_scale`.
struct Epilogue {
  /// [N], or [batch, N] for a batched product; 2N instead of N with a gate. f32, bf16 or f16, any
  /// alignment.
  std::optional<Tensor> bias{};
  Activation activation = Activation::None;
  /// With a gate B has 2N columns, and so have the bias and a `PerColumn` scale of B; C and the
  /// residual have N. beta must be 0 and `activation` None.
  std::optional<Gate> gate{};
  /// C's shape. f32, bf16 or f16. May be the same view as C; any other overlap is refused.
  std::optional<Tensor> residual{};
};

/// C = activation(alpha * sa * sb * A.B + beta * C + bias) + residual
///
/// or C = gate(alpha * sa * sb * A.B + bias) + residual, see `Gate`.
///
/// Shapes: A [M,K], B [K,N], or [K,2N] with a gate, C [M,N]; rank 3 adds a leading batch extent,
/// the same for all three, except that A or B of rank 2 is shared by the whole batch. Layouts are
/// read off the strides: a transposed operand is `x.transposed()`. Strides of A and B may be 0; no
/// two elements of C may share memory.
///
/// Types: A and B alike, of f32, bf16, f16, f8e4m3, f8e5m2 (C: f32, bf16, f16, f8e4m3, f8e5m2 or
/// i8) or i8 (C: these, or i32). Sums are f32; of i8, exact i32, and K > 131071 is refused since
/// the sum could wrap. C is written once, rounded to nearest even. An i32 C takes alpha = 1, beta 0
/// or 1 (saturating) and no other term.
///
/// An 8-bit C, quantised output: the f32 value after the residual, times `c_scale` in f32, is
/// rounded and saturated. Of f8e4m3 and f8e5m2 what is larger, infinities too, becomes the largest
/// finite number, 448 or 57344, and NaN stays NaN; i8 goes from -128 to 127, and NaN gives 0. beta
/// must be a host 0.
///
/// Scalars: host alpha and beta must be finite; device scalars are used as they are. beta = 0 from
/// the host never reads C; alpha = 0 from the host never reads A or B.
///
/// Extents: M, N or batch = 0 is a no-op; K = 0 gives the epilogue of a zero sum.
///
/// Errors: InvalidTensor, ForeignTensor, InvalidOption, GemmShapeMismatch, GemmTypeMismatch,
/// GemmAliasing, GemmScalarNotFinite, GemmAccumulatorRange, GemmEpilogueConflict, GemmNoKernel,
/// WorkspaceTooSmall, OutOfMemory.
/// A refused call encodes and writes nothing.
struct GemmDesc {
  Operand a;
  Operand b;
  Output c;
  ScalarArg<float> alpha = 1.0F;
  ScalarArg<float> beta = 0.0F;
  /// Factors of A (`PerTensor`, `PerRow`, `PerRowBlock`) and of B (`PerTensor`, `PerColumn`,
  /// `PerColumnBlock`, `PerBlock`), f32. Blocks: 8-bit floats are then promoted in every precision.
  std::optional<Scale> a_scale{};
  std::optional<Scale> b_scale{};
  /// Factor of an 8-bit C, `PerTensor`, f32, used as it is; of no other. Absent: 1.
  std::optional<Scale> c_scale{};
  Epilogue epilogue{};
  Precision precision = Precision::Exact;
  Path path = Path::Auto;
  /// Empty: the runtime's.
  std::optional<Reproducibility> reproducibility{};
  /// Memory for the call to work in, instead of the runtime's own: contiguous, of any type, 64-byte
  /// aligned, apart from every operand, and of `Plan::workspace_bytes` or more. Its contents are
  /// undefined afterwards.
  std::optional<Tensor> workspace{};
};

GIRIH_API Status gemm(Runtime& runtime, const GemmDesc& desc) noexcept;
/// What `gemm` would run. Fails as `gemm` would; encodes nothing.
GIRIH_API Result<Plan> plan(Runtime& runtime, const GemmDesc& desc) noexcept;

}  // namespace girih::inline v0
