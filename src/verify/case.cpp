#include "verify/case.hpp"

#include <algorithm>

#include "core/format.hpp"

namespace girih::inline v0::verify {
namespace {

/// Of each output.
using Elements = std::vector<std::vector<std::byte>>;

constexpr std::uint64_t kWorkspaceLimit = std::uint64_t{64} << 20;

/// Thrown and caught in this file only: the first thing found wrong.
struct Finding {
  std::string text;
};

void require(const Status& status, const char* step) {
  if (!status) throw Finding{formatted("{}: {}", step, status.error().message)};
}

/// One case on one runtime.
class Trial {
 public:
  Trial(Runtime& runtime, BoundCase& bound, CaseReport& report)
      : runtime_(runtime), bound_(bound), report_(report) {}

  void eager() {
    bound_.fill(0);
    const Elements first = run(Poison::Nan, [&] { launch(); });
    const Elements second = run(Poison::Huge, [&] { launch(); });
    require_written(first, Poison::Nan, second, Poison::Huge);
    require_equal(first, second, "two runs of one call");
  }

  void captured(Mode mode) {
    bound_.fill(0);
    prepare(Poison::Nan);
    auto graph = capture(runtime_, [&] { return bound_.launch(runtime_); });
    if (!graph) throw Finding{"capture: " + graph.error().message};
    require(bound_.observe(runtime_), "download");
    for (const WrittenTensor& output : bound_.outputs()) {
      if (const std::string change = output.tensor->change(); !change.empty()) {
        throw Finding{"recording ran the call: " + change};
      }
    }
    replay_and_compare(*graph);
    if (mode == Mode::Captured) return;
    bound_.fill(1);
    replay_and_compare(*graph);
  }

 private:
  void replay_and_compare(Graph& graph) {
    const auto replay = [&] { require(graph.replay(), "replay"); };
    const Elements first = run(Poison::Huge, replay);
    const Elements second = run(Poison::Nan, replay);
    require_written(first, Poison::Huge, second, Poison::Nan);
    require_equal(first, second, "two replays");
    require_equal(first, run(Poison::Huge, [&] { launch(); }), "replay and eager call");
  }

  void launch() { require(bound_.launch(runtime_), "call"); }

  void prepare(Poison poison) {
    if (bound_.poisons_output()) {
      for (const WrittenTensor& output : bound_.outputs()) output.tensor->poison(poison);
    }
    require(bound_.upload(runtime_), "upload");
  }

  /// Runs once, checks everything that one run can show, and gives the output's elements.
  template <class Run>
  Elements run(Poison poison, Run&& once) {
    prepare(poison);
    const std::uint64_t before = runtime_.dispatch_count();
    once();
    const std::uint64_t dispatched = runtime_.dispatch_count() - before;
    require(runtime_.synchronize(), "synchronize");
    require(bound_.observe(runtime_), "download");
    if (dispatched != (bound_.is_empty() ? 0U : 1U)) {
      throw Finding{formatted("{} dispatches were counted", dispatched)};
    }
    if (const std::string damage = bound_.damage(); !damage.empty()) throw Finding{damage};
    const Comparison comparison = bound_.judge();
    report_.worst_ratio = std::max(report_.worst_ratio, comparison.worst_ratio);
    if (!comparison.passed()) throw Finding{comparison.to_string()};
    Elements elements;
    for (const WrittenTensor& output : bound_.outputs()) elements.push_back(bound_.result(output));
    return elements;
  }

  void require_written(const Elements& first, Poison first_poison, const Elements& second,
                       Poison second_poison) const {
    if (!bound_.poisons_output()) return;
    const std::vector<WrittenTensor> outputs = bound_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& output = outputs[i].tensor->tensor();
      const auto left =
          surviving_poison(output.dtype(), first[i], first_poison, second[i], second_poison);
      if (!left) continue;
      throw Finding{
          formatted("not written: {} of {}", index_of(output.shape(), *left), outputs[i].name)};
    }
  }

  void require_equal(const Elements& a, const Elements& b, const char* what) const {
    const std::vector<WrittenTensor> outputs = bound_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto [at, other] = std::mismatch(a[i].begin(), a[i].end(), b[i].begin(), b[i].end());
      if (at == a[i].end()) continue;
      const Tensor& output = outputs[i].tensor->tensor();
      const std::int64_t position = (at - a[i].begin()) * 8 / bit_width(output.dtype());
      throw Finding{formatted("{} differ in bits at {} of {}", what,
                              index_of(output.shape(), position), outputs[i].name)};
    }
  }

  Runtime& runtime_;
  BoundCase& bound_;
  CaseReport& report_;
};

void refuse(Runtime& runtime, BoundCase& bound, const Error& error, Refusals refusals,
            CaseReport& report) {
  const bool wrong_row = refusals == Refusals::OfTheRow && error.code == Code::GemmNoKernel;
  if (!wrong_row && !bound.may_refuse(error)) throw Finding{"refused: " + error.message};
  const std::uint64_t before = runtime.dispatch_count();
  if (bound.launch(runtime)) throw Finding{"a call that its plan refuses was run"};
  if (runtime.dispatch_count() != before) throw Finding{"a refused call was dispatched"};
  report.outcome = CaseReport::Outcome::Refused;
  report.detail = error.message;
}

void run_trial(Runtime& runtime, BoundCase& bound, Mode mode, Refusals refusals,
               CaseReport& report) {
  const auto chosen = bound.plan(runtime);
  if (!chosen) return refuse(runtime, bound, chosen.error(), refusals, report);
  report.kernel = chosen->kernel;
  if (chosen->workspace_bytes > kWorkspaceLimit) {
    throw Finding{formatted("{} bytes of workspace", chosen->workspace_bytes)};
  }
  Trial trial(runtime, bound, report);
  mode == Mode::Eager ? trial.eager() : trial.captured(mode);
}

}  // namespace

CaseReport run_case(Runtime& runtime, BoundCase& bound, Mode mode, Refusals refusals) {
  CaseReport report;
  try {
    run_trial(runtime, bound, mode, refusals, report);
  } catch (const Finding& finding) {
    report.outcome = CaseReport::Outcome::Failed;
    report.detail = finding.text;
  }
  return report;
}

}  // namespace girih::inline v0::verify
