#include "girih/product.hpp"

#include "core/error.hpp"

namespace girih::cli {
namespace {

/// [M, N], or [batch, M, N] if an operand has a batch.
Shape product_shape(const Shape& a, const Shape& b) {
  if (a.rank() < 2 || b.rank() < 2) return {0, 0};
  const std::int64_t m = a[a.rank() - 2];
  const std::int64_t n = b[b.rank() - 1];
  if (a.rank() == 2 && b.rank() == 2) return {m, n};
  return {a.rank() > 2 ? a[0] : b[0], m, n};
}

Shape with_half_the_columns(const Shape& product) {
  const std::int64_t columns = product[product.rank() - 1] / 2;
  if (product.rank() == 2) return {product[0], columns};
  return {product[0], product[1], columns};
}

}  // namespace

Result<DType> operand_type(DType stored, std::optional<DType> in_dtype, std::string_view what) {
  if (in_dtype) return *in_dtype;
  if (stored != DType::F64) return stored;
  return error(Code::GemmNoKernel,
               "{} holds f64, which no product takes; --in-dtype f32 would round it", what);
}

GemmSpec make_spec(const ArrayInfo& a, const ArrayInfo& b, const ProductOptions& options) {
  GemmSpec spec;
  spec.a = {a.dtype, a.shape, a.strides, 0};
  spec.b = {b.dtype, b.shape, b.strides, 0};
  spec.gate = gate_of(options);
  Shape shape = product_shape(a.shape, b.shape);
  if (spec.gate) shape = with_half_the_columns(shape);
  const DType output = default_output(a.dtype, spec.gate.has_value());
  spec.c = {options.out_dtype.value_or(output), shape, contiguous_strides(shape), 0};
  if (options.c_scale) spec.c_scale = Geometry{DType::F32, {1}, {1}, 0};
  spec.precision = options.precision;
  spec.path = options.path;
  return spec;
}

}  // namespace girih::cli
