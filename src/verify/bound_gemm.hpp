#pragma once

#include <functional>
#include <optional>
#include <string>

#include <girih/gemm.hpp>

#include "ops/gemm.hpp"
#include "plan/device_info.hpp"
#include "reference/gemm.hpp"
#include "verify/case.hpp"
#include "verify/gemm_case.hpp"
#include "verify/guarded.hpp"

namespace girih::inline v0::verify {

/// Encodes a product; a test of the verifier passes one that does it wrong.
using GemmLauncher = std::function<Status(Runtime&, const GemmDesc&)>;

/// The rules that the operands must obey.
using GemmChecking = std::function<Result<GemmProblem>(const GemmDesc&)>;

/// A product on guarded operands.
class BoundGemm final : public BoundCase {
 public:
  /// Fails if the case breaks a rule of `GemmDesc`, or memory is out.
  static Result<BoundGemm> make(Runtime& runtime, const GemmCase& gemm_case,
                                GemmLauncher launcher = gemm);

  /// The same for operands of another operation that are made alike.
  static Result<BoundGemm> place(Runtime& runtime, const GemmCase& gemm_case,
                                 const GemmChecking& checking);

  [[nodiscard]] GemmDesc desc() const;
  [[nodiscard]] Backend backend() const noexcept { return backend_; }
  [[nodiscard]] const GemmProblem& problem() const noexcept { return *problem_; }
  [[nodiscard]] GuardedTensor& a() noexcept { return *a_; }
  [[nodiscard]] GuardedTensor& b() noexcept { return *b_; }
  [[nodiscard]] const GuardedTensor& c() const noexcept { return *c_; }
  /// What the host holds now.
  [[nodiscard]] GemmOperands host_operands() const;
  /// `fill` without the oracle.
  void fill_operands(std::uint64_t variant);
  /// The oracle for what the host holds now.
  [[nodiscard]] GemmReference reference() const;

  [[nodiscard]] Result<Plan> plan(Runtime& runtime) const override;
  Status launch(Runtime& runtime) const override { return launcher_(runtime, desc()); }
  [[nodiscard]] bool is_empty() const override { return problem_->is_empty(); }
  [[nodiscard]] bool may_refuse(const Error& error) const override;
  /// Operands that may not be read become NaN.
  void fill(std::uint64_t variant) override;
  [[nodiscard]] bool poisons_output() const override;
  [[nodiscard]] std::vector<WrittenTensor> outputs() override { return {{"C", &*c_}}; }
  Status upload(Runtime& runtime) const override;
  Status observe(Runtime& runtime) override;
  [[nodiscard]] std::string damage() const override;
  [[nodiscard]] Comparison judge() const override;

 private:
  /// Every operand but C, with its name.
  template <class Self, class Visit>
  static void for_each_input(Self& self, Visit&& visit);

  GemmCase case_;
  Backend backend_ = Backend::None;
  Features features_;  ///< of the device
  GemmLauncher launcher_;
  std::optional<GemmProblem> problem_;
  std::optional<GuardedTensor> a_, b_, c_, bias_, residual_, a_scale_, b_scale_, c_scale_;
  std::optional<GuardedTensor> alpha_, beta_;
  GemmReference reference_;
};

/// Binds and runs a case.
CaseReport run_case(Runtime& runtime, const GemmCase& gemm_case, Mode mode,
                    GemmLauncher launcher = gemm, Refusals refusals = Refusals::OfTheCase);

}  // namespace girih::inline v0::verify
