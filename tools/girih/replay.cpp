#include "girih/replay.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/error.hpp"
#include "girih/replay_operands.hpp"
#include "reference/elementwise.hpp"
#include "reference/gemm.hpp"
#include "reference/grouped.hpp"
#include "reference/routing.hpp"

namespace girih::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLongest = 60;  // seconds, of a call and of the oracle
/// Multiply-adds of the oracle in a second: it made 3000 cubed in 50 s on a core of 2020.
constexpr double kOracleRate = 0.5e9;
constexpr int kMaxRuns = 9;
constexpr double kRunsBudget = 0.25;  // seconds

Status run(Runtime& runtime, const GemmDesc& desc) {
  return gemm(runtime, desc);
}
Status run(Runtime& runtime, const GroupedGemmDesc& desc) {
  return grouped_gemm(runtime, desc);
}
Status run(Runtime& runtime, const RouteDesc& desc) {
  return route(runtime, desc);
}
Status run(Runtime& runtime, const PermuteDesc& desc) {
  return permute(runtime, desc);
}
Status run(Runtime& runtime, const UnpermuteDesc& desc) {
  return unpermute(runtime, desc);
}
Status run(Runtime& runtime, const CopyDesc& desc) {
  return copy(runtime, desc);
}
Status run(Runtime& runtime, const CastDesc& desc) {
  return cast(runtime, desc);
}
Status run(Runtime& runtime, const FillDesc& desc) {
  return fill(runtime, desc);
}

const Tensor& source_of(const FillDesc&) {
  static const Tensor none;
  return none;
}
template <class Desc>
const Tensor& source_of(const Desc& desc) {
  return desc.source.tensor();
}

/// A result on the device against the oracle on the host.
Result<verify::Comparison> compare_result(ReplayOperands& operands, const Tensor& result,
                                          const std::vector<double>& value,
                                          const std::vector<double>& bound) {
  const Result<std::vector<std::byte>> got = operands.observe(result);
  if (!got) return got.error();
  const Geometry geometry = ReplayOperands::geometry(result);
  const std::int64_t begin = geometry.offset * bit_width(geometry.dtype) / 8;
  return verify::compare(
      value, bound, {{geometry.dtype, geometry.shape, geometry.strides, 0}, got->data() + begin});
}

Result<verify::Comparison> compare(Runtime& runtime, ReplayOperands& operands,
                                   const GemmDesc& desc) {
  const Result<GemmProblem> problem = check(desc, {.runtime = runtime.id()});
  if (!problem) return problem.error();
  const GemmReference reference = reference_gemm(*problem, operands.host(desc), runtime.backend());
  return compare_result(operands, desc.c.tensor(), reference.value, reference.bound);
}

Result<verify::Comparison> compare(Runtime& runtime, ReplayOperands& operands,
                                   const GroupedGemmDesc& desc) {
  const Result<GroupedGemmProblem> problem = check(desc, {.runtime = runtime.id()});
  if (!problem) return problem.error();
  // The groups of `ReplayOperands` have every row.
  const GroupedGemmReference reference =
      reference_grouped_gemm(*problem, operands.host(desc), runtime.backend());
  return compare_result(operands, desc.c.tensor(), reference.value, reference.bound);
}

Result<verify::Comparison> compare(Runtime& runtime, ReplayOperands& operands,
                                   const RouteDesc& desc) {
  const Result<RouteProblem> problem = check(desc, {.runtime = runtime.id()});
  if (!problem) return problem.error();
  const RouteReference reference = reference_route(*problem, operands.host(desc));
  struct Exact {
    const char* name;
    const Tensor& tensor;
    const std::vector<double>& value;
  };
  for (const auto& [name, tensor, value] :
       {Exact{"chosen", desc.chosen.tensor(), reference.chosen},
        Exact{"offsets", desc.offsets.tensor(), reference.offsets},
        Exact{"rows", desc.rows.tensor(), reference.rows},
        Exact{"sources", desc.sources.tensor(), reference.sources}}) {
    Result<verify::Comparison> next =
        compare_result(operands, tensor, value, std::vector<double>(value.size()));
    if (!next) return next;
    next->what = name;
    if (!next->passed()) return next;
  }
  return compare_result(operands, desc.weights.tensor(), reference.weights,
                        reference.weight_bounds);
}

Result<verify::Comparison> compare(Runtime& runtime, ReplayOperands& operands,
                                   const UnpermuteDesc& desc) {
  const Result<UnpermuteProblem> problem = check(desc, {.runtime = runtime.id()});
  if (!problem) return problem.error();
  const UnpermuteReference reference = reference_unpermute(*problem, operands.host(desc));
  return compare_result(operands, desc.y.tensor(), reference.value, reference.bound);
}

/// What the device holds of a result against what the oracle has made of its bytes on the host.
Result<verify::Comparison> compare_bits(ReplayOperands& operands, const Tensor& result,
                                        const std::byte* want, verify::NanRule rule) {
  const Result<std::vector<std::byte>> got = operands.observe(result);
  if (!got) return got.error();
  const Geometry geometry = ReplayOperands::geometry(result);
  const std::int64_t begin = geometry.offset * bit_width(geometry.dtype) / 8;
  const Geometry rebased{geometry.dtype, geometry.shape, geometry.strides, 0};
  return verify::compare_exact({rebased, want}, {rebased, got->data() + begin}, rule);
}

Result<verify::Comparison> compare(Runtime& runtime, ReplayOperands& operands,
                                   const PermuteDesc& desc) {
  const Result<PermuteProblem> problem = check(desc, {.runtime = runtime.id()});
  if (!problem) return problem.error();
  const PermuteOperands host = operands.host(desc);
  if (!problem->is_empty()) reference_permute(*problem, host);
  return compare_bits(operands, desc.y.tensor(), host.y, verify::NanRule::SameBits);
}

template <class Desc>
Result<verify::Comparison> compare(Runtime& runtime, ReplayOperands& operands, const Desc& desc) {
  const Result<ElementwiseProblem> problem = check(desc, {.runtime = runtime.id()});
  if (!problem) return problem.error();
  const Tensor& destination = desc.destination.tensor();
  const ElementwiseOperands host = operands.host(source_of(desc), destination);
  reference_elementwise(*problem, host);
  return compare_bits(operands, destination, host.destination, verify::NanRule::SameSign);
}

/// One call, waited for; gives the seconds.
template <class Desc>
Result<double> timed(Runtime& runtime, const Desc& desc) {
  const auto begin = Clock::now();
  GIRIH_TRY(run(runtime, desc));
  GIRIH_TRY(runtime.synchronize());
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Refuses what the oracle would take too long over.
Status check_oracle_time(const CallLine& line) {
  if ((line.op != Op::Gemm && line.op != Op::GroupedGemm) || !line.a || !line.c) return {};
  const Shape& a = line.a->shape;
  double work = a.rank() > 0 ? static_cast<double>(a[a.rank() - 1]) : 1;
  for (int i = 0; i < line.c->shape.rank(); ++i) work *= static_cast<double>(line.c->shape[i]);
  // Groups share the depth out where each has a C of its own.
  const bool shares_depth = line.op == Op::GroupedGemm && line.c->shape.rank() == 3;
  if (shares_depth) work /= std::max(1.0, static_cast<double>(line.c->shape[0]));
  const double seconds = work / kOracleRate;
  if (seconds <= kLongest) return {};
  return error(Code::InvalidOption,
               "the oracle would take about {:.3g} s, more than {} are not tried", seconds,
               kLongest);
}

template <class Desc>
Result<Replay> replay_desc(Runtime& runtime, ReplayOperands& operands, const Result<Desc>& desc,
                           bool verify) {
  if (!desc) return desc.error();
  Replay result;
  const Result<Plan> chosen = plan(runtime, *desc);
  if (!chosen) {
    result.status = chosen.error();
    return result;
  }
  result.kernel = chosen->kernel;
  if (chosen->predicted_seconds > kLongest) {
    return error(Code::InvalidOption,
                 "the call would take about {:.3g} s, more than {} are not tried",
                 chosen->predicted_seconds, kLongest);
  }
  std::vector<double> seconds;
  double total = 0;
  do {
    const Result<double> run = timed(runtime, *desc);
    if (!run) {
      result.status = run.error();
      return result;
    }
    seconds.push_back(*run);
    total += *run;
    if (verify && seconds.size() == 1) {
      const Result<verify::Comparison> comparison = compare(runtime, operands, *desc);
      if (!comparison) return comparison.error();
      result.comparison = *comparison;
    }
  } while (static_cast<int>(seconds.size()) < kMaxRuns && total < kRunsBudget);
  std::sort(seconds.begin(), seconds.end());
  result.runs = static_cast<int>(seconds.size());
  result.seconds = seconds[seconds.size() / 2];
  return result;
}

}  // namespace

Result<Replay> replay(Runtime& runtime, const CallLine& line, bool verify) {
  if (verify) GIRIH_TRY(check_oracle_time(line));
  ReplayOperands operands(runtime);
  switch (line.op) {
    case Op::Gemm:
      return replay_desc(runtime, operands, operands.gemm(line), verify);
    case Op::GroupedGemm:
      return replay_desc(runtime, operands, operands.grouped_gemm(line), verify);
    case Op::Route:
      return replay_desc(runtime, operands, operands.route(line), verify);
    case Op::Permute:
      return replay_desc(runtime, operands, operands.permute(line), verify);
    case Op::Unpermute:
      return replay_desc(runtime, operands, operands.unpermute(line), verify);
    case Op::Copy:
      return replay_desc(runtime, operands, operands.copy(line), verify);
    case Op::Cast:
      return replay_desc(runtime, operands, operands.cast(line), verify);
    case Op::Fill:
      break;
  }
  return replay_desc(runtime, operands, operands.fill(line), verify);
}

std::string_view outcome_of(const ReplayedLine& replayed) noexcept {
  if (!replayed.line) return "not read";
  if (!replayed.replay) return "not tried";
  const Replay& replay = *replayed.replay;
  if (!replay.status) return name(replay.status.error().code);
  if (!replay.comparison) return "ok";
  return replay.comparison->passed() ? "verified" : "WRONG";
}

Status judge(const ReplayedLine& replayed) {
  if (!replayed.replay) return replayed.replay.error();
  const Replay& replay = *replayed.replay;
  if (replay.comparison && !replay.comparison->passed()) {
    return error(Code::DeviceFailed, "{}", replay.comparison->to_string());
  }
  if (replay.status || replay.status.error().code == replayed.line->status) return {};
  return replay.status.error();
}

}  // namespace girih::cli
