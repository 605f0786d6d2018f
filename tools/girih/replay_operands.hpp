#pragma once

#include <deque>
#include <optional>
#include <vector>

#include <girih/elementwise.hpp>
#include <girih/gemm.hpp>

#include "ops/call_line.hpp"
#include "ops/elementwise.hpp"
#include "ops/gemm.hpp"
#include "ops/grouped.hpp"
#include "ops/permute.hpp"
#include "verify/host_view.hpp"

namespace girih::cli {

/// The operands of one recorded call, made anew: each in memory of its own on the runtime, with the
/// same bytes on the host for the oracle.
class ReplayOperands {
 public:
  explicit ReplayOperands(Runtime& runtime) noexcept : runtime_(runtime) {}

  Result<GemmDesc> gemm(const CallLine& line);
  /// The rows are spread evenly over the groups, all of them.
  Result<GroupedGemmDesc> grouped_gemm(const CallLine& line);
  Result<RouteDesc> route(const CallLine& line);
  /// Sources and rows go through those of x in turn.
  Result<PermuteDesc> permute(const CallLine& line);
  Result<UnpermuteDesc> unpermute(const CallLine& line);
  Result<CopyDesc> copy(const CallLine& line);
  Result<CastDesc> cast(const CallLine& line);
  Result<FillDesc> fill(const CallLine& line);

  /// Host addresses of what the last descriptor binds.
  [[nodiscard]] GemmOperands host(const GemmDesc& desc);
  [[nodiscard]] GroupedGemmOperands host(const GroupedGemmDesc& desc);
  [[nodiscard]] RouteOperands host(const RouteDesc& desc);
  [[nodiscard]] PermuteOperands host(const PermuteDesc& desc);
  [[nodiscard]] UnpermuteOperands host(const UnpermuteDesc& desc);
  [[nodiscard]] ElementwiseOperands host(const Tensor& source, const Tensor& destination);
  /// What the device holds of `tensor` now.
  Result<std::vector<std::byte>> observe(const Tensor& tensor);
  [[nodiscard]] static Geometry geometry(const Tensor& tensor);

 private:
  struct Memory {
    Tensor all;  ///< the whole of it, as one row
    std::vector<std::byte> host;
  };
  /// A tensor as the line states it; an empty one for "none".
  Result<Tensor> make(const std::optional<ViewLine>& view, const char* what);
  Result<std::optional<Tensor>> make_optional(const std::optional<ViewLine>& view,
                                              const char* what);
  Result<Tensor> make_indices(const std::optional<ViewLine>& view, const char* what,
                              const Tensor& x);
  Result<Tensor> make_offsets(const CallLine& line);
  Result<ScalarArg<float>> make_scalar(const ScalarLine& scalar);
  [[nodiscard]] Memory* memory_of(const Tensor& tensor);
  [[nodiscard]] std::byte* host_address(const Tensor& tensor);
  [[nodiscard]] std::int32_t* host_indices(const Tensor& tensor);

  Runtime& runtime_;
  std::deque<Memory> memories_;
  std::int64_t bytes_ = 0;
};

}  // namespace girih::cli
