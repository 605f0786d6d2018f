#pragma once

#include <optional>

#include "ops/elementwise.hpp"
#include "verify/elementwise_case.hpp"

namespace girih::inline v0::verify {

/// A copy, cast or fill on guarded operands.
class BoundElementwise final : public BoundCase {
 public:
  /// Fails if the case breaks a rule of its descriptor, or memory is out.
  static Result<BoundElementwise> make(Runtime& runtime, const ElementwiseCase& elementwise_case);

  [[nodiscard]] Result<Plan> plan(Runtime& runtime) const override;
  Status launch(Runtime& runtime) const override;
  [[nodiscard]] bool is_empty() const override { return problem_->is_empty(); }
  [[nodiscard]] bool may_refuse(const Error&) const override { return false; }
  void fill(std::uint64_t variant) override;
  [[nodiscard]] bool poisons_output() const override { return true; }
  [[nodiscard]] std::vector<WrittenTensor> outputs() override {
    return {{"destination", &*destination_}};
  }
  Status upload(Runtime& runtime) const override;
  Status observe(Runtime& runtime) override;
  [[nodiscard]] std::string damage() const override;
  [[nodiscard]] Comparison judge() const override;

 private:
  [[nodiscard]] Result<ElementwiseProblem> checked(Runtime& runtime) const;

  ElementwiseCase case_;
  std::optional<ElementwiseProblem> problem_;
  std::optional<GuardedTensor> source_, destination_;
};

}  // namespace girih::inline v0::verify
