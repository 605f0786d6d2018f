#pragma once
// The device side of the checks: fill, compare with a double-precision product, look for damaged guards.

#include <cstdint>

#include "gemm_params.hpp"

namespace girih::cuda {

struct CheckArgs {
    std::int64_t m, n, k, batch;
    Element type;
    const void *a, *b;
    std::int64_t a_m, a_k, a_b, b_k, b_n, b_b;  // strides
    EpilogueParams e;  // e.out is what the kernel wrote; e.c and e.residual what it read (copies)
};
struct CheckResult {
    unsigned long long bad;
    float worst;  // error over bound
    std::int64_t where;
};

void fill(void* p, Element t, std::int64_t total, std::int64_t inner, std::int64_t outer, std::int64_t ld,
          std::int64_t batch_stride, std::int64_t lead, std::uint64_t seed);
void count_nan(const void* p, Element t, std::int64_t total, CheckResult* result);
void compare(const CheckArgs& args, CheckResult* result);
void guard(const std::uint8_t* p, std::int64_t bytes, std::int64_t lead, std::int64_t row_bytes, std::int64_t ld_bytes,
           std::int64_t rows, std::int64_t batch_bytes, std::int64_t batch, std::uint8_t poison, CheckResult* result);

}  // namespace girih::cuda
