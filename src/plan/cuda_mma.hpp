#pragma once

#include "plan/gemm.hpp"

namespace girih::inline v0 {

/// How an mma row gets at one operand: 16 bytes at a time as it lies, or element by element into
/// rows of K. Which of the two changes no bit of the result, and neither needs a workspace.
struct CudaMmaOperand {
  cuda::Major major = cuda::Major::K;
  bool copied = false;
};
CudaMmaOperand cuda_mma_a(const GemmProblem& problem) noexcept;
CudaMmaOperand cuda_mma_b(const GemmProblem& problem) noexcept;

/// A product on one mma row of the cuda backend. It takes every product: extents, strides and
/// alignments of any kind, in one launch without a workspace. K is never split.
///
///   time   = max(turns * tile, bytes / bandwidth) + a launch
///   tile   = K / depth * max(products, gathered elements) + elements of C / rate, in cycles
///
/// Products a cycle and multiprocessor are NVIDIA's figures by architecture.
GemmSelection cuda_mma_candidate(const GemmProblem& problem, const KernelInfo& kernel,
                                 const DeviceInfo& device) noexcept;

}  // namespace girih::inline v0
