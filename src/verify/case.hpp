#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <girih/plan.hpp>
#include <girih/runtime.hpp>

#include "verify/compare.hpp"
#include "verify/guarded.hpp"

namespace girih::inline v0::verify {

/// How a call reaches the device.
enum class Mode : std::uint8_t { Eager, Captured, Replayed };

constexpr std::string_view name(Mode mode) noexcept {
  return mode == Mode::Eager ? "eager" : mode == Mode::Captured ? "captured" : "replayed";
}

/// What became of one case.
struct CaseReport {
  enum class Outcome : std::uint8_t {
    Passed,
    Refused,  ///< truthfully: the case asks for what this backend does not have
    Failed,
  };
  Outcome outcome = Outcome::Passed;
  std::string kernel;      ///< that the plan chose
  std::string detail;      ///< why it failed or was refused
  double worst_ratio = 0;  ///< largest error / bound

  [[nodiscard]] bool failed() const noexcept { return outcome == Outcome::Failed; }
};

/// Which refusals count as truthful.
enum class Refusals : std::uint8_t {
  OfTheCase,  ///< only what the case says that a backend may lack
  OfTheRow,   ///< any for want of a kernel: one is forced, and takes only some cases
};

/// A tensor that a call writes.
struct WrittenTensor {
  const char* name = "";
  GuardedTensor* tensor = nullptr;
};

/// One operation bound to guarded operands, and its oracle: what `run_case` needs to judge it.
class BoundCase {
 public:
  virtual ~BoundCase() = default;

  [[nodiscard]] virtual Result<Plan> plan(Runtime& runtime) const = 0;
  virtual Status launch(Runtime& runtime) const = 0;
  /// True if the call does nothing, by its extents.
  [[nodiscard]] virtual bool is_empty() const = 0;
  /// True if a backend may refuse the case in this way without being wrong.
  [[nodiscard]] virtual bool may_refuse(const Error& error) const = 0;

  /// Contents number `variant` of the case, and the oracle for them.
  virtual void fill(std::uint64_t variant) = 0;
  [[nodiscard]] virtual std::vector<WrittenTensor> outputs() = 0;
  /// True if the outputs' old elements are never read, so that they are poisoned before each run.
  [[nodiscard]] virtual bool poisons_output() const = 0;
  virtual Status upload(Runtime& runtime) const = 0;
  virtual Status observe(Runtime& runtime) = 0;
  /// An output's observed elements, row-major, with zeros for those that the call must leave alone.
  [[nodiscard]] virtual std::vector<std::byte> result(const WrittenTensor& output) const {
    return output.tensor->observed_elements();
  }
  /// What was written that must not be; empty if nothing.
  [[nodiscard]] virtual std::string damage() const = 0;
  /// The observed outputs against the oracle.
  [[nodiscard]] virtual Comparison judge() const = 0;
};

/// Runs a case and judges all that it did:
///   each element of the outputs within the oracle's bound, no poison left, two runs with different
///   poisons equal bit for bit, nothing outside the outputs and nothing in the operands changed, no
///   operand read that the contract says is not (those hold NaN), one dispatch counted a run, and
///   the plan's workspace under 64 MiB.
/// `Captured` also asks that recording runs nothing; `Replayed` replays once more with other
/// contents; both that a replay equals an eager call bit for bit.
CaseReport run_case(Runtime& runtime, BoundCase& bound, Mode mode,
                    Refusals refusals = Refusals::OfTheCase);
/// The same of a case that may have failed to be bound, which is a failure of it.
template <class Bound>
CaseReport run_case(Runtime& runtime, Result<Bound> bound, Mode mode,
                    Refusals refusals = Refusals::OfTheCase) {
  if (bound) return run_case(runtime, static_cast<BoundCase&>(*bound), mode, refusals);
  CaseReport report;
  report.outcome = CaseReport::Outcome::Failed;
  report.detail = "operands: " + bound.error().message;
  return report;
}

}  // namespace girih::inline v0::verify
