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
  BlockScales,
  Reproducibility,
  Features,
  Outdone,
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
  bool block_scales = false;
};

Obstacle obstacle(const Demand& demand, const KernelInfo& kernel, const SelectionContext& context);
/// "needs avx512", "path portable asked", ...
std::string describe(Obstacle obstacle, const Demand& demand, const KernelInfo& kernel,
                     const SelectionContext& context);
/// GemmUnknownKernel if a name is forced that no row of the operation has.
Status check_forced(const Demand& demand, const SelectionContext& context) noexcept;
/// GemmNoKernel with the reason of the row that came nearest.
Error no_kernel(const Demand& demand, const SelectionContext& context) noexcept;

/// Whether one selection is predicted to be faster than another.
struct IsFaster {
  template <class Selection>
  bool operator()(const Selection& a, const Selection& b) const noexcept {
    return a.predicted_seconds < b.predicted_seconds;
  }
};
/// The best of `candidate(row)`, selections, over the rows that nothing stands in the way of; if
/// all of these decline, and bits may depend on the shape, over those that yielded to them; the
/// first of equals. A candidate without a kernel declines; if all do, so does the result. Fails as
/// `check_forced` and `no_kernel` do.
template <class Candidate, class IsBetter = IsFaster>
auto cheapest(const Demand& demand, const SelectionContext& context, const Candidate& candidate,
              const IsBetter& is_better = {})
    -> Result<decltype(candidate(context.kernels.front()))> {
  GIRIH_TRY(check_forced(demand, context));
  decltype(candidate(context.kernels.front())) best;
  bool fits = false;
  const auto look_at = [&](Obstacle of_rows) {
    for (const KernelInfo& kernel : context.kernels) {
      if (!kernel.serves(demand.op) || obstacle(demand, kernel, context) != of_rows) continue;
      fits = true;
      const auto offer = candidate(kernel);
      if (offer.kernel == nullptr) continue;
      if (best.kernel == nullptr || is_better(offer, best)) best = offer;
    }
  };
  look_at(Obstacle::None);
  // What rows yielded to may decline these extents.
  if (best.kernel == nullptr && demand.reproducibility == Reproducibility::PerShape) {
    look_at(Obstacle::Outdone);
  }
  if (!fits) return no_kernel(demand, context);
  return best;
}
/// WorkspaceTooSmall if the caller's workspace, if there is one, has fewer bytes than are needed.
Status check_workspace(std::optional<std::int64_t> given, std::int64_t needed,
                       const KernelInfo& kernel) noexcept;

/// Threads worth using for `seconds` of work of one thread: a region costs about a microsecond, so
/// each thread gets at least 15 of them.
int worthwhile_threads(double seconds, int limit) noexcept;
/// What goes through `bytes` of memory once on the CPU, and computes for `seconds` of one thread.
struct Streaming {
  int threads = 1;
  double seconds = 0;  ///< predicted
};
Streaming stream(double bytes, double seconds, const SelectionContext& context) noexcept;

/// Renders a time: "1.2 ms".
std::string describe_seconds(double seconds);

/// Fills in what every plan says of a choice, the predicted time among it: kernel, device, and for
/// each other row why it was passed over. `candidate(row)` is as of `cheapest`.
template <class Selection, class Candidate>
void describe_choice(const Demand& demand, const SelectionContext& context, const Selection& choice,
                     const Candidate& candidate, Plan& plan) {
  const KernelInfo& chosen = *choice.kernel;
  plan.predicted_seconds = choice.predicted_seconds;
  plan.threads = choice.threads;
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
    const auto offer = candidate(kernel);
    if (offer.kernel == nullptr) {
      plan.rejected.push_back({std::string(kernel.name), "declines these extents"});
      continue;
    }
    // A measured choice, or one for its reduction class, may have the longer prediction.
    const double seconds = offer.predicted_seconds;
    const char* const verdict = seconds < plan.predicted_seconds    ? "passed over: predicted "
                                : seconds == plan.predicted_seconds ? "no faster: predicted "
                                                                    : "slower: predicted ";
    plan.rejected.push_back({std::string(kernel.name), verdict + describe_seconds(seconds)});
  }
}

/// The plan of a choice, or its error; `complete(choice, plan)` adds what the operation alone says.
template <class Selection, class Candidate, class Complete>
Result<Plan> explain_choice(const Demand& demand, const SelectionContext& context,
                            const Result<Selection>& choice, const Candidate& candidate,
                            const Complete& complete) noexcept try {
  if (!choice) return choice.error();
  Plan plan;
  describe_choice(demand, context, *choice, candidate, plan);
  complete(*choice, plan);
  return plan;
} catch (...) {
  return error(Code::OutOfMemory, "no memory to explain a plan");
}

}  // namespace girih::inline v0
