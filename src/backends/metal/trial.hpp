#pragma once

#include "backends/metal/pipelines.hpp"
#include "plan/gemm.hpp"

namespace girih::inline v0::metal {

struct Trial {
  bool is_right = false;
  bool is_portable_right = true;  ///< also if there was none to run
};

/// Which operands are column-major: a row of the matrix unit has a kernel for each layout.
struct TrialLayout {
  bool a_transposed = false, b_transposed = false;

  [[nodiscard]] unsigned index() const noexcept {
    return (a_transposed ? 2U : 0U) + (b_transposed ? 1U : 0U);
  }
};
/// That of the kernel which a row runs for the product; row-major for rows that take any strides.
TrialLayout trial_layout(const KernelInfo& kernel, const GemmProblem& problem) noexcept;

/// Multiplies whole numbers that use every bit of the type, without and with a gate, on a row, and
/// for one of the matrix unit on `portable`, if there is one that compiles, and compares both with
/// each other and with the exact result: what a compiler got wrong in the kernel of an f32 C, or a
/// unit that reads less of an operand than it should, shows here, once, instead of in the caller's
/// numbers. Split K has no trial, nor have other types of C. Runs on a queue
/// and in memory of its own: it neither waits for what the caller has queued nor fails with it.
Result<Trial> try_product(const KernelInfo& kernel, const KernelInfo* portable, DType dtype,
                          TrialLayout layout, Pipelines& pipelines) noexcept;

}  // namespace girih::inline v0::metal
