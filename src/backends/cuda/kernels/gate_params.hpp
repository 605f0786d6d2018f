#pragma once

#include "backends/cuda/kernels/simt_params.hpp"

namespace girih::inline v0::cuda {

/// What joins two columns of a product, g and u, into one:
/// act(min(g, limit)) * (max(-limit, min(u, limit)) + up_offset), where SiLU is g / (1 + exp(-alpha
/// g)).
struct GateTerms {
  float alpha = 1, limit = 0, up_offset = 0;
  std::uint8_t activation = 0;  ///< as ActivationKind
};

/// c = gate(g, u) + residual, where g and u are alpha * a_scale[m] * b_scale[j] * sum + bias[j] of
/// the product's columns j = n * step and n * step + partner. Plain C++.
struct GateParams {
  const float* sums = nullptr;  ///< [batch][m][sums_ld]; null if they are 0
  std::int64_t sums_ld = 0;
  StridedRef c, residual;
  StridedRef bias;              ///< `column` along the product's columns
  StridedRef a_scale, b_scale;  ///< `row` along m, `column` along the product's columns
  SimtScalar alpha;
  std::int64_t m = 0, n = 0, batch = 1;  ///< of c
  std::int64_t step = 1, partner = 0;
  GateTerms gate;
};

constexpr int kGateThreads = 256;  ///< of a block: neighbouring columns of one row

}  // namespace girih::inline v0::cuda
