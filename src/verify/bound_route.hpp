#pragma once

#include <functional>
#include <optional>

#include "reference/routing.hpp"
#include "verify/case.hpp"
#include "verify/route_case.hpp"

namespace girih::inline v0::verify {

/// Encodes a route; a test of the verifier passes one that does it wrong.
using RouteLauncher = std::function<Status(Runtime&, const RouteDesc&)>;

/// A route on guarded operands.
class BoundRoute final : public BoundCase {
 public:
  static Result<BoundRoute> make(Runtime& runtime, const RouteCase& route_case,
                                 RouteLauncher launcher = route);

  [[nodiscard]] RouteDesc desc() const;

  [[nodiscard]] Result<Plan> plan(Runtime& runtime) const override;
  Status launch(Runtime& runtime) const override { return launcher_(runtime, desc()); }
  [[nodiscard]] bool is_empty() const override { return problem_->is_empty(); }
  /// Only the cpu has kernels for it.
  [[nodiscard]] bool may_refuse(const Error& error) const override;
  void fill(std::uint64_t variant) override;
  [[nodiscard]] std::vector<WrittenTensor> outputs() override;
  [[nodiscard]] bool poisons_output() const override { return true; }
  Status upload(Runtime& runtime) const override;
  Status observe(Runtime& runtime) override;
  [[nodiscard]] std::string damage() const override;
  [[nodiscard]] Comparison judge() const override;

 private:
  RouteCase case_;
  Backend backend_ = Backend::None;
  RouteLauncher launcher_;
  std::optional<RouteProblem> problem_;
  std::optional<GuardedTensor> logits_, chosen_, weights_, offsets_, rows_, sources_;
  RouteReference reference_;
};

CaseReport run_case(Runtime& runtime, const RouteCase& route_case, Mode mode,
                    RouteLauncher launcher = route, Refusals refusals = Refusals::OfTheCase);

}  // namespace girih::inline v0::verify
