#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/gemm_key.hpp"

namespace girih::inline v0 {

/// What was chosen for the latest products of one runtime, so that choosing again takes 0.1 us
/// instead of 0.4 to 11. As many as fit: the oldest of a set makes room. For one thread at a time,
/// as the runtime is.
class GemmChoices {
 public:
  static constexpr std::size_t kSets = 128, kWays = 4;

  /// Throws if there is no memory for them.
  GemmChoices() : sets_(kSets) {}
  /// `select(problem, context)`. Only `context.threads` may differ from call to call, and rows may
  /// be turned off: what was chosen stays right unless it was one of those.
  Result<GemmSelection> choose(const GemmProblem& problem,
                               const SelectionContext& context) noexcept;

 private:
  struct Choice {
    GemmKey key{};
    GemmSelection selection;  ///< without a kernel: none yet
  };
  struct Set {
    std::array<Choice, kWays> ways;
    std::array<std::uint64_t, kWays> hashes{};
    std::uint32_t oldest = 0;
  };
  std::vector<Set> sets_;
};

}  // namespace girih::inline v0
