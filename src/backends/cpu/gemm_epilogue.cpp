#include "backends/cpu/gemm_epilogue.hpp"

#include "core/quantise.hpp"

namespace girih::inline v0::cpu {
namespace {

Function function_of(Activation activation) noexcept {
  switch (activation) {
    case Activation::None:
      break;
    case Activation::Relu:
      return Function::Relu;
    case Activation::GeluTanh:
      return Function::GeluTanh;
    case Activation::Silu:
      return Function::Silu;
  }
  return Function::None;
}

template <auto kRound>
void quantise_row(const float* row, float scale, std::int64_t count, std::int64_t stride,
                  void* destination) noexcept {
  auto* const bytes = static_cast<std::uint8_t*>(destination);
  for (std::int64_t j = 0; j < count; ++j) {
    bytes[j * stride] = static_cast<std::uint8_t>(kRound(row[j] * scale));
  }
}

QuantiseRow quantise_of(DType c) noexcept {
  switch (c) {
    case DType::I8:
      return quantise_row<quantise_i8>;
    case DType::F8E4M3:
      return quantise_row<quantise_float<kF8E4M3>>;
    case DType::F8E5M2:
      return quantise_row<quantise_float<kF8E5M2>>;
    default:
      return nullptr;
  }
}

}  // namespace

Element element_of(DType type) noexcept {
  switch (type) {
    case DType::BF16:
      return Element::BF16;
    case DType::F16:
      return Element::F16;
    case DType::I8:
      return Element::I8;
    case DType::I32:
      return Element::I32;
    case DType::F8E4M3:
      return Element::F8E4M3;
    case DType::F8E5M2:
      return Element::F8E5M2;
    default:
      return Element::F32;
  }
}

ColumnMap column_map(const GemmProblem& problem) noexcept {
  if (!problem.gate) return {};
  const bool alternate = problem.gate->order == GateOrder::Interleaved;
  return {.halves = 2, .half = alternate ? 1 : problem.c_columns(), .step = alternate ? 2 : 1};
}

Epilogue epilogue_of(const GemmCall& call, std::int64_t index) noexcept {
  const GemmProblem& problem = call.problem;
  const GemmOperands& operands = call.operands;
  Epilogue e;
  // The one place where the output's address loses its const: `advance` serves read operands too.
  e.c =
      const_cast<std::byte*>(advance(operands.c, problem.c.dtype, index * problem.c.batch_stride));
  e.c_type = element_of(problem.c.dtype);
  e.c_row_stride = problem.c.row_stride;
  e.c_column_stride = problem.c.column_stride;
  e.quantise = quantise_of(problem.c.dtype);
  if (problem.scales_c) e.c_scale = *operands.c_scale;
  e.alpha = problem.alpha.on_device ? *operands.alpha : problem.alpha.value;
  e.beta = problem.beta.on_device ? *operands.beta : problem.beta.value;
  e.reads_c = problem.reads_c();
  e.integer_sum = problem.a.dtype == DType::I8;
  e.function = function_of(problem.gate ? problem.gate->activation : problem.activation);
  const ColumnMap columns = column_map(problem);
  if (problem.gate) {
    e.gates = true;
    e.gate_alpha = problem.gate->alpha;
    e.gate_limit = problem.gate->limit;
    e.up_offset = problem.gate->up_offset;
  }
  // The sum of no products is 0, whatever its factors.
  const bool has_product = !problem.skips_product();
  e.scales = has_product && (problem.alpha.on_device || problem.alpha.value != 1 ||
                             problem.a_scale || problem.b_scale);
  if (has_product && problem.a_scale) {
    e.a_scale = operands.a_scale + index * problem.a_scale->batch_stride;
    e.a_scale_stride = problem.a_scale->stride;
  }
  if (has_product && problem.b_scale) {
    e.b_scale = operands.b_scale + index * problem.b_scale->batch_stride;
    e.up_b_scale = e.b_scale + columns.half * problem.b_scale->stride;
    e.b_scale_stride = columns.step * problem.b_scale->stride;
  }
  if (problem.bias) {
    const VectorLayout& bias = *problem.bias;
    e.bias = {.data = advance(operands.bias, bias.dtype, index * bias.batch_stride),
              .type = element_of(bias.dtype),
              .column_stride = columns.step * bias.stride};
    e.up_bias = e.bias;
    e.up_bias.data =
        advance(static_cast<const std::byte*>(e.bias.data), bias.dtype, columns.half * bias.stride);
  }
  if (problem.residual) {
    const MatrixLayout& residual = *problem.residual;
    e.residual = {.data = advance(operands.residual, residual.dtype, index * residual.batch_stride),
                  .type = element_of(residual.dtype),
                  .row_stride = residual.row_stride,
                  .column_stride = residual.column_stride};
  }
  return e;
}

}  // namespace girih::inline v0::cpu
