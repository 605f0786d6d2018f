#include "ops/grouped.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "core/storage.hpp"

namespace girih::inline v0 {

using detail::TensorAccess;

namespace {

/// `view` without its outermost dimension.
Geometry inner(const Geometry& view) noexcept {
  Geometry result = view;
  const int rank = view.shape.rank();
  result.shape = Shape::of({view.shape.begin() + 1, static_cast<std::size_t>(rank - 1)});
  result.strides = {};
  std::copy(view.strides.begin() + 1, view.strides.begin() + rank, result.strides.begin());
  return result;
}

/// The type's whole bytes that `elements` take; every operand of a product has such a type.
std::int64_t byte_count(DType type, std::int64_t elements) noexcept {
  return elements * (bit_width(type) / 8);
}

/// What the address `bytes` further on is a multiple of.
std::int64_t alignment_after(std::int64_t alignment, std::int64_t bytes) noexcept {
  return bytes == 0 ? alignment : std::min(alignment, bytes & -bytes);
}

}  // namespace

std::string_view name(GroupedExtent extent) noexcept {
  return extent == GroupedExtent::Rows ? "rows" : "depth";
}

double GroupedGemmProblem::flops() const noexcept {
  return groups() == 0 ? 0 : product.flops() / static_cast<double>(groups());
}

double GroupedGemmProblem::bytes() const noexcept {
  if (extent == GroupedExtent::Depth) return product.bytes();
  GemmProblem once = product;
  once.batch = std::min<std::int64_t>(groups(), 1);
  const auto others = static_cast<double>(groups() - once.batch);
  const double weights = static_cast<double>(product.k) * static_cast<double>(product.n) *
                         (bit_width(product.b.dtype) / 8.0);
  const bool has_own = product.b.batch_stride != 0 && !product.skips_product();
  return once.bytes() + (has_own ? others * weights : 0);
}

GemmProblem GroupedGemmProblem::group_of(std::int64_t rows) const noexcept {
  GemmProblem group = product;
  group.batch = 1;
  (extent == GroupedExtent::Rows ? group.m : group.k) = rows;
  return group;
}

/// The rules that groups add to those of one product.
struct GroupedGemmChecker {
  const GroupedGemmSpec& spec;
  GemmSpec one;  ///< the product of one group that has all rows
  GroupedExtent extent = GroupedExtent::Rows;
  std::int64_t groups = 0;

  explicit GroupedGemmChecker(const GroupedGemmSpec& checked) noexcept
      : spec(checked), one(checked.product) {}

  Status check_ranks() noexcept {
    const int a = one.a.shape.rank(), b = one.b.shape.rank(), c = one.c.shape.rank();
    if (a == 2 && b == 3 && c == 2) {
      extent = GroupedExtent::Rows;
    } else if (a == 2 && b == 2 && c == 3) {
      extent = GroupedExtent::Depth;
    } else {
      return error(Code::GemmShapeMismatch,
                   "A, B and C have ranks {}, {} and {}, must be 2, 3 and 2 where rows are grouped "
                   "or 2, 2 and 3 where the depth is",
                   a, b, c);
    }
    Geometry& grouped = extent == GroupedExtent::Rows ? one.b : one.c;
    const Result<std::int64_t> size =
        checked_size(grouped.shape, extent == GroupedExtent::Rows ? "B" : "C");
    if (!size) return size.error();
    groups = grouped.shape[0];
    if (extent == GroupedExtent::Rows) one.b = inner(one.b);
    return {};
  }

  Status check_offsets() const noexcept {
    const Geometry& offsets = spec.offsets;
    if (offsets.dtype != DType::I32) {
      return error(Code::GemmTypeMismatch, "offsets are {}, must be i32", name(offsets.dtype));
    }
    if (offsets.shape.rank() != 1 || offsets.shape[0] - 1 != groups) {
      return error(Code::GemmShapeMismatch,
                   "offsets have rank {} and {} elements, must be one more than the {} groups",
                   offsets.shape.rank(), offsets.shape.rank() > 0 ? offsets.shape[0] : 1, groups);
    }
    return {};
  }

  Status check_leading(const Geometry& view, const char* what) const noexcept {
    if (view.shape[0] == groups) return {};
    return error(Code::GemmShapeMismatch, "{} has a leading extent of {}, there are {} groups",
                 what, view.shape[0], groups);
  }

  /// Takes the groups' extent off a bias, if it has one; gives its stride. Where the depth is
  /// grouped the rules of a batch, C's, do that.
  Result<std::int64_t> take_bias() noexcept {
    if (extent == GroupedExtent::Depth || !one.bias || one.bias->shape.rank() != 2) return 0;
    GIRIH_TRY(check_leading(*one.bias, "bias"));
    const std::int64_t stride = one.bias->strides[0];
    one.bias = inner(*one.bias);
    return stride;
  }

  /// The same of a scale: [groups] `PerTensor`, else [groups, factors].
  Result<std::int64_t> take_scale(std::optional<Geometry>& scale, Granularity granularity,
                                  const char* what) const noexcept {
    if (!scale) return 0;
    if (granularity > Granularity::PerColumn && granularity <= Granularity::PerBlock) {
      return error(Code::GemmEpilogueConflict, "{}: grouped products take no factors of blocks",
                   what);
    }
    const int rank = scale->shape.rank();
    const bool is_single = granularity == Granularity::PerTensor;
    if (rank != (is_single ? 1 : 2) || (is_single && scale->shape[0] == 1)) return 0;
    // The rows' own factors have no group: the offsets tell whose they are.
    if (!is_single && extent == GroupedExtent::Rows && &scale == &one.a_scale) return 0;
    GIRIH_TRY(check_leading(*scale, what));
    const std::int64_t stride = scale->strides[0];
    scale = inner(*scale);
    return stride;
  }

  Result<GroupedGemmProblem> run() noexcept {
    GIRIH_TRY(check_ranks());
    GIRIH_TRY(check_offsets());
    const Result<std::int64_t> bias = take_bias();
    if (!bias) return bias.error();
    const Result<std::int64_t> a_scale = take_scale(one.a_scale, one.a_granularity, "a_scale");
    if (!a_scale) return a_scale.error();
    const Result<std::int64_t> b_scale = take_scale(one.b_scale, one.b_granularity, "b_scale");
    if (!b_scale) return b_scale.error();
    if (is_quantised(one.c.dtype)) {
      return error(Code::GemmTypeMismatch, "C is {}: a grouped product gives f32, bf16 or f16{}",
                   name(one.c.dtype), one.a.dtype == DType::I8 ? ", or i32" : "");
    }
    const Result<GemmProblem> checked = check(one);
    if (!checked) return checked.error();
    GroupedGemmProblem problem(*checked);
    problem.extent = extent;
    problem.offset_stride = spec.offsets.strides[0];
    GemmProblem& product = problem.product;
    if (problem.rows() > std::numeric_limits<std::int32_t>::max()) {
      return error(Code::GemmShapeMismatch, "{} rows: i32 offsets count to 2^31 - 1",
                   problem.rows());
    }
    if (extent == GroupedExtent::Rows) {
      product.batch = groups;
      product.b.batch_stride = spec.product.b.strides[0];
      if (product.bias) product.bias->batch_stride = *bias;
    }
    if (product.a_scale) product.a_scale->batch_stride = *a_scale;
    if (product.b_scale) product.b_scale->batch_stride = *b_scale;
    return problem;
  }
};

Result<GroupedGemmProblem> check(const GroupedGemmSpec& spec) noexcept {
  return GroupedGemmChecker(spec).run();
}

Result<GroupedGemmProblem> check(const GroupedGemmDesc& desc,
                                 const CheckContext& context) noexcept {
  const GemmDesc product = product_of(desc);
  const Tensor& offsets = desc.offsets.tensor();
  GIRIH_TRY(check_memory(product, context));
  GIRIH_TRY(check_tensor(offsets, context, "offsets"));
  Result<GroupedGemmProblem> problem =
      check(GroupedGemmSpec{spec_of(product, context), TensorAccess::geometry(offsets)});
  if (!problem) return problem;
  GIRIH_TRY(check_aliasing(product));
  if (may_overlap(product.c.tensor(), offsets)) {
    return error(Code::GemmAliasing, "C overlaps offsets in memory");
  }
  if (product.workspace && may_overlap(*product.workspace, offsets)) {
    return error(Code::GemmAliasing, "workspace overlaps offsets in memory");
  }
  lower_alignments(product, problem->product);
  return problem;
}

GroupedGemmOperands bind(const GroupedGemmDesc& desc) noexcept {
  return {.product = bind(product_of(desc)),
          .offsets =
              reinterpret_cast<const std::int32_t*>(TensorAccess::address(desc.offsets.tensor()))};
}

std::array<const Tensor*, 11> tensors_of(const GroupedGemmDesc& desc) noexcept {
  const auto present = [](const auto& optional) { return optional ? &*optional : nullptr; };
  return {&desc.a.tensor(),
          &desc.b.tensor(),
          &desc.c.tensor(),
          &desc.offsets.tensor(),
          desc.alpha.on_device() ? &desc.alpha.tensor() : nullptr,
          desc.beta.on_device() ? &desc.beta.tensor() : nullptr,
          desc.a_scale ? &desc.a_scale->tensor : nullptr,
          desc.b_scale ? &desc.b_scale->tensor : nullptr,
          present(desc.epilogue.bias),
          present(desc.epilogue.residual),
          present(desc.workspace)};
}

GemmDesc product_of(const GroupedGemmDesc& desc) noexcept {
  return {.a = desc.a,
          .b = desc.b,
          .c = desc.c,
          .alpha = desc.alpha,
          .beta = desc.beta,
          .a_scale = desc.a_scale,
          .b_scale = desc.b_scale,
          .epilogue = desc.epilogue,
          .precision = desc.precision,
          .path = desc.path,
          .reproducibility = desc.reproducibility,
          .workspace = desc.workspace};
}

GroupedGemmDesc grouped_desc(const GemmDesc& product, const Tensor& offsets) noexcept {
  return {.a = product.a,
          .b = product.b,
          .c = product.c,
          .offsets = offsets,
          .alpha = product.alpha,
          .beta = product.beta,
          .a_scale = product.a_scale,
          .b_scale = product.b_scale,
          .epilogue = product.epilogue,
          .precision = product.precision,
          .path = product.path,
          .reproducibility = product.reproducibility,
          .workspace = product.workspace};
}

GroupRows rows_of_group(const GroupedGemmProblem& problem, const std::int32_t* offsets,
                        std::int64_t group) noexcept {
  const std::int32_t* const begin = offsets + group * problem.offset_stride;
  return {*begin, begin[problem.offset_stride]};
}

Error bad_offset(std::int64_t index, std::int64_t offset, std::int64_t before,
                 std::int64_t rows) noexcept {
  if (offset < 0) return error(Code::GroupedOffsets, "offset {} is {}", index, offset);
  if (offset < before) {
    return error(Code::GroupedOffsets, "offset {} is {}, the one before it {}", index, offset,
                 before);
  }
  return error(Code::GroupedOffsets, "offset {} is {}, there are {} rows", index, offset, rows);
}

Status check_offsets(const GroupedGemmProblem& problem, const std::int32_t* offsets) noexcept {
  std::int64_t last = 0;
  for (std::int64_t i = 0; i <= problem.groups(); ++i) {
    const std::int64_t offset = offsets[i * problem.offset_stride];
    if (offset < last || offset > problem.rows()) {
      return bad_offset(i, offset, last, problem.rows());
    }
    last = offset;
  }
  return {};
}

GroupProduct product_of_group(const GroupedGemmProblem& problem, const GemmOperands& operands,
                              std::int64_t group, GroupRows rows) noexcept {
  GroupProduct result{problem.group_of(rows.size()), operands};
  GemmProblem& product = result.problem;
  const bool by_rows = problem.extent == GroupedExtent::Rows;
  const auto move_matrix = [&](auto*& data, MatrixLayout& layout, std::int64_t row_stride) {
    const std::int64_t bytes =
        byte_count(layout.dtype, group * layout.batch_stride + rows.begin * row_stride);
    data += bytes;
    layout.alignment = alignment_after(layout.alignment, bytes);
    layout.batch_stride = 0;
  };
  // Where each operand's rows of the offsets lie: A's and C's along M, or A's and B's along K.
  move_matrix(result.operands.a, product.a,
              by_rows ? product.a.row_stride : product.a.column_stride);
  move_matrix(result.operands.b, product.b, by_rows ? 0 : product.b.row_stride);
  move_matrix(result.operands.c, product.c, by_rows ? product.c.row_stride : 0);
  if (product.residual) {
    move_matrix(result.operands.residual, *product.residual,
                by_rows ? product.residual->row_stride : 0);
  }
  if (product.bias) {
    VectorLayout& bias = *product.bias;
    result.operands.bias += byte_count(bias.dtype, group * bias.batch_stride);
    bias.batch_stride = 0;
  }
  if (product.a_scale) {
    VectorLayout& scale = *product.a_scale;
    result.operands.a_scale +=
        group * scale.batch_stride + (by_rows ? rows.begin * scale.stride : 0);
    scale.batch_stride = 0;
  }
  if (product.b_scale) {
    result.operands.b_scale += group * product.b_scale->batch_stride;
    product.b_scale->batch_stride = 0;
  }
  return result;
}

}  // namespace girih::inline v0
