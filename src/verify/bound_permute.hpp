#pragma once

#include <functional>
#include <optional>

#include "reference/routing.hpp"
#include "verify/case.hpp"
#include "verify/permute_case.hpp"

namespace girih::inline v0::verify {

/// Encode one of the two; a test of the verifier passes some that do it wrong.
struct PermuteLaunchers {
  std::function<Status(Runtime&, const PermuteDesc&)> permute = girih::permute;
  std::function<Status(Runtime&, const UnpermuteDesc&)> unpermute = girih::unpermute;
};

/// A permute or an un-permute on guarded operands. Rows of x that no index names are NaN.
class BoundPermute final : public BoundCase {
 public:
  static Result<BoundPermute> make(Runtime& runtime, const PermuteCase& permute_case,
                                   PermuteLaunchers launchers = {});

  [[nodiscard]] PermuteDesc permute_desc() const;
  [[nodiscard]] UnpermuteDesc unpermute_desc() const;

  [[nodiscard]] Result<Plan> plan(Runtime& runtime) const override;
  Status launch(Runtime& runtime) const override;
  [[nodiscard]] bool is_empty() const override;
  /// Only the cpu has kernels for it.
  [[nodiscard]] bool may_refuse(const Error& error) const override;
  /// Other contents have other indices.
  void fill(std::uint64_t variant) override;
  [[nodiscard]] std::vector<WrittenTensor> outputs() override { return {{"y", &*y_}}; }
  [[nodiscard]] bool poisons_output() const override { return true; }
  Status upload(Runtime& runtime) const override;
  Status observe(Runtime& runtime) override;
  [[nodiscard]] std::string damage() const override;
  [[nodiscard]] Comparison judge() const override;

 private:
  [[nodiscard]] bool permutes() const noexcept { return case_.op == Op::Permute; }
  [[nodiscard]] const std::int32_t* host_indices() const noexcept;

  PermuteCase case_;
  Backend backend_ = Backend::None;
  PermuteLaunchers launchers_;
  std::optional<PermuteProblem> permute_;
  std::optional<UnpermuteProblem> unpermute_;
  std::optional<GuardedTensor> x_, indices_, weights_, y_;
  UnpermuteReference reference_;
};

CaseReport run_case(Runtime& runtime, const PermuteCase& permute_case, Mode mode,
                    PermuteLaunchers launchers = {}, Refusals refusals = Refusals::OfTheCase);

}  // namespace girih::inline v0::verify
