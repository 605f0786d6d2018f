#include "core/geometry.hpp"
#include "core/storage.hpp"
#include "ops/call_line.hpp"
#include "ops/grouped.hpp"

namespace girih::inline v0 {

using detail::TensorAccess;

namespace {

std::optional<ViewLine> view_of(const Tensor& tensor) noexcept {
  if (!tensor) return std::nullopt;
  const auto address = reinterpret_cast<std::uintptr_t>(TensorAccess::address(tensor));
  return ViewLine{.dtype = tensor.dtype(),
                  .shape = tensor.shape(),
                  .strides = tensor.strides(),
                  .alignment = static_cast<int>(address % 64)};
}

}  // namespace

CallLine describe_call(const GemmDesc& desc, const CheckContext& context) noexcept {
  const auto scalar = [](const ScalarArg<float>& argument) -> ScalarLine {
    return {.on_device = argument.on_device(),
            .value = argument.on_device() ? 0 : argument.value()};
  };
  CallLine line{.op = Op::Gemm,
                .a = view_of(desc.a.tensor()),
                .b = view_of(desc.b.tensor()),
                .c = view_of(desc.c.tensor()),
                .alpha = scalar(desc.alpha),
                .beta = scalar(desc.beta),
                .activation = desc.epilogue.activation,
                .gate = desc.epilogue.gate,
                .precision = desc.precision,
                .path = desc.path,
                .reproducibility = desc.reproducibility.value_or(context.reproducibility)};
  if (desc.a_scale) {
    line.a_scale = view_of(desc.a_scale->tensor);
    line.a_granularity = desc.a_scale->granularity;
  }
  if (desc.b_scale) {
    line.b_scale = view_of(desc.b_scale->tensor);
    line.b_granularity = desc.b_scale->granularity;
  }
  if (desc.c_scale) {
    line.c_scale = view_of(desc.c_scale->tensor);
    line.c_granularity = desc.c_scale->granularity;
  }
  if (desc.epilogue.bias) line.bias = view_of(*desc.epilogue.bias);
  if (desc.epilogue.residual) {
    const Tensor& residual = *desc.epilogue.residual;
    line.residual_is_c = residual && desc.c.tensor() && same_view(residual, desc.c.tensor());
    if (!line.residual_is_c) line.residual = view_of(residual);
  }
  if (desc.workspace) line.workspace = view_of(*desc.workspace);
  return line;
}

CallLine describe_call(const GroupedGemmDesc& desc, const CheckContext& context) noexcept {
  CallLine line = describe_call(product_of(desc), context);
  line.op = Op::GroupedGemm;
  line.offsets = view_of(desc.offsets.tensor());
  return line;
}

CallLine describe_call(const RouteDesc& desc, const CheckContext&) noexcept {
  CallLine line{.op = Op::Route,
                .offsets = view_of(desc.offsets.tensor()),
                .logits = view_of(desc.logits.tensor()),
                .chosen = view_of(desc.chosen.tensor()),
                .weights = view_of(desc.weights.tensor()),
                .rows = view_of(desc.rows.tensor()),
                .sources = view_of(desc.sources.tensor()),
                .router_weights = desc.kind,
                .scale = desc.scale};
  if (desc.workspace) line.workspace = view_of(*desc.workspace);
  return line;
}

CallLine describe_call(const PermuteDesc& desc, const CheckContext&) noexcept {
  return {.op = Op::Permute,
          .x = view_of(desc.x.tensor()),
          .y = view_of(desc.y.tensor()),
          .sources = view_of(desc.sources.tensor())};
}

CallLine describe_call(const UnpermuteDesc& desc, const CheckContext&) noexcept {
  CallLine line{.op = Op::Unpermute,
                .x = view_of(desc.x.tensor()),
                .y = view_of(desc.y.tensor()),
                .rows = view_of(desc.rows.tensor())};
  if (desc.weights) line.weights = view_of(*desc.weights);
  return line;
}

CallLine describe_call(const CopyDesc& desc, const CheckContext&) noexcept {
  return {.op = Op::Copy,
          .source = view_of(desc.source.tensor()),
          .destination = view_of(desc.destination.tensor())};
}

CallLine describe_call(const CastDesc& desc, const CheckContext&) noexcept {
  return {.op = Op::Cast,
          .source = view_of(desc.source.tensor()),
          .destination = view_of(desc.destination.tensor())};
}

CallLine describe_call(const FillDesc& desc, const CheckContext&) noexcept {
  return {.op = Op::Fill, .destination = view_of(desc.destination.tensor()), .value = desc.value};
}

}  // namespace girih::inline v0
