#include "plan/candidates.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/format.hpp"

namespace girih::inline v0 {

namespace {

/// Rows for any matrix unit yield to those for the device's own: by rule, not by price, so that a
/// reduction class depends on types alone.
bool is_outdone(const Demand& demand, const KernelInfo& kernel, const SelectionContext& context) {
  if (!kernel.mma || !context.forced_kernel.empty()) return false;
  return std::any_of(context.kernels.begin(), context.kernels.end(), [&](const KernelInfo& other) {
    return other.form != cuda::TileForm::None && other.serves(demand.op) &&
           obstacle(demand, other, context) == Obstacle::None;
  });
}

}  // namespace

Obstacle obstacle(const Demand& demand, const KernelInfo& kernel, const SelectionContext& context) {
  if (kernel.backend != context.device->backend) return Obstacle::Backend;
  if (!kernel.operands.has(demand.operand)) return Obstacle::Operands;
  if (!kernel.outputs.has(demand.output)) return Obstacle::Outputs;
  const bool may_round = demand.precision != Precision::Exact;
  const bool must_round = demand.precision == Precision::Tf32;
  const bool rounds = kernel.multiplies_tf32 || kernel.precision == Precision::Tf32;
  if (rounds ? !may_round : must_round) return Obstacle::Precision;
  if (kernel.precision.value_or(demand.precision) != demand.precision) return Obstacle::Precision;
  if (kernel.splits_f32 && demand.precision != Precision::Fast) return Obstacle::Precision;
  if (demand.path != Path::Auto && demand.path != kernel.path) return Obstacle::Path;
  if (demand.gate && !kernel.gates) return Obstacle::Gate;
  if (demand.block_scales && !kernel.scales_blocks) return Obstacle::BlockScales;
  // Rows are invariant only if it is known how a kernel adds up.
  if (demand.reproducibility == Reproducibility::RowInvariant && kernel.op == Op::Gemm &&
      kernel.reduction == Reduction::None) {
    return Obstacle::Reproducibility;
  }
  if (!context.device->features.missing(kernel.needs).empty()) return Obstacle::Features;
  if (is_outdone(demand, kernel, context)) return Obstacle::Outdone;
  if (!kernel.obstacle.empty()) return Obstacle::TurnedOff;
  if (!context.forced_kernel.empty() && context.forced_kernel != kernel.name) {
    return Obstacle::NotForced;
  }
  return Obstacle::None;
}

std::string describe(Obstacle obstacle, const Demand& demand, const KernelInfo& kernel,
                     const SelectionContext& context) {
  switch (obstacle) {
    case Obstacle::Backend:
      return formatted("backend {} only", name(kernel.backend));
    case Obstacle::Operands:
      return formatted("{} operands only", describe(kernel.operands));
    case Obstacle::Outputs:
      return formatted("gives {} only, not {}", describe(kernel.outputs), name(demand.output));
    case Obstacle::Precision:
      if (kernel.precision) {
        return formatted("is for precision {}; {} asked", name(*kernel.precision),
                         name(demand.precision));
      }
      if (kernel.multiplies_tf32) {
        return formatted("rounds f32 operands to tf32; precision {} asked", name(demand.precision));
      }
      if (kernel.splits_f32) {
        return formatted("splits f32 operands; precision {} asked", name(demand.precision));
      }
      return formatted("no {} on {}: ask for {} or {}", name(demand.precision),
                       kernel.backend == Backend::Cpu ? "a cpu" : name(kernel.backend),
                       name(Precision::Fast), name(Precision::Exact));
    case Obstacle::Path:
      return formatted("{} row; path {} asked", name(kernel.path), name(demand.path));
    case Obstacle::Gate:
      return "has no gated epilogue";
    case Obstacle::BlockScales:
      return "takes no factors of blocks";
    case Obstacle::Reproducibility:
      return "states no reduction class, which row-invariant results need";
    case Obstacle::Features:
      if (const int capability = context.device->compute_capability; capability > 0) {
        return formatted("needs {}, the device is of compute capability {}.{}",
                         describe(context.device->features.missing(kernel.needs)), capability / 10,
                         capability % 10);
      }
      return formatted("needs {}", describe(context.device->features.missing(kernel.needs)));
    case Obstacle::Outdone:
      return "yields to wgmma, which takes this here";
    case Obstacle::TurnedOff:
      return formatted("is turned off: {}", kernel.obstacle);
    case Obstacle::NotForced:
      return formatted("{} is forced", context.forced_kernel);
    case Obstacle::None:
      break;
  }
  return "fits";
}

Status check_forced(const Demand& demand, const SelectionContext& context) noexcept {
  if (context.forced_kernel.empty()) return {};
  const bool known =
      std::any_of(context.kernels.begin(), context.kernels.end(), [&](const KernelInfo& kernel) {
        return kernel.serves(demand.op) && kernel.name == context.forced_kernel;
      });
  if (known) return {};
  return error(Code::GemmUnknownKernel, "forced kernel '{}' is no row of {}", context.forced_kernel,
               name(demand.op));
}

Error no_kernel(const Demand& demand, const SelectionContext& context) noexcept {
  const KernelInfo* nearest = nullptr;
  Obstacle reason = Obstacle::Backend;
  for (const KernelInfo& kernel : context.kernels) {
    if (!kernel.serves(demand.op)) continue;
    // A forced row is the one that was asked for; of others the one that came furthest is named.
    if (!context.forced_kernel.empty() && kernel.name != context.forced_kernel) continue;
    const Obstacle candidate = obstacle(demand, kernel, context);
    if (nearest != nullptr && candidate <= reason) continue;
    nearest = &kernel;
    reason = candidate;
  }
  try {
    const std::string nearest_reason =
        nearest == nullptr
            ? "the table has no row of this operation"
            : formatted("{} {}", nearest->name, describe(reason, demand, *nearest, context));
    return error(Code::GemmNoKernel,
                 "no kernel for {} of {} to {}, path {}, precision {} on {}: {}", name(demand.op),
                 name(demand.operand), name(demand.output), name(demand.path),
                 name(demand.precision), context.device->name, nearest_reason);
  } catch (...) {
    return Error{Code::GemmNoKernel, {}};
  }
}

Status check_workspace(std::optional<std::int64_t> given, std::int64_t needed,
                       const KernelInfo& kernel) noexcept {
  if (given.value_or(needed) >= needed) return {};
  return error(Code::WorkspaceTooSmall, "workspace has {} bytes, {} needs {}", *given, kernel.name,
               needed);
}

int worthwhile_threads(double seconds, int limit) noexcept {
  constexpr double kSecondsPerThread = 15e-6;
  const double threads = std::min(seconds / kSecondsPerThread, static_cast<double>(limit));
  return std::max(static_cast<int>(threads), 1);
}

Streaming stream(double bytes, double seconds, const SelectionContext& context) noexcept {
  constexpr double kBytesPerSecondOfThread = 8e9, kSecondsPerCall = 1e-6;
  const double alone = bytes / kBytesPerSecondOfThread + seconds;
  const int threads = worthwhile_threads(alone, context.threads);
  const double bandwidth = context.device->memory_gb_per_s * 1e9;
  const double traffic = bandwidth > 0 ? bytes / bandwidth : 0;
  return {threads, std::max(alone / threads, traffic) + kSecondsPerCall};
}

std::string describe_seconds(double seconds) {
  if (seconds < 1e-3) return formatted("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return formatted("{:.3g} ms", seconds * 1e3);
  return formatted("{:.3g} s", seconds);
}

}  // namespace girih::inline v0
