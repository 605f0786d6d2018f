#pragma once

#include "backends/metal/pipelines.hpp"
#include "plan/kernel_info.hpp"

namespace girih::inline v0::metal {

struct Trial {
  bool is_right = false;
  bool is_portable_right = true;  ///< also if there was none to run
};

/// Multiplies whole numbers that use every bit of the type, without and with a gate, on a row, and
/// for one of the matrix unit on `portable`, if there is one that compiles, and compares both with
/// each other and with the exact result: what a compiler got wrong in the kernel of row-major
/// operands and an f32 C, or a unit that reads less of an operand than it should, shows here, once,
/// instead of in the caller's numbers. Other layouts and a split K have no trial. Runs on a queue
/// and in memory of its own: it neither waits for what the caller has queued nor fails with it.
Result<Trial> try_product(const KernelInfo& kernel, const KernelInfo* portable, DType dtype,
                          Pipelines& pipelines) noexcept;

}  // namespace girih::inline v0::metal
