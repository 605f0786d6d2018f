#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <girih/elementwise.hpp>
#include <girih/gemm.hpp>
#include <girih/grouped.hpp>
#include <girih/routing.hpp>

#include "ops/op.hpp"

namespace girih::inline v0 {

/// A view as a line states it. Text: "f32[64, 3]" without the space, ":" and the strides, "@" and
/// the bytes by which the first element lies past a 64-byte boundary: `f32[64,3]:3,1@0`.
struct ViewLine {
  DType dtype = DType::F32;
  Shape shape{};
  Strides strides{};
  int alignment = 0;

  friend bool operator==(const ViewLine&, const ViewLine&) noexcept = default;
};

/// A scalar: its host value, or "device".
struct ScalarLine {
  bool on_device = false;
  float value = 0;

  friend bool operator==(const ScalarLine&, const ScalarLine&) noexcept = default;
};

/// One call, without contents: what `GIRIH_TRACE=line` writes and `girih replay-line` runs again.
/// Text: "girih-call-1", the operation, then `key=value` fields; `call_line.cpp` lists them. A
/// field that has its default is left out; an operand that is an empty tensor is "none", or left
/// out where the call may do without. An option that is none of its type's values is "#" and its
/// number.
struct CallLine {
  Op op = Op::Gemm;
  Backend backend = Backend::Cpu;
  int threads = 1;
  bool captured = false;

  std::optional<ViewLine> a{}, b{}, c{}, bias{}, residual{}, a_scale{}, b_scale{}, c_scale{};
  std::optional<ViewLine> workspace{};
  std::optional<ViewLine> offsets{};  ///< of groups: not what they say
  bool residual_is_c = false;
  Granularity a_granularity = Granularity::PerTensor;
  Granularity b_granularity = Granularity::PerTensor;
  Granularity c_granularity = Granularity::PerTensor;
  ScalarLine alpha{.value = 1}, beta{};
  Activation activation = Activation::None;
  std::optional<Gate> gate{};
  Precision precision = Precision::Exact;
  Path path = Path::Auto;
  Reproducibility reproducibility = Reproducibility::PerShape;

  std::optional<ViewLine> x{}, y{}, logits{}, chosen{}, weights{}, rows{}, sources{};
  RouterWeights router_weights = RouterWeights::SoftmaxOfChosen;
  float scale = 1;  ///< of a route

  std::optional<ViewLine> source{}, destination{};
  double value = 0;  ///< of a fill

  // What became of it.
  std::string kernel{};  ///< empty if none was chosen
  Code status = Code::Ok;
  double microseconds = 0;  ///< of the call, on the host
};

/// What a descriptor says. The rest of the line is the caller's to fill in.
CallLine describe_call(const GemmDesc& desc, const CheckContext& context) noexcept;
CallLine describe_call(const GroupedGemmDesc& desc, const CheckContext& context) noexcept;
CallLine describe_call(const RouteDesc& desc, const CheckContext& context) noexcept;
CallLine describe_call(const PermuteDesc& desc, const CheckContext& context) noexcept;
CallLine describe_call(const UnpermuteDesc& desc, const CheckContext& context) noexcept;
CallLine describe_call(const CopyDesc& desc, const CheckContext& context) noexcept;
CallLine describe_call(const CastDesc& desc, const CheckContext& context) noexcept;
CallLine describe_call(const FillDesc& desc, const CheckContext& context) noexcept;

/// The text, without a line break.
std::string to_text(const CallLine& line);
/// Reads one line, strictly; an ending line break is passed over. FileFormat names the field that
/// breaks a rule; FileUnsupported for another version of the format.
Result<CallLine> parse_call_line(std::string_view text) noexcept;

}  // namespace girih::inline v0
