#pragma once

#include <optional>
#include <string>

#include "core/error.hpp"
#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// What stands between a row and a call, nearest to working last.
enum class Obstacle : std::uint8_t {
  Backend,
  Operands,
  Outputs,
  Precision,
  Path,
  Gate,
  Reproducibility,
  Features,
  TurnedOff,
  NotForced,
  None,
};

/// What selection asks of a row, whatever the operation.
struct Demand {
  Op op = Op::Gemm;
  DType operand = DType::F32;
  DType output = DType::F32;
  Precision precision = Precision::Exact;
  Path path = Path::Auto;
  Reproducibility reproducibility = Reproducibility::PerShape;
  bool gate = false;
};

Obstacle obstacle(const Demand& demand, const KernelInfo& kernel, const SelectionContext& context);
/// "needs avx512", "path portable asked", ...
std::string describe(Obstacle obstacle, const Demand& demand, const KernelInfo& kernel,
                     const SelectionContext& context);
/// GemmUnknownKernel if a name is forced that no row of the operation has.
Status check_forced(const Demand& demand, const SelectionContext& context) noexcept;
/// GemmNoKernel with the reason of the row that came nearest.
Error no_kernel(const Demand& demand, const SelectionContext& context) noexcept;

/// The row that `candidate(row)`, a selection, predicts to be fastest, of those that nothing stands
/// in the way of; the first of equals. Fails as `check_forced` and `no_kernel` do.
template <class Candidate>
auto cheapest(const Demand& demand, const SelectionContext& context, const Candidate& candidate)
    -> Result<decltype(candidate(context.kernels.front()))> {
  GIRIH_TRY(check_forced(demand, context));
  decltype(candidate(context.kernels.front())) best;
  for (const KernelInfo& kernel : context.kernels) {
    if (!kernel.serves(demand.op) || obstacle(demand, kernel, context) != Obstacle::None) continue;
    const auto offer = candidate(kernel);
    if (best.kernel == nullptr || offer.predicted_seconds < best.predicted_seconds) best = offer;
  }
  if (best.kernel == nullptr) return no_kernel(demand, context);
  return best;
}
/// WorkspaceTooSmall if the caller's workspace, if there is one, has fewer bytes than are needed.
Status check_workspace(std::optional<std::int64_t> given, std::int64_t needed,
                       const KernelInfo& kernel) noexcept;

/// Threads worth using for `seconds` of work of one thread: a region costs about a microsecond, so
/// each thread gets at least 15 of them.
int worthwhile_threads(double seconds, int limit) noexcept;

/// Fills in what every plan says: kernel, device, and for each other row why it was passed over.
/// `seconds_of` gives the predicted time of a row that fits.
template <class SecondsOf>
void describe_choice(const Demand& demand, const SelectionContext& context,
                     const KernelInfo& chosen, SecondsOf seconds_of, Plan& plan);

/// Renders a time: "1.2 ms".
std::string describe_seconds(double seconds);

template <class SecondsOf>
void describe_choice(const Demand& demand, const SelectionContext& context,
                     const KernelInfo& chosen, SecondsOf seconds_of, Plan& plan) {
  plan.kernel = chosen.name;
  plan.backend = chosen.backend;
  plan.device = context.device->name;
  plan.tile = {chosen.tile_m, chosen.tile_n, chosen.tile_k};
  plan.reduction = name(chosen.reduction);
  for (const KernelInfo& kernel : context.kernels) {
    if (!kernel.serves(demand.op) || &kernel == &chosen) continue;
    const Obstacle reason = obstacle(demand, kernel, context);
    if (reason != Obstacle::None) {
      plan.rejected.push_back(
          {std::string(kernel.name), describe(reason, demand, kernel, context)});
      continue;
    }
    // A measured choice, or one for its reduction class, may have the longer prediction.
    const double seconds = seconds_of(kernel);
    const char* const verdict =
        seconds < plan.predicted_seconds ? "passed over: predicted " : "slower: predicted ";
    plan.rejected.push_back({std::string(kernel.name), verdict + describe_seconds(seconds)});
  }
}

}  // namespace girih::inline v0
