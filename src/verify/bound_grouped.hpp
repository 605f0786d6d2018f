#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <girih/grouped.hpp>

#include "reference/grouped.hpp"
#include "verify/bound_gemm.hpp"
#include "verify/grouped_case.hpp"

namespace girih::inline v0::verify {

/// Encodes grouped products; a test of the verifier passes one that does it wrong.
using GroupedLauncher = std::function<Status(Runtime&, const GroupedGemmDesc&)>;

/// Grouped products on guarded operands. Rows of no group are NaN in A, and in B where they are
/// its rows too; C's must stay as they are, bit for bit.
class BoundGrouped final : public BoundCase {
 public:
  static Result<BoundGrouped> make(Runtime& runtime, const GroupedCase& grouped_case,
                                   GroupedLauncher launcher = grouped_gemm);

  [[nodiscard]] GroupedGemmDesc desc() const;

  [[nodiscard]] Result<Plan> plan(Runtime& runtime) const override;
  Status launch(Runtime& runtime) const override { return launcher_(runtime, desc()); }
  [[nodiscard]] bool is_empty() const override { return problem_->is_empty(); }
  /// Only the cpu has kernels for it.
  [[nodiscard]] bool may_refuse(const Error& error) const override;
  /// Other contents have other offsets.
  void fill(std::uint64_t variant) override;
  [[nodiscard]] bool poisons_output() const override { return product_->poisons_output(); }
  [[nodiscard]] std::vector<WrittenTensor> outputs() override { return product_->outputs(); }
  Status upload(Runtime& runtime) const override;
  Status observe(Runtime& runtime) override;
  [[nodiscard]] std::vector<std::byte> result(const WrittenTensor& output) const override;
  [[nodiscard]] std::string damage() const override;
  [[nodiscard]] Comparison judge() const override;

 private:
  GroupedCase case_;
  Backend backend_ = Backend::None;
  GroupedLauncher launcher_;
  std::optional<GroupedGemmProblem> problem_;
  std::optional<BoundGemm> product_;
  std::optional<GuardedTensor> offsets_;
  GroupedGemmReference reference_;
};

CaseReport run_case(Runtime& runtime, const GroupedCase& grouped_case, Mode mode,
                    GroupedLauncher launcher = grouped_gemm,
                    Refusals refusals = Refusals::OfTheCase);

}  // namespace girih::inline v0::verify
