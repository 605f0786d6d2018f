#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <girih/export.hpp>
#include <girih/operand.hpp>
#include <girih/plan.hpp>
#include <girih/runtime.hpp>

namespace girih::inline v0 {

/// The weight of an expert that a token chose, of logit l. Softmax weights that are renormalised
/// over the chosen experts are `SoftmaxOfChosen`: the sum over all cancels.
enum class RouterWeights : std::uint8_t {
  SoftmaxOfChosen,  ///< exp(l) / sum of exp over the chosen (Mixtral, Qwen3-MoE)
  SoftmaxOfAll,     ///< exp(l) / sum of exp over all experts (DeepSeek-V2, OLMoE)
  Sigmoid,          ///< 1 / (1 + exp(-l)) (Llama 4)
  SigmoidOfChosen,  ///< that / its sum over the chosen (DeepSeek-V3)
};
GIRIH_API std::string_view name(RouterWeights weights) noexcept;

/// Chooses for each token the k experts of the largest logits, weighs them, and sorts the pairs of
/// a token and a slot by expert, those of one expert by token:
///
///   chosen[t, s]   the expert of the s-th largest logit of token t
///   weights[t, s]  scale * its weight
///   offsets[e]     number of pairs whose expert is below e: what `grouped_gemm` takes
///   rows[t, s]     place of the pair (t, s) in that order: what `unpermute` takes
///   sources[r]     token of the pair at place r: what `permute` takes
///
/// Shapes: logits [tokens, experts]; chosen, weights and rows [tokens, k]; offsets [experts + 1];
/// sources [tokens * k]. 1 <= k <= experts, and tokens * k <= 2^31 - 1. Any strides; those of the
/// outputs may not let two elements share memory. Without tokens the offsets, all 0, are written.
///
/// Types: logits f32, bf16 or f16; weights f32; the others i32.
///
/// Order: logits are compared as numbers; of equal ones the lower expert comes first. A NaN counts
/// as larger than any number, so that it is chosen and shows in the weights: a token with a NaN
/// logit has NaN weights (`Sigmoid`: in that slot only). So has one whose quotients are inf / inf
/// or 0 / 0: the largest logit is infinite. -infinity beside a number keeps an expert out: its
/// weight is 0, and it is chosen only if fewer than k others are left.
///
/// Bits: chosen, offsets, rows and sources are exact. Weights are within the bound that
/// docs/numerics.md states, and depend on nothing but the token's own logits.
///
/// `scale` must be finite (DeepSeek's routed scaling factor).
///
/// Errors: InvalidTensor, ForeignTensor, InvalidOption, RoutingShapeMismatch, RoutingTypeMismatch,
/// RoutingAliasing (an output overlaps itself, another one, or an operand), GemmNoKernel,
/// WorkspaceTooSmall, OutOfMemory. A refused call encodes and writes nothing.
struct RouteDesc {
  Operand logits;
  Output chosen;
  Output weights;
  Output offsets;
  Output rows;
  Output sources;
  RouterWeights kind = RouterWeights::SoftmaxOfChosen;
  float scale = 1;
  /// As of `GemmDesc`.
  std::optional<Tensor> workspace{};
};

/// y[r, :] = x[sources[r], :]
///
/// Shapes: x [tokens, d], sources i32 [rows], y [rows, d]. x and y are of one type of 8, 16 or 32
/// bits, and elements keep their bits. Any strides, 0 too in x and sources. No row or column of y
/// is a no-op that reads no source.
///
/// Sources are read each time the call runs, and may change between replays. One that is negative
/// or not below `tokens`: nothing is written, and RoutingIndex is returned as GroupedOffsets is by
/// `grouped_gemm`. A source may occur any number of times.
///
/// Errors: as of `RouteDesc`, RoutingIndex.
struct PermuteDesc {
  Operand x;
  Operand sources;
  Output y;
};

/// y[t, :] = sum over s of weights[t, s] * x[rows[t, s], :]
///
/// Shapes: x [rows, d], rows i32 [tokens, k], weights f32 [tokens, k], y [tokens, d]. Without
/// weights the rows are added as they are: the gradient of `permute`. Any strides; k = 0 gives 0.
/// No row or column of y is a no-op that reads no index.
///
/// Types: x and y of f32, bf16 or f16 each. The sum is f32, in order of s, and is rounded once, to
/// nearest even. A weight of 0 is multiplied like any other.
///
/// Indices are read each time the call runs; a bad one is treated as of `PermuteDesc`. Rows of x
/// that none names are not read.
///
/// Errors: as of `PermuteDesc`.
struct UnpermuteDesc {
  Operand x;
  Operand rows;
  Output y;
  std::optional<Tensor> weights{};
};

GIRIH_API Status route(Runtime& runtime, const RouteDesc& desc) noexcept;
GIRIH_API Status permute(Runtime& runtime, const PermuteDesc& desc) noexcept;
GIRIH_API Status unpermute(Runtime& runtime, const UnpermuteDesc& desc) noexcept;
GIRIH_API Result<Plan> plan(Runtime& runtime, const RouteDesc& desc) noexcept;
GIRIH_API Result<Plan> plan(Runtime& runtime, const PermuteDesc& desc) noexcept;
GIRIH_API Result<Plan> plan(Runtime& runtime, const UnpermuteDesc& desc) noexcept;

}  // namespace girih::inline v0
