#pragma once

#include <span>

#include <girih/accel.hpp>

namespace girih::inline v0::accel {

/// `flat_gemm` on a runtime that the caller chose; extents and lengths are checked already.
Status flat_gemm_on(Runtime& runtime, std::span<const double> a, std::span<const double> b,
                    std::int64_t m, std::int64_t n, std::int64_t k, std::vector<double>& c);
/// Holds C against the f64 product of A and B.
Agreement compare_flat(std::span<const double> a, std::span<const double> b,
                       std::span<const double> c, std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace girih::inline v0::accel
