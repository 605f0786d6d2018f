#include <chrono>

#include <girih/prepare.hpp>

#include "core/error.hpp"
#include "runtime/state.hpp"

// The entry points of every operation: check, select, then queue or record. They differ in types
// alone.

namespace girih::inline v0 {

using detail::Entry;
using detail::RuntimeAccess;
using detail::RuntimeState;

namespace {

Op op_of(const GemmProblem&) noexcept {
  return Op::Gemm;
}
Op op_of(const GroupedGemmProblem&) noexcept {
  return Op::GroupedGemm;
}
Op op_of(const RouteProblem&) noexcept {
  return Op::Route;
}
Op op_of(const PermuteProblem&) noexcept {
  return Op::Permute;
}
Op op_of(const UnpermuteProblem&) noexcept {
  return Op::Unpermute;
}
Op op_of(const ElementwiseProblem& problem) noexcept {
  return problem.op;
}

GemmCall make_call(const GemmProblem& problem, const GemmOperands& operands,
                   const GemmSelection& selection) noexcept {
  return {problem, operands, selection, nullptr};
}
GroupedGemmCall make_call(const GroupedGemmProblem& problem, const GroupedGemmOperands& operands,
                          const GroupedGemmSelection& selection) noexcept {
  return {problem, operands, selection, nullptr};
}
RouteCall make_call(const RouteProblem& problem, const RouteOperands& operands,
                    const RouteSelection& selection) noexcept {
  return {problem, operands, selection, nullptr};
}
PermuteCall make_call(const PermuteProblem& problem, const PermuteOperands& operands,
                      const PermuteSelection& selection) noexcept {
  return {problem, operands, selection, nullptr};
}
UnpermuteCall make_call(const UnpermuteProblem& problem, const UnpermuteOperands& operands,
                        const PermuteSelection& selection) noexcept {
  return {problem, operands, selection, nullptr};
}
ElementwiseCall make_call(const ElementwiseProblem& problem, const ElementwiseOperands& operands,
                          const ElementwiseSelection& selection) noexcept {
  return {problem, operands, selection};
}

/// Other choices than a product's are made in less than a microsecond.
template <class Problem>
auto choose(RuntimeState& state, const Problem& problem) noexcept {
  return select(problem, state.selection_context(op_of(problem)));
}
Result<GemmSelection> choose(RuntimeState& state, const GemmProblem& problem) noexcept {
  return state.choose(problem);
}

/// `chosen` is set once a kernel was.
template <class Desc>
Status encode_call(RuntimeState& state, const Desc& desc, const KernelInfo*& chosen) noexcept {
  const auto problem = check(desc, state.check_context());
  if (!problem) return problem.error();
  const auto selection = choose(state, *problem);
  if (!selection) return selection.error();
  chosen = selection->kernel;
  if (problem->is_empty()) return {};
  auto call = make_call(*problem, bind(desc), *selection);
  return state.dispatch(call, tensors_of(desc));
}

template <class Desc>
Status encode_traced(RuntimeState& state, const Desc& desc) noexcept {
  const KernelInfo* chosen = nullptr;
  CallLine line = describe_call(desc, state.check_context());
  const auto begin = std::chrono::steady_clock::now();
  Status status = encode_call(state, desc, chosen);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  line.backend = state.device().info().backend;
  line.threads = state.device().threads();
  line.captured = state.is_capturing();
  line.status = status ? Code::Ok : status.error().code;
  line.microseconds = time.count();
  try {
    if (chosen != nullptr) line.kernel = chosen->name;
    state.trace()->write(line);
  } catch (...) {  // no memory for the name: the line is lost
  }
  return status;
}

template <class Desc>
Status encode(Runtime& runtime, const Desc& desc) noexcept {
  const Result<Entry> entry = Entry::enter(RuntimeAccess::shared(runtime).get());
  if (!entry) return entry.error();
  RuntimeState& state = *RuntimeAccess::shared(runtime);
  if (state.trace() != nullptr) [[unlikely]]
    return encode_traced(state, desc);
  const KernelInfo* chosen = nullptr;
  return encode_call(state, desc, chosen);
}

template <class Desc>
Result<Plan> explain_call(Runtime& runtime, const Desc& desc) noexcept {
  const Result<Entry> entry = Entry::enter(RuntimeAccess::shared(runtime).get());
  if (!entry) return entry.error();
  RuntimeState& state = *RuntimeAccess::shared(runtime);
  const auto problem = check(desc, state.check_context());
  if (!problem) return problem.error();
  return explain(*problem, state.selection_context(op_of(*problem)));
}

template <class Desc>
Status prepare_call(RuntimeState& state, const Desc& desc) noexcept {
  const auto problem = check(desc, state.check_context());
  if (!problem) return problem.error();
  const auto selection = choose(state, *problem);
  if (!selection) return selection.error();
  if (problem->is_empty()) return {};
  return state.prepare(make_call(*problem, bind(desc), *selection));
}

Status prepare_any(RuntimeState& state, const OpDesc& desc) noexcept {
  if (const auto* gemm = std::get_if<GemmDesc>(&desc)) return prepare_call(state, *gemm);
  if (const auto* copy = std::get_if<CopyDesc>(&desc)) return prepare_call(state, *copy);
  if (const auto* cast = std::get_if<CastDesc>(&desc)) return prepare_call(state, *cast);
  if (const auto* fill = std::get_if<FillDesc>(&desc)) return prepare_call(state, *fill);
  if (const auto* groups = std::get_if<GroupedGemmDesc>(&desc)) return prepare_call(state, *groups);
  if (const auto* route = std::get_if<RouteDesc>(&desc)) return prepare_call(state, *route);
  if (const auto* permute = std::get_if<PermuteDesc>(&desc)) return prepare_call(state, *permute);
  if (const auto* back = std::get_if<UnpermuteDesc>(&desc)) return prepare_call(state, *back);
  return error(Code::InvalidOption, "the descriptor holds no operation");
}

}  // namespace

Status prepare(Runtime& runtime, std::span<const OpDesc> calls) noexcept {
  const Result<Entry> entry =
      Entry::enter_uncaptured(RuntimeAccess::shared(runtime).get(), "prepare");
  if (!entry) return entry.error();
  RuntimeState& state = *RuntimeAccess::shared(runtime);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Status status = prepare_any(state, calls[i]);
    if (!status) {
      return error(status.error().code, "prepare, call {}: {}", i, status.error().message);
    }
  }
  return {};
}

Status gemm(Runtime& runtime, const GemmDesc& desc) noexcept {
  return encode(runtime, desc);
}
Status grouped_gemm(Runtime& runtime, const GroupedGemmDesc& desc) noexcept {
  return encode(runtime, desc);
}
Status route(Runtime& runtime, const RouteDesc& desc) noexcept {
  return encode(runtime, desc);
}
Status permute(Runtime& runtime, const PermuteDesc& desc) noexcept {
  return encode(runtime, desc);
}
Status unpermute(Runtime& runtime, const UnpermuteDesc& desc) noexcept {
  return encode(runtime, desc);
}
Status copy(Runtime& runtime, const CopyDesc& desc) noexcept {
  return encode(runtime, desc);
}
Status cast(Runtime& runtime, const CastDesc& desc) noexcept {
  return encode(runtime, desc);
}
Status fill(Runtime& runtime, const FillDesc& desc) noexcept {
  return encode(runtime, desc);
}

Result<Plan> plan(Runtime& runtime, const GemmDesc& desc) noexcept {
  return explain_call(runtime, desc);
}
Result<Plan> plan(Runtime& runtime, const GroupedGemmDesc& desc) noexcept {
  return explain_call(runtime, desc);
}
Result<Plan> plan(Runtime& runtime, const RouteDesc& desc) noexcept {
  return explain_call(runtime, desc);
}
Result<Plan> plan(Runtime& runtime, const PermuteDesc& desc) noexcept {
  return explain_call(runtime, desc);
}
Result<Plan> plan(Runtime& runtime, const UnpermuteDesc& desc) noexcept {
  return explain_call(runtime, desc);
}
Result<Plan> plan(Runtime& runtime, const CopyDesc& desc) noexcept {
  return explain_call(runtime, desc);
}
Result<Plan> plan(Runtime& runtime, const CastDesc& desc) noexcept {
  return explain_call(runtime, desc);
}
Result<Plan> plan(Runtime& runtime, const FillDesc& desc) noexcept {
  return explain_call(runtime, desc);
}

}  // namespace girih::inline v0
