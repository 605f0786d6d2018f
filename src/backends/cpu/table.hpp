#pragma once

#include "backends/cpu/device.hpp"
#include "backends/cpu/kernels/kernel.hpp"

namespace girih::inline v0::cpu {

/// The code of a GEMM row of `kernel_table()`; null if this build lacks it.
const GemmKernel* gemm_code(const KernelInfo& row) noexcept;

}  // namespace girih::inline v0::cpu
