#include "ops/routing.hpp"

#include <cmath>
#include <limits>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/storage.hpp"
#include "ops/routing_rules.hpp"

namespace girih::inline v0 {

using detail::TensorAccess;

std::string_view name(RouterWeights weights) noexcept {
  switch (weights) {
    case RouterWeights::SoftmaxOfChosen:
      return "softmax_of_chosen";
    case RouterWeights::SoftmaxOfAll:
      return "softmax_of_all";
    case RouterWeights::Sigmoid:
      return "sigmoid";
    case RouterWeights::SigmoidOfChosen:
      return "sigmoid_of_chosen";
  }
  return "unknown_router_weights";
}

RowsLayout rows_layout(const Tensor& tensor) noexcept {
  const Strides& strides = tensor.strides();
  return {tensor.dtype(), strides[0], tensor.rank() > 1 ? strides[1] : 0};
}

double RouteProblem::bytes() const noexcept {
  constexpr double kBytesOfPair = 4 * 4;  // chosen, weight, row, source
  const auto pairs = static_cast<double>(tokens) * static_cast<double>(k);
  return static_cast<double>(tokens) * static_cast<double>(experts) *
             (bit_width(logits.dtype) / 8.0) +
         pairs * kBytesOfPair + 4.0 * static_cast<double>(experts + 1);
}

/// The rules of `RouteDesc`.
struct RouteChecker {
  const RouteDesc& desc;
  const std::array<NamedTensor, 6> written;
  const NamedTensor logits;

  explicit RouteChecker(const RouteDesc& checked) noexcept
      : desc(checked),
        written{{{&checked.chosen.tensor(), "chosen"},
                 {&checked.weights.tensor(), "weights"},
                 {&checked.offsets.tensor(), "offsets"},
                 {&checked.rows.tensor(), "rows"},
                 {&checked.sources.tensor(), "sources"},
                 {checked.workspace ? &*checked.workspace : nullptr, "workspace"}}},
        logits{&checked.logits.tensor(), "logits"} {}

  Status check_types() const noexcept {
    GIRIH_TRY(check_type(logits, {DType::F32, DType::BF16, DType::F16}));
    for (const NamedTensor& x : std::span(written).first(5)) {
      GIRIH_TRY(check_type(x, {x.name == "weights" ? DType::F32 : DType::I32}));
    }
    return {};
  }

  Status check_shapes() const noexcept {
    GIRIH_TRY(check_rank(logits, 2));
    GIRIH_TRY(check_rank(written[0], 2));
    const std::int64_t tokens = logits.tensor->extent(0), experts = logits.tensor->extent(1);
    const std::int64_t k = desc.chosen.tensor().extent(1);
    if (k < 1 || k > experts) {
      return error(Code::RoutingShapeMismatch, "chosen has k = {} columns, must be 1 to {} experts",
                   k, experts);
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const std::optional<std::int64_t> pairs = checked_mul(tokens, k);
    if (!pairs || *pairs > kMost || experts > kMost) {
      return error(Code::RoutingShapeMismatch,
                   "{} tokens with {} of {} experts each: i32 counts to 2^31 - 1", tokens, k,
                   experts);
    }
    for (const std::size_t i : {0U, 1U, 3U}) GIRIH_TRY(check_shape(written[i], {tokens, k}));
    GIRIH_TRY(check_shape(written[2], {experts + 1}));
    return check_shape(written[4], {*pairs});
  }

  Result<RouteProblem> run(const CheckContext& context) const noexcept {
    GIRIH_TRY(check_tensors(std::span(written).first(5), {&logits, 1}, context));
    if (desc.workspace) GIRIH_TRY(check_workspace(*desc.workspace, context));
    GIRIH_TRY(check_enumerator(desc.kind, RouterWeights::SigmoidOfChosen, "kind"));
    if (!std::isfinite(desc.scale)) {
      return error(Code::InvalidOption, "scale is {}, must be finite", desc.scale);
    }
    GIRIH_TRY(check_types());
    GIRIH_TRY(check_shapes());
    GIRIH_TRY(check_apart(written, {&logits, 1}));
    RouteProblem problem;
    problem.tokens = logits.tensor->extent(0);
    problem.experts = logits.tensor->extent(1);
    problem.k = desc.chosen.tensor().extent(1);
    problem.logits = rows_layout(*logits.tensor);
    problem.chosen = rows_layout(*written[0].tensor);
    problem.weights = rows_layout(*written[1].tensor);
    problem.offsets = rows_layout(*written[2].tensor);
    problem.rows = rows_layout(*written[3].tensor);
    problem.sources = rows_layout(*written[4].tensor);
    problem.kind = desc.kind;
    problem.scale = desc.scale;
    if (desc.workspace) problem.workspace_bytes = workspace_size(*desc.workspace);
    return problem;
  }
};

Result<RouteProblem> check(const RouteDesc& desc, const CheckContext& context) noexcept {
  return RouteChecker(desc).run(context);
}

RouteOperands bind(const RouteDesc& desc) noexcept {
  const auto indices = [](const Output& output) {
    return reinterpret_cast<std::int32_t*>(TensorAccess::address(output.tensor()));
  };
  return {.logits = TensorAccess::address(desc.logits.tensor()),
          .chosen = indices(desc.chosen),
          .weights = reinterpret_cast<float*>(TensorAccess::address(desc.weights.tensor())),
          .offsets = indices(desc.offsets),
          .rows = indices(desc.rows),
          .sources = indices(desc.sources),
          .workspace = desc.workspace ? TensorAccess::address(*desc.workspace) : nullptr};
}

std::array<const Tensor*, 7> tensors_of(const RouteDesc& desc) noexcept {
  return {&desc.logits.tensor(),
          &desc.chosen.tensor(),
          &desc.weights.tensor(),
          &desc.offsets.tensor(),
          &desc.rows.tensor(),
          &desc.sources.tensor(),
          desc.workspace ? &*desc.workspace : nullptr};
}

}  // namespace girih::inline v0
