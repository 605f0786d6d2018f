#include "ops/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/storage.hpp"

namespace girih::inline v0 {

using detail::TensorAccess;

namespace {

/// |a * b| <= 2^14 for int8, so that 131071 terms stay below 2^31.
constexpr std::int64_t kMaxInt8K = 131071;

bool is_operand_type(DType type) noexcept {
  switch (type) {
    case DType::F32:
    case DType::BF16:
    case DType::F16:
    case DType::I8:
    case DType::F8E4M3:
    case DType::F8E5M2:
      return true;
    default:
      return false;
  }
}

/// Types of C as it is, of the bias and of the residual.
bool is_float_output(DType type) noexcept {
  return type == DType::F32 || type == DType::BF16 || type == DType::F16;
}

/// Of memory that begins at a multiple of 64 bytes.
std::int64_t alignment_of(const Geometry& matrix) noexcept {
  const std::int64_t bytes = matrix.offset * bit_width(matrix.dtype) / 8;
  return bytes % 64 == 0 ? 64 : bytes & -bytes;
}

MatrixLayout layout_of(const Geometry& matrix) noexcept {
  const auto r = static_cast<std::size_t>(matrix.shape.rank());
  return {.dtype = matrix.dtype,
          .row_stride = matrix.strides[r - 2],
          .column_stride = matrix.strides[r - 1],
          .batch_stride = r == 3 ? matrix.strides[0] : 0,
          .alignment = alignment_of(matrix)};
}

std::int64_t rows(const Geometry& matrix) noexcept {
  return matrix.shape[matrix.shape.rank() - 2];
}
std::int64_t columns(const Geometry& matrix) noexcept {
  return matrix.shape[matrix.shape.rank() - 1];
}

double element_bytes(DType type) noexcept {
  return bit_width(type) / 8.0;
}

}  // namespace

double GemmProblem::flops() const noexcept {
  if (skips_product()) return 0;
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
         static_cast<double>(batch);
}

double GemmProblem::bytes() const noexcept {
  const auto matrix = [this](double extent, const MatrixLayout& layout) {
    const double copies = layout.batch_stride == 0 ? 1.0 : static_cast<double>(batch);
    return extent * copies * element_bytes(layout.dtype);
  };
  const auto dm = static_cast<double>(m);
  const auto dn = static_cast<double>(n);
  const auto dk = static_cast<double>(k);
  double total = 0;
  if (!skips_product()) total += matrix(dm * dk, a) + matrix(dk * dn, b);
  const double result = dm * static_cast<double>(c_columns()) * static_cast<double>(batch);
  total += result * element_bytes(c.dtype) * (reads_c() ? 2 : 1);
  if (residual) total += result * element_bytes(residual->dtype);
  if (bias) {
    total += dn * (bias->batch_stride == 0 ? 1.0 : static_cast<double>(batch)) *
             element_bytes(bias->dtype);
  }
  return total;
}

/// The rules of `GemmDesc`, one function a rule; each refuses or fills its part of the problem.
struct GemmChecker {
  const GemmSpec& spec;
  GemmProblem problem;

  explicit GemmChecker(const GemmSpec& checked) noexcept : spec(checked) {
    problem.gate = spec.gate;
  }

  Status check_ranks() noexcept {
    const auto check_rank = [](const Geometry& matrix, const char* what) -> Status {
      const int rank = matrix.shape.rank();
      if (rank == 2 || rank == 3) return {};
      return error(Code::GemmShapeMismatch, "{} has rank {}, must be 2, or 3 for a batch", what,
                   rank);
    };
    GIRIH_TRY(check_rank(spec.a, "A"));
    GIRIH_TRY(check_rank(spec.b, "B"));
    GIRIH_TRY(check_rank(spec.c, "C"));
    if (spec.c.shape.rank() == 2 && (spec.a.shape.rank() == 3 || spec.b.shape.rank() == 3)) {
      return error(Code::GemmShapeMismatch, "{} has rank 3 but C has rank 2: a batch needs both",
                   spec.a.shape.rank() == 3 ? "A" : "B");
    }
    return {};
  }

  Status check_sizes() const noexcept {
    for (const auto& [matrix, what] : {std::pair{&spec.a, "A"}, {&spec.b, "B"}, {&spec.c, "C"}}) {
      const Result<std::int64_t> size = checked_size(matrix->shape, what);
      if (!size) return size.error();
    }
    return {};
  }

  Status check_extents() noexcept {
    problem.m = rows(spec.a);
    problem.k = columns(spec.a);
    problem.n = columns(spec.b);
    problem.batch = spec.c.shape.rank() == 3 ? spec.c.shape[0] : 1;
    if (rows(spec.b) != problem.k) {
      return error(Code::GemmShapeMismatch, "A has {} columns but B has {} rows: K must agree",
                   problem.k, rows(spec.b));
    }
    if (problem.gate && problem.n % 2 != 0) {
      return error(Code::GemmShapeMismatch, "B has {} columns, a gate joins two into one of C",
                   problem.n);
    }
    if (rows(spec.c) != problem.m || columns(spec.c) != problem.c_columns()) {
      return error(Code::GemmShapeMismatch, "C is {} by {}, the {}product of A and B is {} by {}",
                   rows(spec.c), columns(spec.c), problem.gate ? "gated " : "", problem.m,
                   problem.c_columns());
    }
    const auto check_batch = [this](const Geometry& matrix, const char* what) -> Status {
      if (matrix.shape.rank() == 2 || matrix.shape[0] == problem.batch) return {};
      return error(Code::GemmShapeMismatch, "{} has a batch of {}, C of {}", what, matrix.shape[0],
                   problem.batch);
    };
    GIRIH_TRY(check_batch(spec.a, "A"));
    GIRIH_TRY(check_batch(spec.b, "B"));
    problem.a = layout_of(spec.a);
    problem.b = layout_of(spec.b);
    problem.c = layout_of(spec.c);
    if (overlaps_itself(spec.c)) {
      return error(Code::GemmAliasing,
                   "C: its strides ({}, {}, batch {}) let two elements share memory",
                   problem.c.row_stride, problem.c.column_stride, problem.c.batch_stride);
    }
    return {};
  }

  Status check_types() noexcept {
    const DType type = spec.a.dtype;
    for (const Geometry* operand : {&spec.a, &spec.b}) {
      if (is_operand_type(operand->dtype)) continue;
      return error(Code::GemmNoKernel,
                   "{} is {}: products take f32, bf16, f16, i8 and 8-bit floats",
                   operand == &spec.a ? "A" : "B", name(operand->dtype));
    }
    if (spec.b.dtype != type) {
      return error(Code::GemmTypeMismatch, "A is {} but B is {}: convert one of them explicitly",
                   name(type), name(spec.b.dtype));
    }
    const bool integer_output = type == DType::I8 && spec.c.dtype == DType::I32;
    if (!is_float_output(spec.c.dtype) && !is_quantised(spec.c.dtype) && !integer_output) {
      return error(Code::GemmTypeMismatch,
                   "C is {}: a product of {} gives f32, bf16, f16, 8-bit floats or i8{}",
                   name(spec.c.dtype), name(type), type == DType::I8 ? ", or i32" : "");
    }
    if (type == DType::I8 && problem.k > kMaxInt8K) {
      return error(Code::GemmAccumulatorRange,
                   "K is {}: over {} the i32 sum of i8 products could wrap", problem.k, kMaxInt8K);
    }
    // Only f32 operands have three ways to be multiplied, and 8-bit floats two.
    const bool may_be_fast = type == DType::F8E4M3 || type == DType::F8E5M2;
    const bool stays = type == DType::F32 || (may_be_fast && spec.precision == Precision::Fast);
    problem.precision = stays ? spec.precision : Precision::Exact;
    return {};
  }

  Status check_options() noexcept {
    GIRIH_TRY(check_enumerator(spec.activation, Activation::Silu, "activation"));
    GIRIH_TRY(check_enumerator(spec.precision, Precision::Tf32, "precision"));
    GIRIH_TRY(check_enumerator(spec.path, Path::Portable, "path"));
    GIRIH_TRY(
        check_enumerator(spec.reproducibility, Reproducibility::RowInvariant, "reproducibility"));
    problem.activation = spec.activation;
    problem.path = spec.path;
    problem.reproducibility = spec.reproducibility;
    problem.workspace_bytes = spec.workspace_bytes;
    return {};
  }

  Status check_scalars() noexcept {
    const auto check_finite = [](const ScalarTerm& scalar, const char* what) -> Status {
      if (scalar.on_device || std::isfinite(scalar.value)) return {};
      return error(Code::GemmScalarNotFinite, "{} is {}: a host value must be finite", what,
                   scalar.value);
    };
    GIRIH_TRY(check_finite(spec.alpha, "alpha"));
    GIRIH_TRY(check_finite(spec.beta, "beta"));
    problem.alpha = spec.alpha;
    problem.beta = spec.beta;
    return {};
  }

  Status check_gate() const noexcept {
    if (!spec.gate) return {};
    const Gate& gate = *spec.gate;
    GIRIH_TRY(check_enumerator(gate.activation, Activation::Silu, "activation of the gate"));
    GIRIH_TRY(check_enumerator(gate.order, GateOrder::Interleaved, "order of the gate"));
    for (const auto& [value, what] : {std::pair{gate.alpha, "alpha"}, {gate.up_offset, "offset"}}) {
      if (std::isfinite(value)) continue;
      return error(Code::GemmScalarNotFinite, "{} of the gate is {}, must be finite", what, value);
    }
    if (gate.alpha <= 0) {
      return error(Code::InvalidOption, "alpha of the gate is {}, must be positive", gate.alpha);
    }
    if (!(gate.limit > 0)) {
      return error(Code::InvalidOption, "limit of the gate is {}, must be positive", gate.limit);
    }
    if (gate.alpha != 1 && gate.activation != Activation::Silu) {
      return error(Code::GemmEpilogueConflict, "alpha of the gate is {}: {} takes 1, {} any",
                   gate.alpha, name(gate.activation), name(Activation::Silu));
    }
    if (spec.activation != Activation::None) {
      return error(Code::GemmEpilogueConflict, "activation {} beside a gate, which has its own",
                   name(spec.activation));
    }
    if (problem.reads_c()) {
      return error(Code::GemmEpilogueConflict,
                   "beta is {}, must be 0 with a gate, which reads no C",
                   spec.beta.on_device ? "a device scalar" : "not 0");
    }
    return {};
  }

  Status check_bias() noexcept {
    if (!spec.bias) return {};
    const Geometry& bias = *spec.bias;
    const int rank = bias.shape.rank();
    if (!is_float_output(bias.dtype)) {
      return error(Code::GemmTypeMismatch, "bias is {}, must be f32, bf16 or f16",
                   name(bias.dtype));
    }
    const bool per_batch = rank == 2 && spec.c.shape.rank() == 3;
    if (rank != 1 && !per_batch) {
      return error(Code::GemmShapeMismatch, "bias has rank {}, must be [N]{}", rank,
                   spec.c.shape.rank() == 3 ? " or [batch, N]" : "");
    }
    if (bias.shape[rank - 1] != problem.n) {
      return error(Code::GemmShapeMismatch, "bias has {} elements a row, {} is {}",
                   bias.shape[rank - 1], problem.gate ? "2N" : "N", problem.n);
    }
    if (per_batch && bias.shape[0] != problem.batch) {
      return error(Code::GemmShapeMismatch, "bias has {} rows, the batch is {}", bias.shape[0],
                   problem.batch);
    }
    problem.bias = VectorLayout{.dtype = bias.dtype,
                                .stride = bias.strides[static_cast<std::size_t>(rank - 1)],
                                .batch_stride = per_batch ? bias.strides[0] : 0};
    return {};
  }

  Status check_residual() noexcept {
    if (!spec.residual) return {};
    if (!is_float_output(spec.residual->dtype)) {
      return error(Code::GemmTypeMismatch, "residual is {}, must be f32, bf16 or f16",
                   name(spec.residual->dtype));
    }
    if (spec.residual->shape != spec.c.shape) {
      try {
        return error(Code::GemmShapeMismatch, "residual is {}, C is {}",
                     describe(spec.residual->shape), describe(spec.c.shape));
      } catch (...) {
        return error(Code::GemmShapeMismatch, "residual and C differ in shape");
      }
    }
    problem.residual = layout_of(*spec.residual);
    return {};
  }

  /// [M, ceil(K/128)] of A, [ceil(K/128), N] or [ceil(K/128), ceil(N/128)] of B.
  Status check_block_scale(const Geometry& scale, Granularity granularity, const char* what,
                           std::optional<VectorLayout>& out) const noexcept {
    const DType type = problem.a.dtype;
    if (type != DType::F8E4M3 && type != DType::F8E5M2) {
      return error(Code::GemmEpilogueConflict, "{}: blocks of {} have no factors of their own",
                   what, name(type));
    }
    const bool of_rows = granularity == Granularity::PerRowBlock;
    const std::int64_t extent = granularity == Granularity::PerBlock ? kScaledDepth : 1;
    const std::int64_t across = of_rows ? problem.m : ceil_div(problem.n, extent);
    const std::int64_t along = ceil_div(problem.k, kScaledDepth);
    const Shape shape = of_rows ? Shape(across, along) : Shape(along, across);
    if (scale.shape != shape) {
      const int rank = scale.shape.rank();
      return error(Code::GemmShapeMismatch, "{} has rank {} and {} x {} factors, must be [{}, {}]",
                   what, rank, rank > 0 ? scale.shape[0] : 1, rank > 1 ? scale.shape[1] : 1,
                   shape[0], shape[1]);
    }
    out = VectorLayout{.dtype = DType::F32,
                       .stride = scale.strides[of_rows ? 0 : 1],
                       .is_blocked = true,
                       .extent = extent,
                       .k_stride = scale.strides[of_rows ? 1 : 0]};
    return {};
  }

  /// `along` is the one granularity besides PerTensor and those of blocks that this operand can
  /// have, with `count` factors.
  Status check_scale(const std::optional<Geometry>& scale, Granularity granularity,
                     Granularity along, std::int64_t count, const char* what,
                     std::optional<VectorLayout>& out) const noexcept {
    if (!scale) return {};
    const bool of_rows = along == Granularity::PerRow;
    if (scale->dtype != DType::F32) {
      return error(Code::GemmTypeMismatch, "{} is {}, must be f32", what, name(scale->dtype));
    }
    if (of_rows
            ? granularity == Granularity::PerRowBlock
            : granularity == Granularity::PerColumnBlock || granularity == Granularity::PerBlock) {
      return check_block_scale(*scale, granularity, what, out);
    }
    if (granularity != Granularity::PerTensor && granularity != along) {
      return error(Code::GemmEpilogueConflict, "{} must be PerTensor or {}", what,
                   of_rows ? "PerRow or PerRowBlock" : "PerColumn, PerColumnBlock or PerBlock");
    }
    const int rank = scale->shape.rank();
    const bool single = granularity == Granularity::PerTensor;
    const std::int64_t factors = rank == 0 ? 1 : scale->shape[0];
    if (rank > 1 || (rank == 0 && !single) || factors != (single ? 1 : count)) {
      return error(Code::GemmShapeMismatch, "{} has rank {} and {} factors, must be [{}]", what,
                   rank, factors, single ? 1 : count);
    }
    out = VectorLayout{.dtype = DType::F32, .stride = single ? 0 : scale->strides[0]};
    return {};
  }

  Status check_scales() noexcept {
    GIRIH_TRY(check_scale(spec.a_scale, spec.a_granularity, Granularity::PerRow, problem.m,
                          "a_scale", problem.a_scale));
    GIRIH_TRY(check_scale(spec.b_scale, spec.b_granularity, Granularity::PerColumn, problem.n,
                          "b_scale", problem.b_scale));
    if (problem.has_block_scales()) problem.precision = Precision::Exact;
    return {};
  }

  /// An 8-bit C has a factor of its own, and what is there has no value that could be added.
  Status check_quantised() noexcept {
    if (!is_quantised(spec.c.dtype)) {
      if (!spec.c_scale) return {};
      return error(Code::GemmEpilogueConflict, "c_scale is for a C of i8 or 8-bit floats, C is {}",
                   name(spec.c.dtype));
    }
    if (problem.reads_c()) {
      return error(Code::GemmEpilogueConflict, "beta is {}, must be 0: C is {}, which is not read",
                   spec.beta.on_device ? "a device scalar" : "not 0", name(spec.c.dtype));
    }
    if (spec.c_scale && spec.c_granularity != Granularity::PerTensor) {
      return error(Code::GemmEpilogueConflict, "c_scale must be PerTensor");
    }
    std::optional<VectorLayout> factor;
    GIRIH_TRY(check_scale(spec.c_scale, spec.c_granularity, Granularity::PerTensor, 1, "c_scale",
                          factor));
    problem.scales_c = factor.has_value();
    return {};
  }

  /// An i32 C is the raw sum, optionally added to what is there.
  Status check_integer_epilogue() noexcept {
    if (spec.c.dtype != DType::I32) return {};
    const auto refuse = [](const char* term) {
      return error(Code::GemmEpilogueConflict,
                   "an i32 C takes alpha 1, beta 0 or 1 and nothing else: {}", term);
    };
    if (spec.alpha.on_device || spec.alpha.value != 1) return refuse("alpha");
    if (spec.beta.on_device || (spec.beta.value != 0 && spec.beta.value != 1)) {
      return refuse("beta");
    }
    if (problem.bias) return refuse("bias");
    if (problem.residual) return refuse("residual");
    if (problem.a_scale || problem.b_scale) return refuse("scales");
    if (spec.activation != Activation::None) return refuse("activation");
    if (spec.gate) return refuse("gate");
    return {};
  }

  Result<GemmProblem> run() noexcept {
    GIRIH_TRY(check_ranks());
    GIRIH_TRY(check_sizes());
    GIRIH_TRY(check_extents());
    GIRIH_TRY(check_types());
    GIRIH_TRY(check_options());
    GIRIH_TRY(check_scalars());
    GIRIH_TRY(check_gate());
    GIRIH_TRY(check_bias());
    GIRIH_TRY(check_residual());
    GIRIH_TRY(check_scales());
    GIRIH_TRY(check_quantised());
    GIRIH_TRY(check_integer_epilogue());
    return problem;
  }
};

Result<GemmProblem> check(const GemmSpec& spec) noexcept {
  return GemmChecker(spec).run();
}

namespace {

/// A tensor of a descriptor with the name that errors give it; null where it is absent.
struct NamedTensor {
  const Tensor* tensor;
  const char* name;
};

/// Everything that a product reads besides C and the residual.
std::array<NamedTensor, 8> read_tensors(const GemmDesc& desc) noexcept {
  return {{{&desc.a.tensor(), "A"},
           {&desc.b.tensor(), "B"},
           {desc.epilogue.bias ? &*desc.epilogue.bias : nullptr, "bias"},
           {desc.a_scale ? &desc.a_scale->tensor : nullptr, "a_scale"},
           {desc.b_scale ? &desc.b_scale->tensor : nullptr, "b_scale"},
           {desc.alpha.on_device() ? &desc.alpha.tensor() : nullptr, "alpha"},
           {desc.beta.on_device() ? &desc.beta.tensor() : nullptr, "beta"},
           {desc.c_scale ? &desc.c_scale->tensor : nullptr, "c_scale"}}};
}

Status check_tensors(const GemmDesc& desc, const CheckContext& context) noexcept {
  for (const auto& [tensor, what] : read_tensors(desc)) {
    if (tensor != nullptr) GIRIH_TRY(check_tensor(*tensor, context, what));
  }
  GIRIH_TRY(check_tensor(desc.c.tensor(), context, "C"));
  if (desc.epilogue.residual) {
    GIRIH_TRY(check_tensor(*desc.epilogue.residual, context, "residual"));
  }
  for (const auto& [scalar, what] : {std::pair{&desc.alpha, "alpha"}, {&desc.beta, "beta"}}) {
    if (!scalar->on_device()) continue;
    const Tensor& tensor = scalar->tensor();
    if (tensor.dtype() == DType::F32 && tensor.size() == 1) continue;
    return error(Code::GemmTypeMismatch, "{} is {} elements of {}, must be one f32", what,
                 tensor.size(), name(tensor.dtype()));
  }
  return {};
}

}  // namespace

Status check_aliasing(const GemmDesc& desc) noexcept {
  const Tensor& c = desc.c.tensor();
  for (const auto& [tensor, what] : read_tensors(desc)) {
    if (tensor != nullptr && may_overlap(c, *tensor)) {
      return error(Code::GemmAliasing, "C overlaps {} in memory", what);
    }
  }
  const auto& residual = desc.epilogue.residual;
  if (residual && !same_view(c, *residual) && may_overlap(c, *residual)) {
    return error(Code::GemmAliasing, "C overlaps residual without being the same view");
  }
  if (!desc.workspace) return {};
  for (const auto& [tensor, what] : read_tensors(desc)) {
    if (tensor != nullptr && may_overlap(*desc.workspace, *tensor)) {
      return error(Code::GemmAliasing, "workspace overlaps {} in memory", what);
    }
  }
  if (may_overlap(*desc.workspace, c) || (residual && may_overlap(*desc.workspace, *residual))) {
    return error(Code::GemmAliasing, "workspace overlaps C or residual in memory");
  }
  return {};
}

Status check_memory(const GemmDesc& desc, const CheckContext& context) noexcept {
  GIRIH_TRY(check_tensors(desc, context));
  return desc.workspace ? check_workspace(*desc.workspace, context) : Status{};
}

GemmSpec spec_of(const GemmDesc& desc, const CheckContext& context) noexcept {
  const auto geometry = [](const std::optional<Tensor>& tensor) -> std::optional<Geometry> {
    if (!tensor) return std::nullopt;
    return TensorAccess::geometry(*tensor);
  };
  const auto scalar = [](const ScalarArg<float>& argument) -> ScalarTerm {
    return {.on_device = argument.on_device(), .value = argument.value()};
  };
  GemmSpec spec{.a = TensorAccess::geometry(desc.a.tensor()),
                .b = TensorAccess::geometry(desc.b.tensor()),
                .c = TensorAccess::geometry(desc.c.tensor()),
                .bias = geometry(desc.epilogue.bias),
                .residual = geometry(desc.epilogue.residual),
                .alpha = scalar(desc.alpha),
                .beta = scalar(desc.beta),
                .activation = desc.epilogue.activation,
                .gate = desc.epilogue.gate,
                .precision = desc.precision,
                .path = desc.path,
                .reproducibility = desc.reproducibility.value_or(context.reproducibility)};
  if (desc.a_scale) {
    spec.a_scale = TensorAccess::geometry(desc.a_scale->tensor);
    spec.a_granularity = desc.a_scale->granularity;
  }
  if (desc.b_scale) {
    spec.b_scale = TensorAccess::geometry(desc.b_scale->tensor);
    spec.b_granularity = desc.b_scale->granularity;
  }
  if (desc.c_scale) {
    spec.c_scale = TensorAccess::geometry(desc.c_scale->tensor);
    spec.c_granularity = desc.c_scale->granularity;
  }
  if (desc.workspace) {
    spec.workspace_bytes = workspace_size(*desc.workspace);
  }
  return spec;
}

void lower_alignments(const GemmDesc& desc, GemmProblem& problem) noexcept {
  const auto lower = [](const Tensor& tensor, MatrixLayout& layout) {
    layout.alignment = std::min(layout.alignment, storage_alignment(tensor));
  };
  lower(desc.a.tensor(), problem.a);
  lower(desc.b.tensor(), problem.b);
  lower(desc.c.tensor(), problem.c);
  if (problem.residual) lower(*desc.epilogue.residual, *problem.residual);
}

Result<GemmProblem> check(const GemmDesc& desc, const CheckContext& context) noexcept {
  GIRIH_TRY(check_memory(desc, context));
  Result<GemmProblem> problem = check(spec_of(desc, context));
  if (!problem) return problem;
  GIRIH_TRY(check_aliasing(desc));
  lower_alignments(desc, *problem);
  return problem;
}

GemmOperands bind(const GemmDesc& desc) noexcept {
  const auto address = [](const Tensor* tensor) -> std::byte* {
    return tensor != nullptr ? TensorAccess::address(*tensor) : nullptr;
  };
  const auto factors = [&](const Tensor* tensor) {
    return reinterpret_cast<const float*>(address(tensor));
  };
  const auto tensors = read_tensors(desc);
  return {.a = address(tensors[0].tensor),
          .b = address(tensors[1].tensor),
          .c = address(&desc.c.tensor()),
          .bias = address(tensors[2].tensor),
          .residual = address(desc.epilogue.residual ? &*desc.epilogue.residual : nullptr),
          .a_scale = factors(tensors[3].tensor),
          .b_scale = factors(tensors[4].tensor),
          .c_scale = factors(tensors[7].tensor),
          .alpha = factors(tensors[5].tensor),
          .beta = factors(tensors[6].tensor),
          .workspace = address(desc.workspace ? &*desc.workspace : nullptr)};
}

std::array<const Tensor*, 11> tensors_of(const GemmDesc& desc) noexcept {
  std::array<const Tensor*, 11> result{};
  std::size_t count = 0;
  for (const NamedTensor& read : read_tensors(desc)) result[count++] = read.tensor;
  result[count++] = &desc.c.tensor();
  result[count++] = desc.epilogue.residual ? &*desc.epilogue.residual : nullptr;
  result[count++] = desc.workspace ? &*desc.workspace : nullptr;
  return result;
}

std::string_view name(Activation activation) noexcept {
  switch (activation) {
    case Activation::None:
      return "none";
    case Activation::Relu:
      return "relu";
    case Activation::GeluTanh:
      return "gelu_tanh";
    case Activation::Silu:
      return "silu";
  }
  return "unknown_activation";
}

std::string_view name(GateOrder order) noexcept {
  switch (order) {
    case GateOrder::Concatenated:
      return "concatenated";
    case GateOrder::Interleaved:
      return "interleaved";
  }
  return "unknown_gate_order";
}

std::string_view name(Precision precision) noexcept {
  switch (precision) {
    case Precision::Exact:
      return "exact";
    case Precision::Fast:
      return "fast";
    case Precision::Tf32:
      return "tf32";
  }
  return "unknown_precision";
}

std::string_view name(Path path) noexcept {
  switch (path) {
    case Path::Auto:
      return "auto";
    case Path::Matrix:
      return "matrix";
    case Path::Portable:
      return "portable";
  }
  return "unknown_path";
}

}  // namespace girih::inline v0
